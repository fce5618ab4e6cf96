"""How a learner is asked and taught, row by row, with labels in time or late."""

from __future__ import annotations

import math
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from driftline.evaluate.adapters import Mapped, TrueOrFalse, knows_true_and_false_alone, of_river, predicts_labels
from driftline.evaluate.late import LateRows
from driftline.evaluate.sources import Block
from driftline.tables.inputs import Array


class Answers(NamedTuple):
    """What a learner said about some rows."""

    prediction: Array
    interval: tuple[Array, Array] | None = None


class Driver:
    """Asks a learner for each row, then teaches it the row whose label has arrived.

    Args:
        learner: with ``run``, or with ``predict_one`` and ``learn_one``.
        delay: rows by which labels are late.
        level: ask for intervals of this level too.
        where: who asks, for messages.
    """

    def __init__(self, learner: Any, delay: int, level: float | None, where: str) -> None:
        if isinstance(learner, type):
            raise TypeError(f"{where}: {learner.__name__} is a class: give a learner, {learner.__name__}()")
        if not hasattr(learner, "predict_one") or not hasattr(learner, "learn_one"):
            hint = "; wrap it in PartialFit" if hasattr(learner, "partial_fit") else ""
            raise TypeError(f"{where}: {type(learner).__name__} has no predict_one and learn_one{hint}")
        if level is not None and not hasattr(learner, "predict_interval"):
            raise TypeError(f"{where}: {type(learner).__name__} has no predict_interval: coverage and width need it")
        self.learner, self.delay, self.level = learner, delay, level
        self.classes = predicts_labels(learner)
        self.mapped = isinstance(learner, Mapped) or of_river(learner)
        if knows_true_and_false_alone(learner):
            self.learner = TrueOrFalse(learner)
        self.native = delay == 0 and hasattr(learner, "run")
        self.seconds = 0.0
        self.learned = 0
        self._late = LateRows(delay)

    def step(self, block: Block) -> Answers:
        """Predicts and learns the rows of a block in their order."""
        began = perf_counter()
        try:
            if self.native and not block.mappings:
                answers = self._run(block)
                self.learned += len(block)
            else:
                answers = self._loop(block)
        except Exception as error:
            error.add_note(f"while evaluating {self.learner!r} on the block that begins at row {block.start}")
            raise
        finally:
            self.seconds += perf_counter() - began
        return answers

    def _run(self, block: Block) -> Answers:
        if self.level is None:
            return Answers(self._read(self.learner.run(block.X, block.y).predictions))
        run = self.learner.run(block.X, block.y, level=self.level)
        return Answers(self._read(run.predictions), (run.lower, run.upper))

    def _loop(self, block: Block) -> Answers:
        if isinstance(self.learner, TrueOrFalse):
            self.learner.meet(block.y)
        predict, learn = self.learner.predict_one, self.learner.learn_one
        said: list[Any] = []
        ends: list[Any] = []
        for x, y in zip(block.rows(self.mapped), block.y.tolist(), strict=True):
            said.append(predict(x))
            if self.level is not None:
                ends.append(self.learner.predict_interval(x, level=self.level))
            if (row := self._late.arrived(x, y)) is not None:
                learn(*row)
        self.learned += len(block)
        interval = None
        if self.level is not None:
            lower, upper = np.array(ends, dtype=np.float64).T
            interval = (lower, upper)
        return Answers(self._read(said), interval)

    def finish(self) -> None:
        """Teaches the labels that arrive after the last row."""
        began = perf_counter()
        for row in self._late.rest():
            self.learner.learn_one(*row)
        self.seconds += perf_counter() - began

    def predict(self, X: Any) -> Array:
        """Predictions for rows that are not learned."""
        block = Block(X, np.zeros(len(X)), 0)
        if hasattr(self.learner, "predict") and self.learned > self.delay and not self.mapped and not block.mappings:
            return self._read(self.learner.predict(X))
        return self._read([self.learner.predict_one(x) for x in block.rows(self.mapped)])

    def _read(self, said: Any) -> Array:
        if self.classes:
            return said if isinstance(said, np.ndarray) else _objects(said)
        if isinstance(said, list):
            said = [math.nan if value is None else value for value in said]
        return np.asarray(said, dtype=np.float64)


def _objects(values: list[Any]) -> Array:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
