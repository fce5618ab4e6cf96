"""Metrics as sums over rows: one pass gives them from the start, over a window, and fading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from driftline.base.levels import QUANTILES, as_levels
from driftline.base.rules import PROBABILITY, Rule, choice, number
from driftline.evaluate.baselines import BASELINES, OF_CLASSES
from driftline.tables.inputs import Array

Sums = Mapping[str, Array]


class Predicted(NamedTuple):
    """Predictions, ends of intervals and quantiles of some rows, as a :class:`driftline.Run` has them too."""

    predictions: Array
    lower: Array | None = None
    upper: Array | None = None
    quantiles: Array | None = None


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows with their labels and predictions.

    Attributes:
        y: labels.
        prediction: predictions, made before the label was seen.
        lower, upper: ends of the predicted intervals, if there are any.
        quantiles: predicted quantiles, a column for each level, if there are any.
        classes: whether predictions are labels, not numbers whose sign decides.
        origin: a number near the labels, subtracted before they are squared.
        baselines: predictions of simple baselines, by name.
        spreads: the same with intervals and quantiles, if metrics of the baselines need them.
    """

    y: Array
    prediction: Array
    lower: Array | None = None
    upper: Array | None = None
    quantiles: Array | None = None
    classes: bool = False
    origin: float = 0.0
    baselines: Mapping[str, Array] = field(default_factory=dict)
    spreads: Mapping[str, Predicted] = field(default_factory=dict)

    @cached_property
    def error(self) -> Array:
        """Label minus prediction."""
        return np.subtract(self.y, self.prediction)

    @cached_property
    def squared(self) -> Array:
        """Squared errors."""
        return np.square(self.error)

    @cached_property
    def centred(self) -> Array:
        """Labels minus the origin."""
        return self.y - self.origin

    @property
    def interval(self) -> tuple[Array, Array]:
        """The ends of the intervals."""
        if self.lower is None or self.upper is None:
            raise ValueError("coverage and width need intervals: a learner with predict_interval(x, level=...)")
        return self.lower, self.upper

    @property
    def every_quantile(self) -> Array:
        """The quantiles."""
        if self.quantiles is None:
            raise ValueError("crps and pinball need quantiles: a learner with predict_quantiles(x, levels)")
        return self.quantiles


