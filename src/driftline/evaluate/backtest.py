"""Forecasts from several origins along a series, scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftline.base.rules import PROBABILITY, whole
from driftline.delayed import Forecaster
from driftline.evaluate.metrics import interval_loss, pinball_losses
from driftline.evaluate.tables import Cell, Table, Value
from driftline.tables import inputs
from driftline.tables.inputs import Array

LEVELS = np.round(np.arange(0.05, 1, 0.1), 2)  # of the quantiles for the CRPS
_PARTS = ("predictions", "lower", "upper", "quantiles")
_ORIGINS, _SEASON = whole(1), whole(1)


@dataclass(frozen=True, eq=False)
class Backtest:
    """Forecasts from several origins, beside those of the last season.

    Attributes:
        origins: the row after which each forecast was made is the one before; (n,).
        labels: the labels that came, (n, steps).
        predictions, lower, upper: the forecasts and the ends of their intervals, (n, steps).
        quantiles: of the forecasts at 0.05, 0.15, …, 0.95, (n, steps, 10).
        naive: the labels of the last season known at the origin, (n, steps).
        level: of the intervals.
        season: the rows in a season; 1: the last label.
        scale: the mean absolute difference of the labels one season apart, before the first origin.
        root_scale: the root of their mean squared difference.
    """

    origins: Array
    labels: Array
    predictions: Array
    lower: Array
    upper: Array
    quantiles: Array
    naive: Array
    level: float
    season: int
    scale: float
    root_scale: float

    @property
    def mase(self) -> float:
        """The mean absolute error in units of ``scale``: below 1 is better than a naive forecast one season ahead."""
        return _mean(np.abs(self.labels - self.predictions)) / self.scale

    @property
    def rmsse(self) -> float:
        """The root mean squared error in units of ``root_scale``."""
        return float(np.sqrt(_mean((self.labels - self.predictions) ** 2))) / self.root_scale

    @property
    def crps(self) -> float:
        """The continuous ranked probability score, in the unit of the labels."""
        known = np.isfinite(self.labels) & np.isfinite(self.quantiles).all(axis=2)  # finite ones are earned
        return 2 * _mean(pinball_losses(self.quantiles[known], LEVELS, self.labels[known]))

    @property
    def coverage(self) -> float:
        """The share of labels inside their interval, over finite intervals."""
        known = self._judged()
        return _mean(((self.lower <= self.labels) & (self.labels <= self.upper))[known])

    @property
    def interval_score(self) -> float:
        """The mean score of the finite intervals; lower is better."""
        known = self._judged()
        return _mean(interval_loss(self.lower[known], self.upper[known], self.labels[known], self.level))

    def _judged(self) -> Array:
        found: Array = np.isfinite(self.labels) & np.isfinite(self.upper - self.lower)
        return found

    def table(self) -> Table:
        """The scores, beside those of the last season."""
        errors = self.labels - self.naive
        naive = _mean(np.abs(errors)) / self.scale, float(np.sqrt(_mean(errors**2))) / self.root_scale
        rows: list[list[Value | Cell]] = [
            ["forecaster", self.mase, self.rmsse, self.crps, self.interval_score, self.coverage],
            [f"label {self.season} row{'s' if self.season > 1 else ''} ago", *naive, _mean(np.abs(errors)), None, None],
        ]
        columns = ["", "MASE", "RMSSE", "CRPS", "interval score", "coverage"]
        title = f"{len(self.origins)} origins, {self.labels.shape[1]} steps, intervals at {self.level:g}"
        return Table(columns, rows, title)

    def __repr__(self) -> str:
        return str(self.table())


def backtest(
    forecaster: Forecaster,
    y: Any,
    X: Any = None,
    *,
    origins: int | Sequence[int] = 20,
    season: int | None = None,
    level: float = 0.9,
) -> Backtest:
    """Forecasts a series from several origins, and scores the forecasts beside the last season's labels.

    At each origin, an unfitted copy of the forecaster has learned the rows before it, each once. It forecasts all its steps.

    Args:
        forecaster: a forecaster; it is not changed.
        y: (T,) labels. Those that are missing are not judged.
        X: (T, d) features, array or frame; None for a series without features.
        origins: how many, spread evenly over the second half; or the rows that are the first of a forecast.
        season: rows in a season, for the scales and the naive forecast; None for the longest that the forecaster has found
            in the end, and 1 if there is none.
        level: the level of the intervals.

    >>> import driftline as dl
    >>> months = np.arange(96)
    >>> sales = 100 + months + 20 * np.sin(2 * np.pi * months / 12)
    >>> found = dl.evaluate.backtest(dl.Forecaster(dl.Auto(), steps=6), sales, origins=5)
    >>> found.origins.tolist(), found.season
    ([48, 58, 69, 79, 90], 12)
    >>> found.mase < 0.5
    True
    """
    where = "evaluate.backtest"
    if not isinstance(forecaster, Forecaster):
        raise TypeError(f"{where}: forecaster must be a Forecaster, got {forecaster!r}")
    PROBABILITY.require(where, "level", level)
    labels, steps = inputs.as_vector(y, len(y), where, "y"), forecaster.steps
    starts = _starts(origins, len(labels), steps, where)
    model, done, found = forecaster.clone(), 0, []
    for start in starts.tolist():
        model.update(labels[done:start], None if X is None else X[done:start])
        done = start
        ahead = steps if X is None else X[start : start + steps]
        found.append(model.forecast(ahead, level=level, quantiles=LEVELS))
    apart = max([1, *model.seasons_]) if season is None else _SEASON.require(where, "season", season)
    rows = starts[:, None] + np.arange(steps)
    before = labels[: starts[0]]
    differences = before[apart:] - before[:-apart]
    if not np.isfinite(differences).any():
        raise ValueError(f"{where}: no two labels before row {starts[0]} are {apart} rows apart, which the scale needs")
    parts = {name: np.stack([getattr(one, name) for one in found]) for name in _PARTS}
    return Backtest(
        origins=starts,
        labels=labels[rows],
        **parts,
        naive=np.stack([_last_season(labels[:start], steps, apart) for start in starts.tolist()]),
        level=float(level),
        season=apart,
        scale=_mean(np.abs(differences)),
        root_scale=float(np.sqrt(_mean(differences**2))),
    )


def _starts(origins: Any, rows: int, steps: int, where: str) -> Array:
    """The first rows of the forecasts, in ascending order."""
    if isinstance(origins, int | np.integer):
        count = _ORIGINS.require(where, "origins", origins)
        last = rows - steps
        if last < 2:
            raise ValueError(f"{where}: {rows} rows are too few for forecasts of {steps} steps")
        found: Array = np.unique(np.linspace(max(2, min(rows // 2, last)), last, count).astype(np.int64))
        return found
    starts = np.unique(np.asarray(origins, dtype=np.int64))
    if not len(starts) or starts[0] < 2 or starts[-1] > rows - steps:
        raise ValueError(f"{where}: origins must be rows from 2 to {rows - steps}, got {origins!r}")
    return starts


def _last_season(labels: Array, steps: int, season: int) -> Array:
    """The last known label of each step's place in the season; NaN if there is none."""
    found = np.full(steps, np.nan)
    for step in range(steps):
        past = labels[(len(labels) + step) % season :: season]
        known = past[np.isfinite(past)]
        found[step] = known[-1] if len(known) else np.nan
    return found


def _mean(values: Array) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan
