"""One learner's metrics along a stream."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from driftline.evaluate.metrics import Metric, Rows
from driftline.evaluate.tracker import FLUSH, Tracker
from driftline.tables.inputs import Array, is_missing


class Curve(NamedTuple):
    """A metric along the stream: ``values[i]`` is its value after ``rows[i]`` rows."""

    rows: Array
    values: Array


@dataclass(frozen=True)
class Settings:
    """What is measured, for every learner alike."""

    metrics: tuple[Metric, ...]
    window: int | None = None
    fading: float | None = None
    points: int | None = 1_000


@dataclass(frozen=True, eq=False)
class Scores:
    """One learner's metrics: ``rows`` are the points, ``curves[kind][metric]`` the values there."""

    rows: Array
    curves: dict[str, dict[str, Array]]
    loss: float | None
    skipped: int

    def last(self, kind: str) -> dict[str, float]:
        """Each metric at the last row."""
        return {name: float(values[-1]) for name, values in self.curves[kind].items()}


class Scorer:
    """Takes labels and predictions, gives metrics.

    A row without a label, or with a missing feature and no prediction, is not scored; it is counted as skipped. A prediction
    that is not a number on a row that has all its values is an infinite error: a learner that broke down must not look good.
    """

    def __init__(self, settings: Settings, classes: bool, rows: int | None = None) -> None:
        self.settings, self.classes, self.rows = settings, classes, rows
        self.numeric = any(metric.numeric for metric in settings.metrics) or not classes
        self.skipped = 0
        self._origin: float | None = None
        self._least, self._largest = math.inf, -math.inf  # of the labels that were scored
        self._names: list[str] = []
        self._tracker: Tracker | None = None

    def add(
        self,
        y: Array,
        prediction: Array,
        interval: tuple[Array, Array] | None = None,
        lost: Callable[[], Array] | None = None,
    ) -> None:
        """Scores rows; ``lost`` is asked which of them miss a feature where predictions are missing."""
        with np.errstate(all="ignore"):  # overflow is a loss of infinity, and shows as one
            good: Array | None = None
            if self.numeric:
                if prediction.dtype == object:
                    prediction = np.array([math.nan if value is None else value for value in prediction], dtype=np.float64)
                if not math.isfinite(float(y.sum()) + float(prediction.sum())):
                    y, prediction, good = _scored(y, prediction, lost)
            elif y.dtype.kind in "fO" or prediction.dtype == object:
                y, good = _scored_labels(y, prediction, lost)
            for start in range(0, len(y), FLUSH):
                piece = slice(start, start + FLUSH)
                ends = None if interval is None else (interval[0][piece], interval[1][piece])
                self._score(y[piece], prediction[piece], ends, None if good is None else good[piece])

    def _score(self, y: Array, prediction: Array, interval: tuple[Array, Array] | None, good: Array | None) -> None:
        lower, upper = interval or (None, None)
        rows = Rows(y, prediction, lower, upper, self.classes, self._about(y))
        columns: dict[str, Array] = {}
        for metric in self.settings.metrics:
            columns.update(metric.columns(rows))
        if self._tracker is None:
            settings, names = self.settings, list(columns)
            spreads = list(dict.fromkeys(name for metric in settings.metrics for name in metric.spreads))
            places = [names.index(name) for name in spreads]
            self._names = names + [f"spread of {name}" for name in spreads]
            self._tracker = Tracker(len(columns), settings.window, settings.fading, settings.points, self.rows, places)
        if not self.classes:
            self._least = min(self._least, float(y.min(initial=math.inf, where=True if good is None else good)))
            self._largest = max(self._largest, float(y.max(initial=-math.inf, where=True if good is None else good)))
        if good is None or good.all():
            self._tracker.add(list(columns.values()))
            return
        self.skipped += int((~good).sum())
        self._tracker.add([np.where(good, column, 0.0) for column in columns.values()], good.astype(np.float64))

    def _about(self, y: Array) -> float:
        if self._origin is None:
            self._origin = float(y.mean()) if self.numeric else 0.0
        return self._origin

    def finish(self) -> Scores:
        """All metrics at all points."""
        if self._tracker is None:
            raise ValueError("evaluate: there are no rows")
        if self._least <= self._largest:
            for metric in self.settings.metrics:
                metric.check_labels(self._least, self._largest)
        curves: dict[str, dict[str, Array]] = {}
        with np.errstate(all="ignore"):
            points = self._tracker.finish()
            for kind, sums in points.sums.items():
                by_name = dict(zip(self._names, sums[:, 1:].T, strict=True))
                curves[kind] = {metric.name: metric.value(sums[:, 0], by_name) for metric in self.settings.metrics}
        loss = None
        if "squared" in self._names:
            loss = float(points.sums["cumulative"][-1, 1 + self._names.index("squared")])
        return Scores(points.rows, curves, loss, self.skipped)


def _scored_labels(y: Array, prediction: Array, lost: Callable[[], Array] | None) -> tuple[Array, Array]:
    """Labels, None in the place of those that are missing, and the rows that can be scored."""
    good = np.array([not is_missing(label) for label in y.tolist()])
    labels = y if good.all() else np.where(good, y, np.array(None))
    silent = np.array([said is None for said in prediction.tolist()])
    if lost is not None and silent.any():
        good &= ~(silent & lost())
    return labels, good


def _scored(y: Array, prediction: Array, lost: Callable[[], Array] | None) -> tuple[Array, Array, Array]:
    """Rows that can be scored, with harmless numbers in the place of the others."""
    broken = np.isnan(prediction)
    bad = ~np.isfinite(y)
    if broken.any() and lost is not None:
        bad |= broken & lost()
    prediction = np.where(bad, 0.0, np.where(broken, np.inf, prediction))
    return np.where(bad, 0.0, y), prediction, ~bad