class Metric:
    """A number computed from sums over rows.

    To define your own metric, write ``columns``, which returns the columns to sum; and name one in ``mean_of``, or write
    ``value``, which turns the sums into the metric.

    >>> class Bias(Metric):
    ...     name, title, mean_of = "bias", "mean error", "error"
    ...     def columns(self, rows):
    ...         return {"error": rows.error}
    >>> float(value_of(Bias(), ScoredRows(np.array([1.0, 2.0]), np.array([0.0, 4.0]))))
    -0.5
    """

    name: str
    title: str
    lower_is_better: bool = True
    numeric: bool = True  # needs labels that are numbers
    intervals: bool = False  # needs predicted intervals
    levels: Array | None = None  # of the predicted quantiles that it needs
    ranked: bool = True  # whether one value can be better than another
    mean_of: str = ""  # the column whose mean is the metric
    among: str = ""  # the column that marks the rows of this mean, if not all rows count
    spreads: tuple[str, ...] = ()  # columns whose sum of squares about their own mean is also needed

    @property
    def plain(self) -> bool:
        """Whether it needs predictions alone."""
        return not self.intervals and self.levels is None

    @property
    def worst(self) -> float:
        """The value for a learner that failed."""
        return float("inf") if self.lower_is_better else float("-inf")

    def columns(self, rows: ScoredRows) -> dict[str, Array]:
        """The columns to sum, one number a row each; metrics share columns with the same name."""
        raise NotImplementedError

    def value(self, count: Array, sums: Sums) -> Array:
        """The value from the weight of the rows and the weighted sums of the columns; by default a mean.

        ``sums["spread of NAME"]`` is the sum of squares of a column about its mean over the same rows, if ``spreads`` lists
        it.
        """
        if not self.mean_of:
            raise NotImplementedError(f"{type(self).__name__}: name a column in mean_of, or write value")
        return sums[self.mean_of] / (sums[self.among] if self.among else count)

    def check_labels(self, least: float, largest: float) -> None:
        """Raises ``ValueError`` if the metric is meaningless for a stream with numeric labels in this range."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class MSE(Metric):
    """Mean squared error."""

    name, title, mean_of = "mse", "mean squared error", "squared"

    def columns(self, rows: ScoredRows) -> dict[str, Array]:
        """Squared errors."""
        return {"squared": rows.squared}


class RMSE(MSE):
    """Root of the mean squared error, in the unit of the labels."""

    name, title = "rmse", "root mean squared error"

    def value(self, count: Array, sums: Sums) -> Array:
        """The root of their mean."""
        root: Array = np.sqrt(super().value(count, sums))
        return root


class MAE(Metric):
    """Mean absolute error."""

    name, title, mean_of = "mae", "mean absolute error", "absolute"

    def columns(self, rows: ScoredRows) -> dict[str, Array]:
        """Absolute errors."""
        return {"absolute": np.abs(rows.error)}


class R2(Metric):
    """1 minus the squared error relative to that of the labels' mean: 1 is perfect, 0 as good as the mean.

    It is undefined for a single row, and if squares leave the range of float64. If all labels are the same, it is 1 without
    errors and 0 otherwise.
    """

    name, title, lower_is_better = "r2", "R²", False
    spreads = ("label",)

    def columns(self, rows: ScoredRows) -> dict[str, Array]:
        """Squared errors, and the labels about an origin that keeps their digits."""
        return {"squared": rows.squared, "label": rows.centred}

    def value(self, count: Array, sums: Sums) -> Array:
        """One minus the share of the labels' variance that remains."""
        residual, spread = sums["squared"], sums["spread of label"]
        constant = spread <= count * np.square(1e-12 * sums["label"] / count)  # only rounding of the mean
        ratio = residual / np.where(constant, 1.0, spread)
        r2: Array = 1.0 - np.where(constant, np.where(residual > 0, 1.0, 0.0), ratio)
        return np.where((count > 1) & np.isfinite(residual) & np.isfinite(spread), r2, np.nan)


class Accuracy(Metric):
    """The share of rows whose label was predicted correctly.

    A classifier's predictions are compared with the labels. A regressor's prediction counts as positive if it is at least
    ``threshold``, and a label if it is above it: use 0 for labels -1 and 1, 0.5 for labels 0 and 1, 1.5 for labels 1 and 2.
    There must be labels on both sides of the threshold, which is checked at the end of the stream.
    """

    name, title, lower_is_better, numeric, mean_of = "accuracy", "accuracy", False, False, "hit"

    def __init__(self, threshold: float = 0.0) -> None:
        self.threshold = float(number().require("Accuracy", "threshold", threshold))

    def columns(self, rows: ScoredRows) -> dict[str, Array]:
        """1 for a hit."""
        if rows.classes:
            return {"hit": np.asarray(rows.y == rows.prediction, dtype=np.float64)}
        hit = (rows.y > self.threshold) == (rows.prediction >= self.threshold)
        return {"hit": hit.astype(np.float64)}

    def check_labels(self, least: float, largest: float) -> None:
        """The threshold must lie between the labels."""
        if least < self.threshold < largest or least == largest != self.threshold:
            return
        hint = "" if least == largest else f", such as {(least + largest) / 2:g} if there are two"
        raise ValueError(
            f"accuracy: all labels, {least:g} to {largest:g}, are on one side of the threshold {self.threshold:g}: "
            f"use Accuracy(threshold=...) with a number between the labels{hint}"
        )

    def __repr__(self) -> str:
        return f"Accuracy(threshold={self.threshold:g})"


class Coverage(Metric):
    """The share of labels inside the predicted interval, including its ends. It should equal the level.

    Only finite intervals count. A learner's first intervals are infinite and contain every label.
    """

    name, title, intervals, ranked = "coverage", "share of labels within the interval", True, False
    mean_of, among = "inside finite", "judged"

    @property
    def worst(self) -> float:
        """The value for a learner that failed, which has no intervals."""
        return float("nan")

    def columns(self, rows: ScoredRows) -> dict[str, Array]:
        """1 for a label inside a finite interval, and 1 for a finite interval."""
        lower, upper = rows.interval
        inside = (lower <= rows.y) & (rows.y <= upper)
        judged = np.isfinite(lower) & np.isfinite(upper)
        return {"inside finite": (inside & judged).astype(np.float64), "judged": judged.astype(np.float64)}


