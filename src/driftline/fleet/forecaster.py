"""Forecasts of the next rows of each key, by one fleet for each step."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from driftline._core import Guard, heed_interrupt
from driftline.base.levels import Levels, Spread, as_spread
from driftline.base.rules import whole
from driftline.delayed.forecast import Forecast, ForecastRun
from driftline.errors import ModelFileError
from driftline.fleet.fleet import Fleet
from driftline.fleet.names import Key, as_keys
from driftline.fleet.ticket import FleetTicket
from driftline.storage import codec
from driftline.storage.model_file import Saved
from driftline.tables import cells, inputs
from driftline.tables.block import as_block
from driftline.tables.inputs import Array

_STEPS = whole(1, 1000)


class _Waiting(NamedTuple):
    """A row that waits at a step, because later rows of its key are not known yet.

    Attributes:
        number: of the row among all rows.
        ticket: from when it was asked.
        y: its label.
    """

    number: int
    ticket: FleetTicket
    y: float


class FleetForecaster(Saved):
    """Forecasts the next rows of each key, with one fleet for each step ahead.

    The fleet for step k predicts a row of a key from what is known k rows of the key earlier, as
    :class:`driftline.Forecaster` does for one model. If the fleet is pooled, a new key is forecast from its first row on,
    and its interval at each step is that of other keys of its age. All features must be known ahead.

    For each step, a row costs a few calls of the fleet. Before a forecast, a copy of the fleet for step k learns the latest
    k - 1 labels of each key, once after each call that learns.

    Args:
        fleet: an untrained fleet of regressors; each step gets a copy of it.
        steps: the number of rows ahead, at most 1,000.

    >>> import driftline as dl
    >>> f = dl.FleetForecaster(dl.Fleet(dl.RLS(), pooled=True), steps=2)
    >>> for day in range(40):
    ...     for shop, level in enumerate((10.0, 12.0, 20.0)):
    ...         f.learn_one(shop, [day % 7 == 6], level - 4.0 * (day % 7 == 6))
    >>> forecast = f.forecast(1, [[0.0], [1.0]])
    >>> forecast.predictions.round().tolist()
    [12.0, 8.0]
    """

    def __init__(self, fleet: Fleet, steps: int) -> None:
        if not isinstance(fleet, Fleet) or fleet.learner._estimator_type != "regressor":
            raise TypeError(f"FleetForecaster: fleet must be a fleet of regressors, got {fleet!r}")
        if len(fleet._keys.listed) and not fleet._models.is_empty:
            raise ValueError("FleetForecaster: fleet must be untrained, got one that has learned rows")
        self._guard = Guard("FleetForecaster")
        self._steps = _STEPS.require("FleetForecaster", "steps", steps)
        self._fleets = [copy.copy(fleet) for _ in range(self._steps)]
        self._waiting: list[dict[Key, deque[_Waiting]]] = [{} for _ in range(self._steps)]
        self._rows = 0
        self._ready: list[Fleet | None] = [None] * self._steps  # fleets that have learned all labels

    @property
    def steps(self) -> int:
        """The number of rows ahead."""
        return self._steps

    @property
    def n_seen_(self) -> int:
        """The number of rows learned."""
        return self._rows

    @property
    def keys_(self) -> list[Key]:
        """The keys that were learned."""
        return self._fleets[0].keys_

    @property
    def fleets_(self) -> list[Fleet]:
        """The trained fleet for each step: inspect them, but do not train them."""
        return list(self._fleets)

    # Learning.

    def learn_one(self, key: Any, x: Any, y: Any) -> None:
        """Learns a row of a key, at every step. An error changes nothing."""
        self.run([key], x if isinstance(x, list) and x and isinstance(x[0], dict) else [x], [y])

    def run(self, keys: Any, X: Any, y: Any, *, level: float | None = None, quantiles: Levels | None = None) -> ForecastRun:
        """Forecasts each row once from each step ahead, then learns it. An error changes nothing.

        ``predictions[t, k - 1]`` is the forecast of row t, made when the labels of its key through k rows earlier were
        known; if the key has fewer earlier rows, none of its labels was.

        Args:
            keys: (T,) the key of each row.
            X: (T, d) array or frame, or a list of mappings.
            y: (T,) labels.
            level: also return intervals at this level.
            quantiles: also return quantiles of these levels, in ascending order.
        """
        where = "FleetForecaster.run"
        spread = as_spread(where, level, quantiles)
        rows = _rows_of(X, where)
        labels, names = inputs.as_vector(y, len(rows), where, "y"), as_keys(keys, len(rows), where)
        found = np.empty((len(rows), self._steps, 1 + spread.width))
        with self._guard.change(only=True):
            before = self._copies()
            try:
                for row, (key, x, label) in enumerate(zip(names, rows, labels.tolist(), strict=True)):
                    found[row] = self._row(key, x, label, spread)
                    heed_interrupt()
            except BaseException:
                self._fleets, self._waiting, self._rows = before
                raise
            self._ready = [None] * self._steps
        return _as_run(found, labels, spread)

    def _row(self, key: Any, x: Any, label: float, spread: Spread) -> list[list[float]]:
        found = []
        for step, (fleet, waiting) in enumerate(zip(self._fleets, self._waiting, strict=True)):
            ticket = fleet.ask(key, x, step)
            found.append([ticket.prediction, *spread.of_ticket(ticket)])
            mine = waiting.setdefault(ticket.key, deque())
            mine.append(_Waiting(self._rows, ticket, label))
            if len(mine) > step:
                oldest = mine.popleft()
                fleet.tell(oldest.ticket, oldest.y)
        self._rows += 1
        return found

    def _copies(self) -> tuple[list[Fleet], list[dict[Key, deque[_Waiting]]], int]:
        return [copy.copy(fleet) for fleet in self._fleets], _copied(self._waiting), self._rows

    # Forecasting.

    def forecast(self, key: Any, X_next: Any, level: float = 0.9, quantiles: Levels | None = None) -> Forecast:
        """Forecasts the next rows of a key, at most as many as there are steps. Learns nothing.

        Args:
            key: the key, which may be new.
            X_next: (n, d) array or frame, or a list of mappings.
            level: the level of the intervals.
            quantiles: also return quantiles of these levels, in ascending order.
        """
        where = "FleetForecaster.forecast"
        spread, rows = as_spread(where, level, quantiles), _rows_of(X_next, where)
        if len(rows) > self._steps:
            raise ValueError(f"{where}: X_next has {len(rows)} rows, but the forecaster has {self._steps} steps")
        with self._guard.claim(only=True):
            tickets = [self._current(step).ask(key, x, step) for step, x in enumerate(rows)]
        found = np.array([[ticket.prediction, *spread.of_ticket(ticket)] for ticket in tickets])
        run = _as_run(found[:, None], np.full(len(rows), np.nan), spread)
        assert run.lower is not None
        assert run.upper is not None
        own = None if run.quantiles is None else run.quantiles[:, 0]
        return Forecast(run.predictions[:, 0], run.lower[:, 0], run.upper[:, 0], level, own, spread.quantiles)

    def _current(self, step: int) -> Fleet:
        """The fleet for a step after learning all known labels."""
        ready = self._ready[step]
        if ready is None:
            ready = copy.copy(self._fleets[step])
            for row in _in_order(self._waiting[step]):
                ready.tell(copy.copy(row.ticket), row.y)
            self._ready[step] = ready
        return ready

    # Keeping.

    def __getstate__(self) -> dict[str, Any]:
        with self._guard.claim(only=True):
            waiting = [[[row.number, row.ticket, row.y] for row in _in_order(rows)] for rows in self._waiting]
            return {"steps": self._steps, "fleets": list(self._fleets), "waiting": waiting, "rows": self._rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        fleets, waiting = state["fleets"], state["waiting"]
        steps = _STEPS.require("FleetForecaster", "steps", state["steps"])
        tickets = [ticket for rows in waiting for _, ticket, _ in rows]
        if len(fleets) != steps or len(waiting) != steps or not all(isinstance(fleet, Fleet) for fleet in fleets):
            raise ModelFileError("the steps do not agree with the fleets")
        if not all(isinstance(ticket, FleetTicket) for ticket in tickets):
            raise ModelFileError("a row that waits has no ticket")
        self._guard, self._steps = Guard("FleetForecaster"), steps
        self._fleets = [copy.copy(fleet) for fleet in fleets]
        self._waiting = [{} for _ in range(steps)]
        for rows, found in zip(waiting, self._waiting, strict=True):
            for number, ticket, y in rows:
                found.setdefault(ticket.key, deque()).append(_Waiting(number, ticket, y))
        self._rows = codec.require_count(state["rows"], "the number of rows")
        self._ready = [None] * steps

    def __repr__(self) -> str:
        return f"FleetForecaster({self._fleets[0]!r}, steps={self._steps})"


def _rows_of(X: Any, where: str) -> list[Any]:
    """The rows as single ones: arrays, or mappings where columns have names."""
    if isinstance(X, list) and X and isinstance(X[0], dict):
        return X
    block = as_block(X, where)
    if block.special:
        columns = block.given(0, block.rows, where)
        return [cells.row_of(columns, place, True) for place in range(block.rows)]
    if block.names is None:
        return list(np.concatenate([part for _, part in block.blocks()]))
    return [dict(zip(block.names, row.tolist(), strict=True)) for _, part in block.blocks() for row in part]


def _as_run(found: Array, labels: Array, spread: Spread) -> ForecastRun:
    predictions, ends = found[..., 0], found[..., 1:]
    lower, upper = (None, None) if spread.level is None else (ends[..., 0], ends[..., 1])
    quantiles = None if spread.quantiles is None else ends[..., spread.width - len(spread.quantiles) :]
    with np.errstate(over="ignore"):
        errors = labels[:, None] - predictions
    nothing = np.zeros(predictions.shape[1], dtype=np.int64)
    return ForecastRun(predictions, errors, lower, upper, spread.level, nothing, quantiles, spread.quantiles)


def _in_order(waiting: dict[Key, deque[_Waiting]]) -> Iterator[_Waiting]:
    yield from sorted((row for rows in waiting.values() for row in rows), key=lambda row: row.number)


def _copied(waiting: list[dict[Key, deque[_Waiting]]]) -> list[dict[Key, deque[_Waiting]]]:
    return [
        {key: deque(row._replace(ticket=copy.copy(row.ticket)) for row in rows) for key, rows in of.items()}
        for of in waiting
    ]


codec.register(FleetForecaster, "fleet_forecaster")
