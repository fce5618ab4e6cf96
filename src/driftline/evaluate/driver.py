"""Lets learners predict, then learn, the blocks of a stream, and times them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from driftline.base.learner import Learner
from driftline.base.levels import Spread
from driftline.base.model import as_objects
from driftline.base.run import Run
from driftline.delayed import Forecaster, Pending
from driftline.delayed.stepper import Stepper
from driftline.ensembles.classifier import predict_next
from driftline.evaluate.adapters import Mapped, Ticketed, TrueOrFalse, of_river, predicts_labels, takes_only_booleans
from driftline.evaluate.metrics import Predicted
from driftline.evaluate.sources import lost, single_rows
from driftline.tables import inputs
from driftline.tables.block import MAPPINGS, SPARSE, RowBlock, as_block
from driftline.tables.inputs import Array


class Taken(NamedTuple):
    """The predictions for the rows of a block, which rows lack a feature, and how many came before any label was known."""

    predicted: Predicted | Run
    lost: Callable[[], Array]
    early: int = 0


class Driver(ABC):
    """Lets a learner predict, then learn, the rows of a stream.

    Attributes:
        classes: whether the learner predicts class labels.
        native: whether it takes many rows at once.
        seconds: the time that it took.
    """

    classes = native = False

    def __init__(self, learner: Any, spread: Spread, where: str) -> None:
        self.learner, self.spread, self.where = learner, spread, where
        self.seconds = 0.0

    def step(self, block: RowBlock) -> list[Taken]:
        """Predicts and learns the rows of a block, in order; returns the predictions of each step."""
        began = perf_counter()
        try:
            return self._take(block)
        except Exception as error:
            error.add_note(f"while evaluating {self.learner!r} on the block that begins at row {block.start}")
            raise
        finally:
            self.seconds += perf_counter() - began

    @abstractmethod
    def _take(self, block: RowBlock) -> list[Taken]: ...

    def finish(self) -> None:  # noqa: B027 - a forecaster's last labels come with its last rows
        """Learns the labels that arrive after the last row."""


class LearnerDriver(Driver):
    """Predicts each row with a learner, which then learns the row whose label has arrived.

    A learner of this library uses ``ask`` and ``tell``: it learns a row as of when it predicted it. A learner of another
    library gets the row and its label by ``learn_one`` when the label arrives.

    Args:
        learner: with ``predict_one`` and ``learn_one``.
        delay: how many rows late labels arrive.
        spread: the intervals and quantiles.
        where: the caller's name, for messages.
    """

    def __init__(self, learner: Any, delay: int, spread: Spread, where: str) -> None:
        if isinstance(learner, type):
            raise TypeError(f"{where}: {learner.__name__} is a class: pass an instance, {learner.__name__}()")
        if isinstance(learner, Pending):
            raise TypeError(f"{where}: Pending takes rows by id: give its learner, with delay= if labels come late")
        if isinstance(learner, Forecaster):
            raise TypeError(f"{where}: give steps={learner.steps} to measure a Forecaster")
        if not hasattr(learner, "predict_one") or not hasattr(learner, "learn_one"):
            hint = "; wrap it in PartialFit" if hasattr(learner, "partial_fit") else ""
            raise TypeError(f"{where}: {type(learner).__name__} has no predict_one and learn_one{hint}")
        if spread.level is not None and not hasattr(learner, "predict_interval"):
            raise TypeError(f"{where}: {type(learner).__name__} has no predict_interval: coverage and width need it")
        if spread.quantiles is not None and not hasattr(learner, "predict_quantiles"):
            raise TypeError(f"{where}: {type(learner).__name__} has no predict_quantiles: crps and pinball need it")
        super().__init__(TrueOrFalse(learner) if takes_only_booleans(learner) else learner, spread, where)
        self.delay = delay
        self.classes = predicts_labels(learner)
        self.mapped = isinstance(learner, Mapped) or of_river(learner)
        asks = isinstance(learner, Learner)
        self.stepper = Stepper(learner if asks else Ticketed(self.learner, spread), delay)
        self.native = hasattr(learner, "run") if not delay else asks and not self.classes and learner._outputs is None
        self.learned = 0

    def _take(self, block: RowBlock) -> list[Taken]:
        if not self.native or block.kind == MAPPINGS or (self.delay and block.kind == SPARSE):
            predicted = self._loop(block)
        else:
            predicted = self._run_late(block) if self.delay else self._run(block)
        self.learned += len(block)
        return [Taken(predicted, partial(lost, block))]

    def _run(self, block: RowBlock) -> Predicted:
        wanted = {"level": self.spread.level, "quantiles": self.spread.quantiles}
        wanted = {name: value for name, value in wanted.items() if value is not None}
        run = self.learner.run(block.raw, block.labels, **wanted)
        return Predicted(self._read(run.predictions), *(getattr(run, name, None) for name in Predicted._fields[1:]))

    def _run_late(self, block: RowBlock) -> Predicted:
        learner: Learner = self.learner
        table = learner._as_block(block.raw, self.where)
        learner._check_block(table, self.where)
        labels = inputs.as_vector(block.labels, len(block), self.where, "y")
        out = self.stepper.table(table, labels, self.where, spread=self.spread, start=block.start)
        return Predicted(out.predictions, out.lower, out.upper, out.quantiles)

    def _loop(self, block: RowBlock) -> Predicted:
        labels = block.labels
        if isinstance(self.learner, TrueOrFalse):
            self.learner.meet(labels)
        predicted, found = self.stepper.rows(single_rows(block, self.mapped), labels.tolist(), self.spread)
        return Predicted(self._read(predicted), *self.spread.columns(found))

    def finish(self) -> None:
        """Learns the labels that arrive after the last row."""
        began = perf_counter()
        self.stepper.finish(self.where)
        self.seconds += perf_counter() - began

    def predict(self, X: Any) -> Array:
        """Predictions for rows that will not be learned."""
        mappings = isinstance(X, list)
        if hasattr(self.learner, "predict") and self.learned > self.delay and not self.mapped and not mappings:
            ours = isinstance(self.learner, Learner)
            return self._read(predict_next(self.learner, X) if ours else self.learner.predict(X))
        rows = X if mappings else single_rows(as_block(X, self.where), self.mapped)
        return self._read([self.learner.predict_one(x) for x in rows])

    def _read(self, predicted: Any) -> Array:
        if self.classes:
            return predicted if isinstance(predicted, np.ndarray) else as_objects(predicted)
        if isinstance(predicted, list):
            predicted = [math.nan if value is None else value for value in predicted]
        return np.asarray(predicted, dtype=np.float64)
