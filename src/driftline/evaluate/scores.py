"""Scores of predictions: totals, curves and figures by group, with simple baselines on the same rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from driftline._core import Outputs
from driftline.base.levels import NO_SPREAD, Spread
from driftline.base.run import Run
from driftline.evaluate.baselines import Baselines, OneSeasonAgo, is_unknown
from driftline.evaluate.metrics import Metric, OfBaseline, Predicted, ScoredRows, columns_of
from driftline.evaluate.recent_errors import RecentErrors
from driftline.evaluate.tracker import FLUSH, UNIT, Tracker
from driftline.storage.resumable import Resumable, part_of
from driftline.tables.inputs import Array
from driftline.tables.kinds import is_missing

SINGLE = 1_024  # single rows that wait to be scored together


class Curve(NamedTuple):
    """A metric along the stream: ``values[i]`` is its value after ``rows[i]`` rows."""

    rows: Array
    values: Array


@dataclass(frozen=True)
class Settings:
    """What to measure, the same for every learner."""

    metrics: tuple[Metric, ...]
    window: int | None = None
    fading: float | None = None
    points: int | None = 1_000
    unit: int = UNIT  # rows to sum at once if no points are kept
    groups: bool = False  # whether rows are summed by group
    compare: bool = True  # whether rows count only if every baseline predicts them
    spread: Spread = NO_SPREAD  # the intervals and quantiles of baselines, if metrics of these need them

    @classmethod
    def totals(cls, metrics: Iterable[Metric], spread: Spread = NO_SPREAD) -> Settings:
        """Measures the totals alone, in a small state."""
        return cls(tuple(metrics), points=0, unit=256, spread=spread)

    @classmethod
    def by_group(cls, metrics: Iterable[Metric], compare: bool = True) -> Settings:
        """Measures the totals of each group of rows, by metrics without spreads."""
        return cls(tuple(metrics), groups=True, compare=compare)


@dataclass(frozen=True, eq=False)
class Measured:
    """The metrics of a :class:`Score`: ``rows`` are the points, ``curves[kind][metric]`` the values there."""

    rows: Array
    curves: dict[str, dict[str, Array]]
    loss: float | None
    skipped: int

    def last(self, kind: str) -> dict[str, float]:
        """Each metric at the last row."""
        return {name: float(values[-1]) for name, values in self.curves[kind].items()}


def every_row() -> bool:
    """For :meth:`Score.add`: a missing prediction always means a missing feature, so the row is skipped."""
    return True


class GroupSums(Resumable):
    """Sums of columns by group, in the order of the rows, so that blocks do not matter.

    Args:
        columns: how many columns there are.
    """

    _fields = ("sums",)

    def __init__(self, columns: int) -> None:
        self.sums = np.zeros((0, 1 + columns))

    @property
    def sums(self) -> Array:
        """(groups, 1 + columns): the number of rows that count, and the sums of their columns."""
        return self._room[: self._groups]

    @sums.setter
    def sums(self, sums: Array) -> None:
        self._room, self._groups = sums, len(sums)

    def reserve(self, groups: int) -> None:
        """Makes sure that there are this many groups."""
        self._groups = max(groups, self._groups)
        if self._groups > len(self._room):
            more = max(self._groups - len(self._room), len(self._room), 16)
            self._room = np.concatenate([self._room, np.zeros((more, self._room.shape[1]))])

    def add(self, groups: Array, columns: Sequence[Array], count: Array | float = 1.0) -> None:
        """Adds rows: the number of each one's group, their columns, and whether they count; other rows must be 0."""
        self.reserve(int(groups.max(initial=-1)) + 1)
        for place, column in enumerate([count, *columns]):
            np.add.at(self._room[:, place], groups, column)

    def totals(self, groups: Array | None = None) -> Array:
        """The sums over some groups, or all, whatever their order; groups without a row have none."""
        chosen = self.sums if groups is None else self.sums[groups[groups < self._groups]]
        sums: Array = np.sort(chosen, axis=0).sum(axis=0)
        return sums


class Score:
    """Turns labels and predictions, block by block, into metrics. Its memory does not grow with the stream.

    A row without a label, or with a missing feature and no prediction, is counted as skipped, not scored. A NaN prediction
    for a complete row is an infinite error: a learner that broke down must not look good.

    Args:
        settings: what to measure.
        classes: whether predictions are labels, not numbers.
        rows: the length of the stream, if known.
        baselines: simple baselines to measure as well. Rows that they cannot predict, because no label is known yet, are
            counted as early, not scored.
        delay: how many rows late labels arrive, if the predictions of baselines are given with the rows.
    """

    def __init__(
        self,
        settings: Settings,
        classes: bool = False,
        rows: int | None = None,
        baselines: Baselines | None = None,
        delay: int = 0,
    ) -> None:
        self.settings, self.classes, self.rows, self.baselines = settings, classes, rows, baselines
        self.numeric = any(metric.numeric for metric in settings.metrics) or not classes
        self.scored = self.skipped = self.early = 0  # rows
        self._origin: float | None = None
        self._least, self._largest = math.inf, -math.inf  # of the labels scored
        self._names: list[str] = []
        self._tracker: Tracker | GroupSums | None = None
        self._single: list[tuple[float | None, ...]] = []  # what :meth:`add_one` took
        named = [own.baseline for own in settings.metrics if isinstance(own, OfBaseline) and not own.metric.plain]
        delay = delay if baselines is None else baselines.labels.delay
        self._around = {name: RecentErrors(settings.spread, delay) for name in dict.fromkeys(named)}

    def add_one(self, row: tuple[float | None, ...]) -> None:
        """Scores one row that has a label and a prediction, later, at the cost of an append.

        Args:
            row: the number of its group, the label, the prediction, the ends of its interval, None without one, and the
                predictions of the baselines that the metrics measure, in their order.
        """
        self._single.append(row)
        if len(self._single) >= SINGLE:
            self._add_single()

    def _add_single(self) -> None:
        if self._single:
            rows, self._single = self._single, []
            group, y, prediction, lower, upper, *beside = np.array(rows, dtype=np.float64).T  # NaN for None
            names = dict.fromkeys(m.baseline for m in self.settings.metrics if isinstance(m, OfBaseline))
            said = dict(zip(names, beside, strict=True))
            self.add(Predicted(prediction, lower, upper), y, groups=group.astype(np.int64), baselines=said)

    def add(
        self,
        outputs: Predicted | Run | Outputs,
        labels: Array,
        *,
        lost: Callable[[], Array | bool] | None = every_row,
        early: int = 0,
        baselines: Mapping[str, Array] | None = None,
        groups: Array | None = None,
    ) -> None:
        """Scores rows.

        Args:
            outputs: predictions, intervals and quantiles, made before the labels were seen.
            labels: the labels.
            lost: finds which rows lack a feature, if predictions are missing; None if no row does.
            early: the number of rows, from the first, that were predicted before any label was known; they are not scored.
            baselines: predictions of simple baselines by name, if the score does not make them from the labels.
            groups: the number of each row's group, if the settings sum by group.
        """
        self._add_single()
        y, prediction, lower, upper = labels, outputs.predictions, outputs.lower, outputs.upper
        with np.errstate(all="ignore"):  # overflow gives an infinite loss, which is shown
            good: Array | None = None
            predicted = baselines or (self.baselines.predict(y) if self.baselines is not None else {})
            spreads = {name: around.of(predicted[name], labels) for name, around in self._around.items()}
            if self.numeric:
                if prediction.dtype == object:
                    prediction = np.array([math.nan if value is None else value for value in prediction], dtype=np.float64)
                if not math.isfinite(float(y.sum()) + float(prediction.sum())):
                    y, prediction, good = _scored(y, prediction, lost)
            elif y.dtype.kind in "fO" or prediction.dtype == object:
                y, good = _scored_labels(y, prediction, lost)
            if good is not None:
                self.skipped += int((~good[early:]).sum())
            if early:
                good = (np.ones(len(y), dtype=bool) if good is None else good) & (np.arange(len(y)) >= early)
                self.early += early
            if predicted and self.settings.compare:
                good = self._with_baselines(predicted, good)
            for start in range(0, len(y), FLUSH):
                piece = slice(start, start + FLUSH)
                own = None if good is None else good[piece]
                low, high, quantiles = (None if side is None else side[piece] for side in (lower, upper, outputs.quantiles))
                said = {name: values[piece] for name, values in predicted.items()}
                beside = {name: _piece(given, piece) for name, given in spreads.items()}
                origin = self._about(y[piece], own)
                rows = ScoredRows(y[piece], prediction[piece], low, high, quantiles, self.classes, origin, said, beside)
                self._score(rows, own, None if groups is None else groups[piece])

    def _with_baselines(self, predicted: Mapping[str, Array], good: Array | None) -> Array:
        """The rows that can be scored and that every baseline predicts."""
        good = np.ones(len(next(iter(predicted.values()))), dtype=bool) if good is None else good
        comparable: Array = good & ~np.any([is_unknown(values) for values in predicted.values()], axis=0)
        self.early += int((good & ~comparable).sum())
        return comparable

    def _score(self, rows: ScoredRows, good: Array | None, groups: Array | None) -> None:
        columns = columns_of(self.settings.metrics, rows)
        if self._tracker is None:
            self._begin(list(columns))
        assert self._tracker is not None
        if not self.classes:
            counted = True if good is None else good
            self._least = min(self._least, float(rows.y.min(initial=math.inf, where=counted)))
            self._largest = max(self._largest, float(rows.y.max(initial=-math.inf, where=counted)))
        self.scored += len(rows.y) if good is None else int(good.sum())
        summed, count = [columns[name] for name in self._names[: len(columns)]], None
        if good is not None and not good.all():
            summed, count = [np.where(good, column, 0.0) for column in summed], good.astype(np.float64)
        if isinstance(self._tracker, Tracker):
            self._tracker.add(summed, count)
        else:
            assert groups is not None
            self._tracker.add(groups, summed, 1.0 if count is None else count)

    def _begin(self, names: list[str]) -> None:
        settings = self.settings
        spreads = list(dict.fromkeys(name for metric in settings.metrics for name in metric.spreads))
        places = [names.index(name) for name in spreads]
        self._names = names + [f"spread of {name}" for name in spreads]
        if settings.groups:
            self._tracker = GroupSums(len(names))
            return
        bounds = (settings.window, settings.fading, settings.points)
        self._tracker = Tracker(len(names), *bounds, self.rows, places, settings.unit)

    def _about(self, y: Array, good: Array | None) -> float:
        """A number near the labels that does not depend on the blocks: the first label."""
        if self._origin is None and self.numeric and (good is None or good.any()):
            self._origin = float(y[0 if good is None else good.argmax()])
        return self._origin or 0.0

    def totals(self, groups: Array | None = None) -> dict[str, float]:
        """Each metric over all rows so far, or over some groups of them; NaN while nothing is scored."""
        self._add_single()
        if self._tracker is None:
            return {metric.name: math.nan for metric in self.settings.metrics}
        with np.errstate(all="ignore"):
            sums = self._tracker.totals() if isinstance(self._tracker, Tracker) else self._tracker.totals(groups)
            return {name: float(values[0]) for name, values in self._values(sums[None]).items()}

    def by_group(self) -> dict[str, Array]:
        """The number of rows scored in each group, and each metric there, NaN without a row."""
        self._add_single()
        assert isinstance(self._tracker, GroupSums)
        with np.errstate(all="ignore"):
            return {"rows": self._tracker.sums[:, 0].astype(np.int64), **self._values(self._tracker.sums)}

    def group_state(self, group: int) -> dict[str, float]:
        """The sums of a group by name, for :meth:`restore_group`; empty without a row."""
        self._add_single()
        if not isinstance(self._tracker, GroupSums) or group >= len(self._tracker.sums):
            return {}
        return dict(zip(["rows", *self._names], self._tracker.sums[group].tolist(), strict=True))

    def restore_group(self, group: int, state: Mapping[str, float]) -> None:
        """Restores the sums of a group; an empty state removes its rows."""
        self._add_single()
        if self._tracker is None and state:
            self._begin([name for name in state if name != "rows"])
        if self._tracker is not None:
            assert isinstance(self._tracker, GroupSums)
            self._tracker.reserve(group + 1)
            self._tracker.sums[group] = [state[name] for name in ("rows", *self._names)] if state else 0.0

    def sums(self, groups: Array | None = None) -> dict[str, float]:
        """The sums over all rows or groups, or some groups, by name; empty without a row."""
        self._add_single()
        if self._tracker is None:
            return {}
        found = self._tracker.totals() if isinstance(self._tracker, Tracker) else self._tracker.totals(groups)
        return dict(zip(["rows", *self._names], found.tolist(), strict=True))

    def figures(self) -> dict[str, float | None]:
        """The totals, None in place of NaN; also None for the coverage if there are no intervals."""
        totals = self.totals()
        totals.setdefault("coverage", math.nan)
        return {name: None if math.isnan(value) else value for name, value in totals.items()}

    @property
    def season(self) -> int | None:
        """The lag, in rows, that the seasonal baseline uses now."""
        season = None if self.baselines is None else self.baselines.known.get(OneSeasonAgo.name)
        return season.rows_ago if isinstance(season, OneSeasonAgo) else None

    def _values(self, sums: Array) -> dict[str, Array]:
        by_name = dict(zip(self._names, sums[:, 1:].T, strict=True))
        return {metric.name: metric.value(sums[:, 0], by_name) for metric in self.settings.metrics}

    def state(self) -> dict[str, Any]:
        """Arrays and plain values from which :meth:`restore` continues exactly, if the settings keep only totals."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        with np.errstate(all="ignore"):
            own = self._tracker.state() if isinstance(self._tracker, Tracker) else {}
        sums = {f"sums/{name}": part for name, part in own.items()}
        beside = {} if self.baselines is None else self.baselines.state()
        around = {
            f"around/{name}/{part}": value for name, own in self._around.items() for part, value in own.state().items()
        }
        return plain | sums | {f"baselines/{name}": value for name, value in beside.items()} | around

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores the :meth:`state` of a score with the same settings."""
        for name in _PLAIN:
            setattr(self, name, state[name])
        if self._names:
            self._begin([name for name in self._names if not name.startswith("spread of ")])
            assert isinstance(self._tracker, Tracker)
            self._tracker.restore({name: state[f"sums/{name}"] for name in ("rows", "total", "rest")})
        if self.baselines is not None:
            self.baselines.resume(part_of(state, "baselines"))
        for name, around in self._around.items():
            around.resume(part_of(state, f"around/{name}"))

    def finish(self) -> Measured:
        """All metrics at all points."""
        if not isinstance(self._tracker, Tracker):
            raise ValueError("evaluate: there are no rows")
        if self._least <= self._largest:
            for metric in self.settings.metrics:
                metric.check_labels(self._least, self._largest)
        with np.errstate(all="ignore"):
            points = self._tracker.finish()
            curves = {kind: self._values(sums) for kind, sums in points.sums.items()}
        loss = None
        if "squared" in self._names:
            loss = float(points.sums["cumulative"][-1, 1 + self._names.index("squared")])
        return Measured(points.rows, curves, loss, self.skipped)


_PLAIN = ("scored", "skipped", "early", "_origin", "_least", "_largest", "_names")


def _piece(given: Predicted, rows: slice) -> Predicted:
    lower, upper, quantiles = (None if part is None else part[rows] for part in given[1:])
    return Predicted(given.predictions[rows], lower, upper, quantiles)


def _scored_labels(y: Array, prediction: Array, lost: Callable[[], Array | bool] | None) -> tuple[Array, Array]:
    """Labels, None where one is missing, and which rows can be scored."""
    good = np.array([not is_missing(label) for label in y.tolist()])
    labels = y if good.all() else np.where(good, y, np.array(None))
    silent = np.array([predicted is None for predicted in prediction.tolist()])
    if lost is not None and silent.any():
        good &= ~(silent & lost())
    return labels, good


def _scored(y: Array, prediction: Array, lost: Callable[[], Array | bool] | None) -> tuple[Array, Array, Array]:
    """The labels and predictions, with harmless numbers where a row cannot be scored, and which rows can."""
    broken = np.isnan(prediction)
    bad = ~np.isfinite(y)
    if broken.any() and lost is not None:
        bad |= broken & lost()
    prediction = np.where(bad, 0.0, np.where(broken, np.inf, prediction))
    return np.where(bad, 0.0, y), prediction, ~bad
