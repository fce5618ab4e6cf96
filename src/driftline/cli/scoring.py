"""What the command line measures, and the words for it."""

from __future__ import annotations

import math
from collections.abc import Iterable

from driftline.base.learner import Learner
from driftline.evaluate.baselines import BASELINES, OF_CLASSES, Baselines
from driftline.evaluate.metrics import BASELINE_ACCURACIES, BASELINE_ERRORS, MAE, R2, RMSE, Accuracy, Coverage, OfBaseline
from driftline.evaluate.scores import Score, Settings

_FAR = 100  # times a baseline's error; beyond it the factor is not shown


def make_score(delay: int = 0, level: float | None = None) -> Score:
    """Measures the predictions of numbers, and baselines that learn the labels of the same rows."""
    return Score(_numbers(BASELINES, level), baselines=Baselines(delay))


def make_given_score(baselines: Iterable[str], level: float | None = None) -> Score:
    """The same with baselines whose predictions are given with the rows, because labels do not come in the order of rows."""
    return Score(_numbers(baselines, level))


def make_class_score(delay: int) -> Score:
    """Measures the share of classes predicted correctly, by the model and by baselines."""
    others = [OfBaseline(Accuracy(), name, title) for name, title in BASELINE_ACCURACIES.items()]
    return Score(Settings.totals([Accuracy(), *others]), classes=True, baselines=Baselines(delay, OF_CLASSES))


def _numbers(baselines: Iterable[str], level: float | None) -> Settings:
    others = [OfBaseline(RMSE(), name, BASELINE_ERRORS[name]) for name in baselines]
    return Settings.totals([RMSE(), MAE(), R2(), *others, *([] if level is None else [Coverage()])])


def standing(score: Score, model: Learner) -> str:
    """The current error and memory, for the progress bar."""
    totals, memory = score.totals(), model._memory() if model._core is not None else None
    name, value = next(iter(totals.items()))
    words = [] if math.isnan(value) else [f"{'error' if name == 'rmse' else name} {value:.4g}"]
    return "  ".join(words if memory is None else [*words, f"memory {memory:,.0f} rows"])


def r2_in_words(value: float) -> str:
    """R² in words.

    >>> r2_in_words(0.98765), r2_in_words(-1e39)
    ('0.9877', 'far worse than the mean')
    """
    return f"{value:.4f}" if value >= -1 else "far worse than the mean"


def lower_by(value: float | None, other: float | None) -> str:
    """How an error compares with a baseline's, in words.

    >>> lower_by(8.0, 10.0), lower_by(12.0, 10.0), lower_by(10.0, 10.0)
    ('20 % below', '20 % above', 'the same as')
    >>> lower_by(2e9, 10.0)
    'far above'
    """
    if value is None or not other or not math.isfinite(value) or not math.isfinite(other):
        return ""
    if value / other >= _FAR:
        return "far above"
    percent = round(100 * (1 - value / other), 1 if abs(1 - value / other) < 0.1 else 0)
    if percent == 0:
        return "the same as"
    return f"{abs(percent):g} % {'below' if percent > 0 else 'above'}"
