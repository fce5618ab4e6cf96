"""Forecasts of the next rows, by one model for each step."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from driftline._core import Guard
from driftline.base import levels
from driftline.base.learner import Learner
from driftline.base.rules import whole
from driftline.delayed import given, record
from driftline.delayed.forecast import Forecast, ForecastRun, joined
from driftline.delayed.known import Known, is_featureless
from driftline.delayed.parallel import in_parallel
from driftline.delayed.stepper import Stepper, array_of, row_for
from driftline.delayed.undo import Undo
from driftline.errors import not_fitted
from driftline.storage import codec, model_file
from driftline.storage.model_file import Record
from driftline.tables import inputs, missing
from driftline.tables.cells import Given
from driftline.tables.encoder import Columns, spans
from driftline.tables.inputs import Array, Name
from driftline.tables.missing import SKIP
from driftline.tables.unseen import Averages

_STEPS = whole(1, 10_000)


class Forecaster(model_file.Saved):
    r"""Forecasts the next rows, with one model for each step ahead.

    The model for step k predicts row t from what is known k rows earlier: the labels through row t - k, the features that
    are known ahead, and the values of the others at that time. It learns each row from the same inputs, so its intervals
    keep their level at that step. Label lags, in :class:`~driftline.Auto` and :class:`~driftline.features.Lags`, count from
    the predicted row: "the same hour yesterday" means the same at every step.

    For each step, learning a row costs one to four times as much as in ``run`` of the learner; ``run`` computes the steps in
    parallel. Before a forecast, a copy of the model for step k learns the k - 1 latest labels, once for each new label.

    Args:
        learner: any regressor; each step gets an unfitted copy of it.
        steps: the number of rows ahead, at most 10,000; each step has its own model.
        known: the features that are known ahead, by name or index; None for all. For the others, the value at the origin is
            used.

    >>> import driftline as dl
    >>> hours = np.arange(480)
    >>> load = 10 + 3 * np.sin(hours * np.pi / 12)
    >>> f = dl.Forecaster(dl.Auto(), steps=3)
    >>> for hour, y in zip(hours, load):
    ...     f.learn_one({"hour": hour % 24}, y)
    >>> forecast = f.forecast([{"hour": hour % 24} for hour in (480, 481, 482)])
    >>> bool(np.abs(forecast.predictions - (10 + 3 * np.sin(np.arange(480, 483) * np.pi / 12))).max() < 0.1)
    True
    """

    def __init__(self, learner: Learner, steps: int, known: Sequence[Name] | None = None) -> None:
        if not isinstance(learner, Learner) or learner._estimator_type != "regressor":
            raise TypeError(f"Forecaster: learner must be a regressor, got {learner!r}")
        self._guard = Guard("Forecaster")
        self._learner = learner
        self._steps = _STEPS.require("Forecaster", "steps", steps)
        self._known = Known(known)
        self._names: list[Name] | None = None
        self._columns: Columns | None = None  # once one held text or times
        self._known_columns: list[Name] | None = None  # those of them that are known ahead; None for all
        self._steppers = [Stepper(learner.clone(), delay) for delay in range(self._steps)]
        self._past = np.empty((0, 0))  # the last rows, newest last, one for each step
        self._rows = 0
        self._ready: list[Learner | None] = [None] * self._steps  # models that have learned all labels
        self._undo = Undo(self)

    @property
    def learner(self) -> Learner:
        """The base learner, as given."""
        return self._learner

    @property
    def steps(self) -> int:
        """The number of rows ahead."""
        return self._steps

    @property
    def known(self) -> list[Name] | None:
        """The features that are known ahead, or the columns if some hold text or times; None for all."""
        return self._known.given if self._columns is None else self._known_columns

    @property
    def n_seen_(self) -> int:
        """The number of rows learned or skipped."""
        return self._rows

    @property
    def learners_(self) -> list[Learner]:
        """The trained model for each step: inspect them, but do not train them."""
        return [stepper.learner for stepper in self._steppers]

    # Learning.

    def learn_one(self, x: Any, y: Any) -> None:
        """Learns a row, at every step: an array-like, or a mapping whose names are those of the first row.

        Text and times in mappings and frames are encoded as learners encode them.
        """
        where = "Forecaster.learn_one"
        label = np.array([inputs.as_number(y, where, "y")])
        with self._guard.undo(self._undo, only=True):
            columns = given.by_columns(x, self._columns is not None, where)
            if columns is not None:
                learn = partial(self._learn_columns, columns, label, None, where, start=None)
            else:
                names, row = self._row(x, where)
                learn = partial(self._learn_rows, row[None, :], label, names, None, where, start=None)
            learn()
            self._undo.note(learn)

    def run(self, X: Any, y: Any, level: float | None = None) -> ForecastRun:
        """Forecasts each row once from each step ahead, then learns it.

        Args:
            X: (T, d) array or frame, which may hold text and times; (T, 0) without features.
            y: (T,) labels.
            level: also return intervals at this level.
        """
        where = "Forecaster.run"
        with self._guard.undo(self._undo, only=True):
            columns = given.by_columns(X, self._columns is not None, where)
            if columns is not None:
                labels = inputs.as_vector(y, next(iter(columns.values())).rows, where, "y")
                run = self._learn_columns(columns, labels, level, where, start=0)
            else:
                names, rows = self._table(X, where)
                labels = inputs.as_vector(y, len(rows), where, "y")
                run = self._learn_rows(rows, labels, names, level, where, start=0)
            self._undo.forget()
        return run

    def _learn_columns(
        self, rows: dict[Name, Given], y: Array, level: float | None, where: str, start: int | None
    ) -> ForecastRun:
        """Encodes and learns rows, in stretches that end where a row brings a new feature."""
        if self._columns is not None:
            columns, known_columns = self._columns.copy(), self._known_columns
        else:
            columns, known_columns = given.begin(self._names or [], self._known.given, list(rows), where)
        if self._rows and self._names is None:
            raise ValueError(given.other_names(where, None, list(rows)))
        lost = given.lost_rows(self._learner, rows, where, start)
        learned = ~lost & (np.abs(y) <= self._learner._door.largest)
        X, growth = columns.table(given.in_order(columns, rows, where), where, learned)
        columns.note_averages()
        X[lost], y = np.nan, np.where(lost, np.nan, y)
        self._columns, self._known_columns, parts = columns, known_columns, []
        for first, last, width in spans(growth, self._past.shape[1], len(X)):
            names, known = columns.names[:width], columns.features_of(known_columns)
            self._grow_alone(names, None if known is None else [name for name in known if name in names])
            begin = None if start is None else start + first
            piece = X[first:last, :width], y[first:last]
            parts.append(self._learn_rows(*piece, names, level, where, begin, columns.averages))
        columns.settle(set.intersection(*(set(model._names or ()) for model in self.learners_)))
        return joined(parts)

    def _grow(self, names: list[Name], known: Sequence[Name] | None) -> None:
        """Adds features after the others, with 0 for the rows so far; ``known`` are all features that are known ahead."""
        with self._guard.undo(self._undo, only=True):
            self._grow_alone(names, known)
            self._undo.forget()

    def _grow_alone(self, names: list[Name], known: Sequence[Name] | None) -> None:
        self._past = np.pad(self._past, ((0, 0), (0, len(names) - self._past.shape[1])))
        self._names, self._known = names, Known(known)
        self._known.check(len(names), names, "Forecaster")
        self._ready = [None] * self._steps

    def _learn(
        self,
        rows: Array,
        y: Array,
        names: list[Name] | None,
        level: float | None,
        where: str,
        start: int | None,
        averages: Averages | None = None,
    ) -> ForecastRun:
        """Forecasts and learns rows whose features and names match the earlier ones; an error changes nothing."""
        with self._guard.undo(self._undo, only=True):
            run = self._learn_rows(rows, y, names, level, where, start, averages)
            self._undo.forget()
        return run

    def _learn_rows(
        self,
        rows: Array,
        y: Array,
        names: list[Name] | None,
        level: float | None,
        where: str,
        start: int | None,
        averages: Averages | None = None,
    ) -> ForecastRun:
        if level is not None:
            levels.as_level(level, where)
        self._known.check(rows.shape[1], names, where)
        door = self._learner._door
        whole = door.whole_rows(rows) & (np.abs(y) <= door.largest)
        if self._learner.missing == "raise" and not whole.all():
            bad = int(whole.argmin())
            door.refuse_row(rows[bad], y[bad], where, None if start is None else start + bad, names)
        past = self._past if self._rows else np.empty((0, rows.shape[1]))
        rows = np.where(np.abs(rows) <= door.largest, rows, np.nan)
        everything, first = np.concatenate([past, rows]), len(past)

        def step(number: int) -> tuple[Array, Array, int]:
            stepper = self._steppers[number]
            seen = self._known.seen(everything, first, number + 1)
            begin = max(0, number + 1 - self._rows) if self._known.leaves_out(rows.shape[1]) else 0  # rows without an origin
            informed = begin + _first_informed(stepper, seen[begin:], y[begin:])
            said, ends = np.full(len(rows), np.nan), np.full((2, len(rows)), np.nan)
            out = stepper.table(
                seen[begin:], y[begin:], where, averages=averages,
                level=level, names=names, start=None if start is None else start + begin,
            )  # fmt: skip
            said[begin:] = out.predictions
            if out.lower is not None:
                ends[:, begin:] = out.lower, out.upper
            early = slice(0, max(0, number - self._rows))  # rows that were due before the stream began
            said[early], ends[:, early] = np.nan, np.nan
            return said, ends, informed

        numbers = range(self._steps)
        results = in_parallel(step, self._steps) if len(rows) > 1 else [step(number) for number in numbers]
        self._names = names
        self._past = everything[-self._steps :].copy()
        self._rows += len(rows)
        self._ready = [None] * self._steps
        predictions = np.column_stack([said for said, *_ in results])
        lower, upper = (np.column_stack([ends[end] for _, ends, *_ in results]) for end in (0, 1))
        uninformed = np.minimum([informed for *_, informed in results], len(rows))
        with np.errstate(over="ignore"):
            errors = y[:, None] - predictions
        if level is None:
            return ForecastRun(predictions, errors, None, None, None, uninformed)
        return ForecastRun(predictions, errors, lower, upper, level, uninformed)

    # Forecasting.

    def forecast(self, X_next: Any, level: float = 0.9) -> Forecast:
        """Forecasts the next rows, at most as many as there are steps. Learns nothing.

        Args:
            X_next: (n, d) array or frame, or a list of mappings: the features that are known ahead. The other features may
                be missing or hold anything: their values in the last row are used. If no feature is known ahead, the number
                of rows is enough.
            level: the level of the intervals.
        """
        where = "Forecaster.forecast"
        with self._guard.claim(only=True):
            return self._forecast_rows(self._next_rows(X_next, where), level, where)

    def _forecast(self, rows: Array, level: float, where: str) -> Forecast:
        """Forecasts rows in which the features that are not known ahead are already filled in."""
        with self._guard.claim(only=True):
            return self._forecast_rows(rows, level, where)

    def _forecast_rows(self, rows: Array, level: float, where: str) -> Forecast:
        place = levels.as_level(level, where)
        if len(rows) > self._steps:
            raise ValueError(f"{where}: X_next has {len(rows)} rows, but the forecaster has {self._steps} steps")

        def step(number: int) -> tuple[float, float, float]:
            model = self._current(number, where)
            averages = None if self._columns is None else self._columns.averages
            ticket = model.ask(row_for(model, rows[number], self._names, averages), number)
            return (ticket.prediction, *ticket.ends(place))

        predictions, lower, upper = np.array(in_parallel(step, len(rows))).reshape(-1, 3).T
        return Forecast(predictions, lower, upper, float(level))

    def _current(self, number: int, where: str) -> Learner:
        """The model for a step after learning all known labels."""
        ready = self._ready[number]
        if ready is None:
            stepper = self._steppers[number]
            ready = stepper.learner.clone(include_attributes=True)
            Stepper(ready, waiting=stepper.waiting).finish(where)
            self._ready[number] = ready
        return ready

    def _next_rows(self, X_next: Any, where: str) -> Array:
        if not self._rows:
            raise not_fitted(f"{where}: the forecaster has seen no row")
        self._known.refuse_missing(self._past[-1], self._names, where)
        if isinstance(X_next, int | np.integer):
            return self._known.of_count(int(X_next), self._past[-1], where)
        if self._columns is not None:
            return given.next_rows(self._columns, self._known, self._known_columns, X_next, self._past[-1], where)
        return self._known.next_rows(X_next, self._names, self._past[-1], where)

    # Rows.

    def _row(self, x: Any, where: str) -> tuple[list[Name] | None, Array]:
        given = inputs.named(x)
        if not isinstance(given, Mapping):
            row = inputs.as_row(x, where, empty=True)
            self._check_width(len(row), None, where)
            return self._names, row
        items = inputs.as_items(given, where)
        names = list(items) if self._names is None else self._names
        self._check_width(len(items), list(items), where)
        return names, np.array([items[name] for name in names])

    def _table(self, X: Any, where: str) -> tuple[list[Name] | None, Array]:
        if is_featureless(X):
            self._check_width(0, [], where)
            return [], np.empty((len(X), 0))
        table = inputs.as_table(X, where)
        self._check_width(table.columns, table.names, where)
        rows = np.concatenate([block for _, block in table.blocks()]) if table.rows else np.empty((0, table.columns))
        if self._rows and table.names is not None and self._names is not None:
            rows = rows[:, [table.names.index(name) for name in self._names]]
            return self._names, np.ascontiguousarray(rows, dtype=np.float64)
        return table.names or self._names, np.ascontiguousarray(rows, dtype=np.float64)

    def _check_width(self, width: int, names: list[Name] | None, where: str) -> None:
        if self._rows and width != self._past.shape[1]:
            raise ValueError(f"{where}: x has {width} features, expected {self._past.shape[1]}")
        if self._rows and names is not None and (self._names is None or set(names) != set(self._names)):
            raise ValueError(given.other_names(where, self._names, names))

    # Keeping.

    def clone(self) -> Forecaster:
        """A forecaster with the same parameters that has learned nothing."""
        return Forecaster(self._learner.clone(), self._steps, self.known)

    def __getstate__(self) -> dict[str, Any]:
        with self._guard.claim():
            return {
                "learner": self._learner,
                "steps": self._steps,
                "known": self._known.given,
                "names": self._names,
                "columns": None if self._columns is None else self._columns.state(),
                "known_columns": self._known_columns,
                "models": [stepper.learner.__getstate__() for stepper in self._steppers],
                "waiting": [list(stepper.waiting) for stepper in self._steppers],
                "past": self._past,
                "rows": self._rows,
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._guard = Guard("Forecaster")
        self._learner, self._steps = state["learner"], state["steps"]
        self._steppers = [Stepper(self._learner.clone(), delay) for delay in range(self._steps)]
        self._undo = Undo(self)
        self._restore(state)

    def _roll_back(self, state: dict[str, Any]) -> None:
        """Restores an exported state of this forecaster."""
        self._undo.forget()
        self._restore(state)

    def _restore(self, state: dict[str, Any]) -> None:
        for stepper, inner, waiting in zip(self._steppers, state["models"], state["waiting"], strict=True):
            stepper.learner._roll_back(inner)
            stepper.waiting = deque(waiting)
        self._names, self._rows = state["names"], state["rows"]
        self._past = state["past"]
        self._known = Known(state["known"])
        columns = state["columns"]
        self._columns = None if columns is None else Columns.restored(columns, self._names, SKIP)
        self._known_columns = state["known_columns"]
        if self._rows:
            self._known.check(self._past.shape[1], self._names, "Forecaster")
        self._ready = [None] * self._steps

    def _record(self) -> Record:
        with self._guard.claim(only=True):
            return record.of(self)

    @classmethod
    def _read(cls, kept: Record) -> Forecaster:
        forecaster = cls(codec.decode(kept.head["learner"]), kept.head["steps"], kept.head["known"])
        record.fill(forecaster, kept)
        return forecaster

    def __repr__(self) -> str:
        known = "" if self.known is None else f", known={self.known!r}"
        return f"Forecaster({self._learner!r}, steps={self._steps}{known})"


def _first_informed(stepper: Stepper, rows: Array, y: Array) -> int:
    """The index of the first row that a step's model predicts after it has learned a label."""
    model, waiting = stepper.learner, stepper.waiting
    if model.n_seen_:
        return 0
    door = model._door
    learned = np.abs(np.append([label for _, label in waiting], y)) <= door.largest
    if not missing.by_column(model.missing):  # which learns rows with missing features
        whole = [door.is_whole(array_of(model, ticket)) for ticket, _ in waiting]
        learned &= np.append(whole, door.whole_rows(rows)).astype(bool)
    if not learned.any():
        return len(rows)
    return min(max(int(learned.argmax()) + stepper.delay + 1 - len(waiting), 0), len(rows))


model_file.register("forecaster", Forecaster._read)
