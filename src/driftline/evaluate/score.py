"""Scores predictions that were made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftline.evaluate.metrics import as_metrics
from driftline.evaluate.prequential import check_settings
from driftline.evaluate.results import Prequential
from driftline.evaluate.scores import Predicted, Score
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
        metrics: as for :func:`prequential`; with intervals, coverage and width are measured too.
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
        values = _one_a_label(getattr(given, "predictions", given), labels, f"predictions of {name}")
        pair = ends.get(name)
        ends_of = () if pair is None else (_one_a_label(end, labels, f"intervals of {name}") for end in pair)
        own = Score(settings, rows=len(labels))
        own.add(Predicted(values, *ends_of), labels)
        scores[name] = own.finish()
    return Prequential.of(settings, scores, rows=len(labels), seconds={})


def _one_a_label(values: Any, labels: Array, what: str) -> Array:
    if len(values) != len(labels):
        raise ValueError(f"{WHERE}: y has {len(labels)} labels, {what} are {len(values)}")
    return inputs.as_vector(values, len(labels), WHERE, what)
