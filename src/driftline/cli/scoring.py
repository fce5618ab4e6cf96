"""Scores of predictions, and of baselines that need no model."""

from __future__ import annotations

import math

from driftline.base.learner import Learner
from driftline.base.run import Run
from driftline.evaluate.baselines import BASELINES, Baselines
from driftline.evaluate.metrics import MAE, R2, RMSE, Accuracy, BaselineRMSE, Coverage
from driftline.evaluate.scorer import Scorer, Settings, every_row
from driftline.files import Block

_FAR = 100  # times a baseline's error; beyond it the factor is not shown
UNIT = 256  # rows summed at once; a state keeps at most this many


def make_scorer(delay: int, level: float | None = None) -> Scorer:
    """Measures the predictions of a run and its baselines, in totals that a state can keep."""
    baselines = [BaselineRMSE(name) for name in BASELINES]
    intervals = [] if level is None else [Coverage()]
    settings = Settings((RMSE(), MAE(), R2(), *baselines, *intervals), points=0, unit=UNIT)
    return Scorer(settings, baselines=Baselines(delay))


def make_plain_scorer(level: float | None = None) -> Scorer:
    """The same without baselines, for labels that come in any order."""
    intervals = [] if level is None else [Coverage()]
    return Scorer(Settings((RMSE(), MAE(), R2(), *intervals), points=0, unit=UNIT))


def make_class_scorer() -> Scorer:
    """Measures the share of classes predicted correctly."""
    return Scorer(Settings((Accuracy(),), points=0, unit=UNIT), classes=True)


def figures(scorer: Scorer) -> dict[str, float | None]:
    """The figures of a summary, by name; None if there is nothing to measure."""
    totals = scorer.totals()
    totals.setdefault("coverage", math.nan)
    return {name: None if math.isnan(value) else value for name, value in totals.items()}


def add_run(scorer: Scorer, run: Run, block: Block) -> None:
    """Scores the run of a block. Rows without a prediction, because a feature is missing, are skipped."""
    assert block.y is not None
    ends = None if run.lower is None or run.upper is None else (run.lower, run.upper)
    scorer.add(block.y, run.predictions, ends, every_row)


def standing(scorer: Scorer, model: Learner) -> str:
    """The current error and memory, for the progress bar."""
    totals, memory = scorer.totals(), model._memory() if model._core is not None else None
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
