"""What the command line measures, beside simple baselines, and the words for it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.base.levels import NO_SPREAD, Spread
from driftline.base.run import Run
from driftline.evaluate.baselines import BASELINES, OF_CLASSES, Baselines, LastValue, OneSeasonAgo
from driftline.evaluate.metrics import (
    BASELINE_ACCURACIES,
    BASELINE_ERRORS,
    CRPS,
    MAE,
    R2,
    RMSE,
    Accuracy,
    Coverage,
    IntervalScore,
    Metric,
    OfBaseline,
)
from driftline.evaluate.scores import Score, Settings
from driftline.evaluate.tables import Cell, Value
from driftline.tables.inputs import Array

Figures = dict[str, float | None]
_FAR = 100  # times a baseline's error; beyond it the factor is not shown


class Errors:
    """Root mean squared errors of numbers."""

    columns: tuple[str, ...] = ("rmse", "mae", "r2", "rmse / last value's")  # of a table, beside the name and the time

    def score(self, delay: int = 0, spread: Spread = NO_SPREAD) -> Score:
        """An empty score for one learner whose labels come this many rows late; baselines learn the same labels."""
        return Score(_numbers(BASELINES, spread, beside=True), baselines=Baselines(delay))

    def score_of_step(self, step: int, spread: Spread) -> Score:
        """An empty score of forecasts, whose baselines have no intervals: these would cost more than many learners."""
        return Score(_numbers(BASELINES, spread), baselines=Baselines(step))

    def losses(self, run: Run) -> Array:
        """The loss of each row."""
        return run.losses

    def loss(self, own: Figures) -> float | None:
        """The loss that ranks the learners."""
        return own["rmse"]

    def mean_of(self, loss: float) -> float:
        """The mean loss of a row, from the loss that ranks the learners."""
        return loss**2

    def cells(self, own: Figures) -> list[Any]:
        """The figures of a learner under ``columns``: errors, R², and the error relative to that of the last value."""
        return [own["rmse"], own["mae"], _r2(own["r2"]), _ratio(own, "rmse")]

    def baselines(self, own: Figures) -> list[tuple[str, list[Any]]]:
        """The simple baselines, each with its name and its figures under ``columns``."""
        keys = {kind.title: BASELINE_ERRORS[name] for name, kind in BASELINES.items()}
        return [(title, [own[key], None, None, _ratio(own, key)]) for title, key in keys.items()]

    def in_words(self, own: Figures, season: int | None) -> list[str]:
        """The figures as lines of a summary; ``season`` is the lag of the seasonal value."""
        if own["rmse"] is None:
            return []
        rmse, r2 = own["rmse"], own["r2"]
        lines = [
            f"error (RMSE) {_shown(rmse)}, mean |error| {_shown(own['mae'])}"
            + (f", R² {r2_in_words(r2)}" if r2 is not None else "")
        ]
        for name, kind in BASELINES.items():
            error = own.get(BASELINE_ERRORS[name])
            if comparison := lower_by(rmse, error):
                which = f" (now the label of {season:,} rows before)" if kind is OneSeasonAgo else ""
                lines.append(f"  {comparison} the {kind.title}'s, {_shown(error)}{which}")
        if own["coverage"] is not None:
            lines.append(f"  {100 * own['coverage']:.1f} % of the labels were in their intervals")
        for metric, title in (("interval_score", "interval score"), ("crps", "CRPS of the quantiles")):
            if own.get(metric) is not None:
                lines.append(f"  {title} {_shown(own[metric])}{_beside(own, metric)}")
        return lines


class WrongClasses(Errors):
    """The share of classes that were predicted wrongly."""

    columns = ("accuracy", "error rate")

    def score(self, delay: int = 0, spread: Spread = NO_SPREAD) -> Score:
        """A score of classes, which have no intervals."""
        others = [OfBaseline(Accuracy(), name, title) for name, title in BASELINE_ACCURACIES.items()]
        return Score(Settings.totals([Accuracy(), *others]), classes=True, baselines=Baselines(delay, OF_CLASSES))

    def losses(self, run: Run) -> Array:
        """1 for a wrong class, 0 for a correct one, NaN without a class or a prediction."""
        return np.where([predicted is None for predicted in run.predictions], np.nan, run.losses)

    def loss(self, own: Figures) -> float | None:
        """The error rate."""
        return None if own["accuracy"] is None else 1.0 - own["accuracy"]

    def mean_of(self, loss: float) -> float:
        """The error rate itself."""
        return loss

    def cells(self, own: Figures) -> list[Any]:
        """The shares of correct and of wrong classes."""
        return [own["accuracy"], self.loss(own)]

    def baselines(self, own: Figures) -> list[tuple[str, list[Any]]]:
        """The most frequent class and the last one."""
        return [(kind.title, self.cells({"accuracy": own[BASELINE_ACCURACIES[name]]})) for name, kind in OF_CLASSES.items()]

    def in_words(self, own: Figures, season: int | None) -> list[str]:
        """The accuracy of the classifier and of the baselines."""
        if own["accuracy"] is None:
            return []
        beside = [(kind.title, own[BASELINE_ACCURACIES[name]]) for name, kind in OF_CLASSES.items()]
        shown = [f"  the {title}: {100 * (value or 0):.1f} %" for title, value in beside]
        return [f"accuracy {100 * own['accuracy']:.1f} % of the classes", *shown]


def given_score(baselines: Iterable[str], spread: Spread = NO_SPREAD) -> Score:
    """A score of numbers whose baselines' predictions are given with the rows, because labels come in another order."""
    return Score(_numbers(baselines, spread))


def _numbers(baselines: Iterable[str], spread: Spread, beside: bool = False) -> Settings:
    """What is measured of numbers; ``beside`` also the intervals and quantiles of baselines, from their last errors."""
    others = [OfBaseline(RMSE(), name, BASELINE_ERRORS[name]) for name in baselines]
    inside = [] if spread.level is None else [Coverage()]
    scores: list[Metric] = [] if spread.level is None else [IntervalScore(spread.level)]
    scores += [] if spread.quantiles is None else [CRPS(spread.quantiles)]
    same = [OfBaseline(metric, name, _of_baseline(metric.name, name)) for metric in scores for name in baselines if beside]
    return Settings.totals([RMSE(), MAE(), R2(), *others, *inside, *scores, *same], spread)


def _of_baseline(metric: str, name: str) -> str:
    return f"{BASELINES[name].title.replace(' ', '_')}_{metric}"


def _beside(own: Figures, metric: str) -> str:
    """How a score compares with that of the best baseline, in words; empty if there is none."""
    others = {name: own.get(_of_baseline(metric, name)) for name in BASELINES}
    known = {name: value for name, value in others.items() if value is not None}
    best = min(known, key=lambda name: known[name], default="")
    than = lower_by(own[metric], known.get(best))
    return f", {than} the {BASELINES[best].title}'s with its last errors" if than else ""


def _r2(value: float | None) -> Value | Cell:
    return value if value is None or value >= -1 else Cell(value, r2_in_words(value))


def _ratio(own: Figures, key: str) -> float | None:
    """An error relative to that of the last value."""
    error, last = own[key], own[BASELINE_ERRORS[LastValue.name]]
    return error / last if error is not None and last else None


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


def _shown(value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:.5g}" if math.isfinite(value) else "beyond the range of numbers"