class Width(Metric):
    """The mean width of the finite intervals; infinite if there are none.

    A learner's first intervals are infinite, until it has seen enough errors for the level.
    """

    name, title, intervals, ranked = "width", "mean width of the finite intervals", True, False

    def columns(self, rows: ScoredRows) -> dict[str, Array]:
        """Widths, with 0 for an infinite one; and 1 for a finite one."""
        lower, upper = rows.interval
        width = upper - lower
        finite = np.isfinite(width)
        return {"width": np.where(finite, width, 0.0), "finite width": finite.astype(np.float64)}

    def value(self, count: Array, sums: Sums) -> Array:
        """The mean of the finite ones."""
        finite = sums["finite width"]
        return np.where(finite > 0, sums["width"] / finite, np.inf)


def interval_loss(lower: Array, upper: Array, y: Array, level: float) -> Array:
    """The width of each interval, and 2 / (1 - level) times the distance of its label from it :cite:`gneiting2007`."""
    outside: Array = np.maximum(lower - y, 0.0) + np.maximum(y - upper, 0.0)
    return upper - lower + 2.0 / (1.0 - level) * outside


class IntervalScore(Metric):
    """The mean interval score of the finite intervals, see :func:`driftline.evaluate.interval_score`; lower is better.

    Args:
        level: the level of the intervals.
    """

    name, title, intervals = "interval_score", "mean interval score", True
    mean_of, among = "interval loss", "finite width"

    def __init__(self, level: float) -> None:
        self.level = PROBABILITY.require("IntervalScore", "level", level)

    def columns(self, rows: ScoredRows) -> dict[str, Array]:
        """Interval scores, with 0 for an infinite interval; and 1 for a finite one."""
        lower, upper = rows.interval
        finite = np.isfinite(upper - lower)
        loss = np.where(finite, interval_loss(lower, upper, rows.y, self.level), 0.0)
        return {"interval loss": loss, "finite width": finite.astype(np.float64)}

    def __repr__(self) -> str:
        return f"IntervalScore({self.level:g})"


def pinball_losses(quantiles: Array, levels: Array, y: Array) -> Array:
    """The pinball losses of quantiles, a column for each level :cite:`gneiting2007`."""
    errors = y[:, None] - quantiles
    losses: Array = np.maximum(levels * errors, (levels - 1.0) * errors)
    return losses


class CRPS(Metric):
    """The mean of :func:`driftline.evaluate.crps` over the rows whose quantiles are all finite; lower is better.

    Args:
        levels: the levels of the quantiles.
    """

    name, title, mean_of, among = "crps", "mean CRPS of the quantiles", "crps", "finite quantiles"
    levels: Array

    def __init__(self, levels: Iterable[float]) -> None:
        self.levels = as_levels(levels, "CRPS")

    def columns(self, rows: ScoredRows) -> dict[str, Array]:
        """Scores, with 0 for a row without finite quantiles; and 1 for a row with them."""
        quantiles = rows.every_quantile
        finite: Array = np.asarray(np.isfinite(quantiles).all(axis=1))
        quantiles = np.where(finite[:, None], quantiles, 0.0)
        loss: Array = 2.0 * pinball_losses(quantiles, self.levels, rows.y).mean(axis=1)
        return {"crps": np.where(finite, loss, 0.0), "finite quantiles": finite.astype(np.float64)}

    def __repr__(self) -> str:
        return f"CRPS({self.levels.tolist()})"


