"""Scores predictions that were made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftline.base.levels import as_levels
from driftline.base.rules import PROBABILITY
from driftline.base.run import Run
from driftline.evaluate.metrics import Coverage, IntervalScore, Predicted, Width, as_metrics, interval_loss, pinball_losses
from driftline.evaluate.prequential import check_settings
from driftline.evaluate.results import Prequential, as_run
from driftline.evaluate.scores import Score, Settings
from driftline.tables import inputs
from driftline.tables.inputs import Array

WHERE = "score"


def score(
    y: Any,
    predictions: Any,
    *,
    intervals: Any = None,
    metrics: Any = None,
    window: int | None = 1_000,
    fading: float | None = 0.999,
    points: int | None = 1_000,
) -> Prequential:
    """Measures predictions that were made elsewhere, each before its label was seen.

    Args:
        y: (T,) labels.
        predictions: (T,) predictions or a :class:`driftline.Run`; or a mapping from names to either. A row whose prediction
            is NaN is skipped.
        intervals: a pair of (T,) arrays, the lower and upper ends; or a mapping from names to such pairs.
        metrics: as for :func:`prequential`; with intervals, coverage and width are measured too. "interval_score" is for
            intervals of level 0.9, ``IntervalScore(level)`` for others.
        window: as for :func:`prequential`.
        fading: as for :func:`prequential`.
        points: as for :func:`prequential`.

    >>> result = score([1.0, 2.0, 3.0], [1.0, 2.0, 4.0], intervals=([0, 0, 0], [2, 2, 2]), metrics=["mae", "coverage"])
    >>> {name: round(value, 3) for name, value in result.totals["predictions"].items()}
    {'mae': 0.333, 'coverage': 0.667}
    """
    named = predictions if isinstance(predictions, Mapping) else {"predictions": predictions}
    ends = intervals if isinstance(intervals, Mapping) else dict.fromkeys(named, intervals)
    if metrics is None:
        metrics = ("mse", "mae", "r2") if intervals is None else ("mse", "mae", "r2", "coverage", "width")
    settings = check_settings(as_metrics(metrics, WHERE), window, fading, points, WHERE)
    labels = inputs.as_vector(y, len(y), WHERE, "y")
    scores = {}
    for name, given in named.items():
        values = _one_a_label(getattr(given, "predictions", given), labels, WHERE, f"predictions of {name}")
        pair = ends.get(name)
        ends_of = () if pair is None else (_one_a_label(end, labels, WHERE, f"intervals of {name}") for end in pair)
        own = Score(settings, rows=len(labels))
        own.add(Predicted(values, *ends_of), labels)
        scores[name] = own.finish()
    return Prequential.of(settings, scores, rows=len(labels), seconds={})


def interval_score(lower: Any, upper: Any, y: Any, level: float) -> Array:
    """The score of each interval, its mean being lowest for the true quantiles; lower is better :cite:`gneiting2007`.

    It is the width of the interval and, if the label is outside, 2 / (1 - level) times its distance from the interval.

    Args:
        lower: (T,) lower ends.
        upper: (T,) upper ends.
        y: (T,) labels.
        level: the level of the intervals.

    >>> interval_score([0, 0], [2, 2], [1, 3], level=0.9).round(6).tolist()
    [2.0, 22.0]
    """
    where = "interval_score"
    level = PROBABILITY.require(where, "level", level)
    labels = inputs.as_vector(y, len(y), where, "y")
    low, high = (_one_a_label(end, labels, where, what) for end, what in ((lower, "lower ends"), (upper, "upper ends")))
    if (low > high).any():
        row = int(np.argmax(low > high))
        raise ValueError(f"{where}: the lower end of row {row} is above its upper end: {low[row]:g} and {high[row]:g}")
    return interval_loss(low, high, labels, level)


def pinball(quantiles: Any, levels: Any, y: Any) -> Array:
    """The pinball loss of each quantile, (T, k): its mean is lowest for the true quantile :cite:`gneiting2007`.

    It is level times the distance of a label above the quantile, and 1 - level times that of a label below.

    Args:
        quantiles: (T, k) quantiles.
        levels: their levels, (k,), in ascending order.
        y: (T,) labels.

    >>> pinball([[1.0, 2.0]], [0.1, 0.5], [3.0]).round(6).tolist()
    [[0.2, 0.5]]
    """
    return _pinball(quantiles, levels, y, "pinball")


def crps(quantiles: Any, levels: Any, y: Any) -> Array:
    """The continuous ranked probability score of each row from quantiles, (T,); lower is better :cite:`gneiting2007`.

    It is twice the mean :func:`pinball` loss, which approximates the score of the whole distribution if the levels are
    spaced evenly, such as 0.05, 0.1, …, 0.95. Its unit is that of the labels: for a distribution at one point it is the
    absolute error.

    Args:
        quantiles: (T, k) quantiles.
        levels: their levels, (k,), in ascending order.
        y: (T,) labels.

    >>> crps([[2.0, 2.0, 2.0]], [0.25, 0.5, 0.75], [3.0]).tolist()
    [1.0]
    """
    losses: Array = 2.0 * _pinball(quantiles, levels, y, "crps").mean(axis=1)
    return losses


def _pinball(quantiles: Any, levels: Any, y: Any, where: str) -> Array:
    wanted = as_levels(levels, where)
    labels = inputs.as_vector(y, len(y), where, "y")
    values = inputs.as_numbers(inputs.as_array(quantiles, where, "quantiles"), where, "quantiles")
    if values.shape != (len(labels), len(wanted)):
        raise ValueError(
            f"{where}: quantiles must have a row for each of {len(labels)} labels and a column for each of {len(wanted)} "
            f"levels, got {values.shape}"
        )
    crossed = (values[:, 1:] < values[:, :-1]).any(axis=1)
    if crossed.any():
        row = int(np.argmax(crossed))
        raise ValueError(f"{where}: the quantiles of row {row} must not decrease, got {values[row].tolist()}")
    return pinball_losses(values, wanted, labels)


def coverage_by(run: Run, y: Any, groups: Any) -> dict[str, Array]:
    """The intervals of a run by group of rows: how many labels they cover, how wide they are, and how good.

    Rows without a label, without a prediction or with an infinite interval, such as a learner's first ones, do not count.

    Args:
        run: made with ``level``.
        y: (T,) labels; NaN if one is missing.
        groups: (T,) the group of each row: an hour, a category, a tenth of the predictions. None is a group, the last one.

    Returns:
        Arrays by name, with one entry a group in sorted order: ``group``; ``rows``; ``coverage``, the share of labels inside
        their intervals; ``width``, the mean width; and ``score``, the mean :func:`interval_score`. NaN in a group in which
        no row counts.

    >>> import driftline as dl
    >>> X, y = dl.streams.Rotating(rate=0.01, noise=0.1, seed=0).take(2000)
    >>> found = coverage_by(dl.RLS(forgetting=0.99).run(X, y, level=0.9), y, X[:, 0] > 0)
    >>> found["group"].tolist(), found["rows"].tolist(), found["coverage"].round(2).tolist()
    ([False, True], [955, 1036], [0.9, 0.9])
    """
    where = "coverage_by"
    run = as_run(run, where)
    if run.level is None or run.lower is None or run.upper is None:
        raise ValueError(f"{where}: the run has no intervals: make it with level, as in run(X, y, level=0.9)")
    labels = inputs.as_vector(y, len(y), where, "y")
    _one_a_label(run.predictions, labels, where, "predictions of the run")
    names, numbers = _grouped(groups, where)
    if numbers.shape != (len(run),):
        raise ValueError(f"{where}: groups must have one entry for each of {len(run)} rows, got {np.shape(groups)}")
    score = Score(Settings.by_group([Coverage(), Width(), IntervalScore(run.level)]))
    judged = np.isfinite(run.lower) & np.isfinite(run.upper)
    score.add(run, np.where(judged, labels, np.nan), groups=numbers)
    found = score.by_group()
    width = np.where(found["rows"] > 0, found["width"], np.nan)
    return {
        "group": names, "rows": found["rows"], "coverage": found["coverage"], "width": width,
        "score": found["interval_score"],
    }  # fmt: skip


def _grouped(groups: Any, where: str) -> tuple[Array, Array]:
    """The groups in order, and the number of each row's; None and NaN among other things come last."""
    given = np.asarray(groups)
    known = np.ones(given.shape, dtype=bool)
    if given.dtype == object:
        known = np.array([each is not None and each == each for each in given.tolist()], dtype=bool)
    try:
        names, found = np.unique(given[known], return_inverse=True)
    except TypeError:
        raise TypeError(f"{where}: groups must be all text or all numbers") from None
    numbers = np.full(given.shape, len(names))
    numbers[known] = found
    return (names if known.all() else np.array([*names.tolist(), None], dtype=object)), numbers


def _one_a_label(values: Any, labels: Array, where: str, what: str) -> Array:
    if len(values) != len(labels):
        raise ValueError(f"{where}: y has {len(labels)} labels, {what} are {len(values)}")
    return inputs.as_vector(values, len(labels), where, what)
