"""The measures by which learners are compared: errors of numbers, or the share of wrong classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftline.base.run import Run
from driftline.cli.scoring import make_class_score, make_score, r2_in_words
from driftline.evaluate.baselines import BASELINES, OF_CLASSES, LastValue
from driftline.evaluate.metrics import BASELINE_ACCURACIES, BASELINE_ERRORS
from driftline.evaluate.scores import Score
from driftline.evaluate.tables import Cell, Value
from driftline.files import Block
from driftline.tables.inputs import Array

Figures = dict[str, float | None]


class Errors:
    """Root mean squared errors of numbers."""

    columns: tuple[str, ...] = ("rmse", "mae", "r2", "rmse / last value's")  # of a table, beside the name and the time

    def score(self, delay: int) -> Score:
        """An empty score for one learner whose labels come this many rows late."""
        return make_score(delay)

    def losses(self, run: Run, block: Block) -> Array:
        """The loss of each row: its squared error."""
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


class WrongClasses(Errors):
    """The share of classes that were predicted wrongly."""

    columns = ("accuracy", "error rate")

    def score(self, delay: int) -> Score:
        """A score of classes."""
        return make_class_score(delay)

    def losses(self, run: Run, block: Block) -> Array:
        """1 for a wrong class, 0 for a correct one, NaN without a class or a prediction."""
        assert block.y is not None
        known = np.array(
            [label is not None and predicted is not None for label, predicted in zip(block.y, run.predictions, strict=True)]
        )
        wrong: Array = np.where(known, run.predictions != block.y, np.nan).astype(np.float64)
        return wrong

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


def _r2(value: float | None) -> Value | Cell:
    return value if value is None or value >= -1 else Cell(value, r2_in_words(value))


def _ratio(own: Figures, key: str) -> float | None:
    """An error relative to that of the last value."""
    error, last = own[key], own[BASELINE_ERRORS[LastValue.name]]
    return error / last if error is not None and last else None