class Pinball(Metric):
    """The mean of :func:`driftline.evaluate.pinball` for one level, over the rows whose quantile is finite; lower is better.

    Args:
        level: the level of the quantile.
        levels: the levels of all predicted quantiles.
    """

    levels: Array

    def __init__(self, level: float, levels: Iterable[float]) -> None:
        self.levels = as_levels(levels, "Pinball")
        self.level = choice(self.levels.tolist()).require("Pinball", "level", level)
        self.name = self.mean_of = f"pinball_{self.level!r}"
        self.among = f"finite {self.name}"
        self.title = f"mean pinball loss of the quantile {self.level!r}"

    def columns(self, rows: ScoredRows) -> dict[str, Array]:
        """Losses, with 0 for an infinite quantile; and 1 for a finite one."""
        own = self.levels == self.level
        quantiles = rows.every_quantile[:, own]
        finite = np.isfinite(quantiles[:, 0])
        loss = pinball_losses(np.where(finite[:, None], quantiles, 0.0), self.levels[own], rows.y)[:, 0]
        return {self.mean_of: np.where(finite, loss, 0.0), self.among: finite.astype(np.float64)}

    def __repr__(self) -> str:
        return f"Pinball({self.level!r}, {self.levels.tolist()})"


class ShareBelow(Metric):
    """The share of labels below a quantile, over the rows whose quantiles are all finite. It should equal the level.

    Args:
        level: the level of the quantile.
        levels: the levels of all predicted quantiles.
        or_equal: count labels that equal the quantile too.
    """

    ranked, among = False, "finite quantiles"
    levels: Array

    def __init__(self, level: float, levels: Iterable[float], *, or_equal: bool = False) -> None:
        self.levels = as_levels(levels, "ShareBelow")
        self.level = choice(self.levels.tolist()).require("ShareBelow", "level", level)
        self.or_equal = or_equal
        self.name = self.mean_of = f"{'at_most' if or_equal else 'below'}_{self.level!r}"
        self.title = f"share of labels {'at most equal to' if or_equal else 'below'} the quantile {self.level!r}"

    @property
    def worst(self) -> float:
        """The value for a learner that failed, which has no quantiles."""
        return float("nan")

    def columns(self, rows: ScoredRows) -> dict[str, Array]:
        """1 for a label below; and 1 for a row with finite quantiles."""
        quantiles = rows.every_quantile
        finite: Array = np.asarray(np.isfinite(quantiles).all(axis=1))
        own = quantiles[:, int(np.searchsorted(self.levels, self.level))]
        below = rows.y <= own if self.or_equal else rows.y < own
        return {self.name: (below & finite).astype(np.float64), "finite quantiles": finite.astype(np.float64)}

    def __repr__(self) -> str:
        return f"ShareBelow({self.level!r}, {self.levels.tolist()}, or_equal={self.or_equal})"


class Mean(Metric):
    """The mean of any function of labels and predictions.

    >>> late = Mean("late", lambda y, prediction: y - prediction > 10, title="share of rows more than 10 too low")
    >>> float(value_of(late, ScoredRows(np.array([5.0, 50.0]), np.array([0.0, 20.0]))))
    0.5
    """

    def __init__(
        self, name: str, function: Callable[[Array, Array], Array], *, title: str | None = None, lower_is_better: bool = True
    ) -> None:
        self.name, self.function, self.mean_of = name, function, f"mean of {name}"
        self.title, self.lower_is_better = title or name, lower_is_better

    def columns(self, rows: ScoredRows) -> dict[str, Array]:
        """The function's values."""
        return {self.mean_of: np.asarray(self.function(rows.y, rows.prediction), dtype=np.float64)}

    def __repr__(self) -> str:
        return f"Mean({self.name!r}, {self.function!r})"


class OfBaseline(Metric):
    """A metric of a simple baseline, over the rows of the model's.

    Intervals and quantiles of a baseline come from its last errors (``recent_errors.py``), and are judged where the model
    has finite ones too.

    Args:
        metric: the metric.
        baseline: the name of the baseline in :data:`driftline.evaluate.baselines.BASELINES` or ``OF_CLASSES``.
        name: by default, that of the metric.
    """

    def __init__(self, metric: Metric, baseline: str, name: str = "") -> None:
        self.metric, self.baseline, self.name = metric, baseline, name or metric.name
        self.title, self.numeric = f"{metric.title} of {baseline}", metric.numeric
        self.spreads = tuple(f"{column} {baseline}" for column in metric.spreads)

    def columns(self, rows: ScoredRows) -> dict[str, Array]:
        """The metric's columns, with the baseline's predictions."""
        own = replace(rows, prediction=rows.baselines[self.baseline])
        if self.baseline in rows.spreads:
            _, lower, upper, quantiles = rows.spreads[self.baseline]
            low, high = _where_finite(rows.lower, lower), _where_finite(rows.upper, upper)
            own = replace(own, lower=low, upper=high, quantiles=_where_finite(rows.quantiles, quantiles))
        return {f"{name} {self.baseline}": column for name, column in self.metric.columns(own).items()}

    def value(self, count: Array, sums: Sums) -> Array:
        """The metric's value from its own columns."""
        ending = f" {self.baseline}"
        own = {name.removesuffix(ending): column for name, column in sums.items() if name.endswith(ending)}
        return self.metric.value(count, own)


def _where_finite(given: Array | None, other: Array | None) -> Array | None:
    return other if given is None or other is None else np.where(np.isfinite(given), other, np.nan)


class OfBaselineWhereKnown(OfBaseline):
    """The same over the rows that the baseline can predict, if other rows count too."""

    def columns(self, rows: ScoredRows) -> dict[str, Array]:
        """The metric's columns, 0 where the baseline knows no label; and 1 where it does."""
        known = ~np.isnan(rows.baselines[self.baseline])
        own = {name: np.where(known, column, 0.0) for name, column in super().columns(rows).items()}
        return {**own, f"known {self.baseline}": known.astype(np.float64)}

    def value(self, count: Array, sums: Sums) -> Array:
        """The metric's value over these rows."""
        return super().value(sums[f"known {self.baseline}"], sums)


# What the command line calls the metrics of the baselines.
BASELINE_ERRORS = {name: f"{kind.title.replace(' ', '_')}_rmse" for name, kind in BASELINES.items()}
BASELINE_ACCURACIES = {name: f"accuracy of the {kind.title}" for name, kind in OF_CLASSES.items()}

LEVEL = 0.9  # of intervals unless another one is given
_BY_NAME: dict[str, Callable[[], Metric]] = {cls.name: cls for cls in (MSE, RMSE, MAE, R2, Accuracy, Coverage, Width)}


def as_metrics(
    metrics: str | Metric | Iterable[str | Metric],
    where: str,
    levels: Iterable[float] = QUANTILES,
    level: float = LEVEL,
) -> tuple[Metric, ...]:
    """Metrics from names; Metric objects pass through.

    Args:
        metrics: names, or Metric objects.
        where: the caller's name, for messages.
        levels: those of the quantiles, for "crps" and for "pinball", which is one metric for each level.
        level: that of the intervals, for "interval_score".

    >>> as_metrics("mse", "prequential"), as_metrics(["r2", Accuracy(0.5)], "prequential")
    ((MSE(),), (R2(), Accuracy(threshold=0.5)))
    """
    with_levels: dict[str, list[Metric]] = {
        "interval_score": [IntervalScore(level)],
        "crps": [CRPS(levels)],
        "pinball": [Pinball(each, levels) for each in levels],
    }
    words = f"among {', '.join([*_BY_NAME, *with_levels])}, or Metric objects"
    rule = Rule(lambda metric: isinstance(metric, Metric) or metric in _BY_NAME or metric in with_levels, words)
    given = [metrics] if isinstance(metrics, (str, Metric)) else metrics
    found: list[Metric] = []
    for metric in (rule.require(where, "metrics", each) for each in given):
        found += [metric] if isinstance(metric, Metric) else with_levels.get(metric) or [_BY_NAME[metric]()]
    names = [metric.name for metric in found]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"{where}: metrics must have one or more distinct names, got {names}")
    return tuple(found)


def columns_of(metrics: Iterable[Metric], rows: ScoredRows) -> dict[str, Array]:
    """The columns that metrics sum."""
    columns: dict[str, Array] = {}
    for metric in metrics:
        columns.update(metric.columns(rows))
    return columns


def value_of(metric: Metric, rows: ScoredRows) -> float:
    """The metric over all rows."""
    with np.errstate(all="ignore"):
        columns = metric.columns(rows)
        sums = {name: column.sum(keepdims=True) for name, column in columns.items()}
        for name in metric.spreads:
            about = columns[name] - columns[name].mean()
            sums[f"spread of {name}"] = np.square(about).sum(keepdims=True)
        return float(metric.value(np.array([float(len(rows.y))]), sums)[0])
