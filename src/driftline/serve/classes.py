"""The classes of a model that classifies. Inside the service, a label is the number of its class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from driftline.serve.problems import Problem
from driftline.serve.requests import Label, Row


class ClassAnswer(NamedTuple):
    """What the service says about a row of a classifier.

    Attributes:
        prediction: the most likely class; None while none is known.
        probabilities: the probability of each class that the learner knows.
    """

    prediction: Label | None
    probabilities: dict[Label, float]

    def document(self) -> dict[str, Any]:
        """The answer as JSON."""
        chances = [{"class": label, "probability": chance} for label, chance in self.probabilities.items()]
        return {"prediction": self.prediction, "probabilities": chances}


class Classes:
    """The classes of a model, numbered in the order in which they came.

    Args:
        labels: the first of them.
        most: the limit for their number.
    """

    def __init__(self, labels: Iterable[Label], most: int) -> None:
        self.labels: list[Label] = []
        self._most, self._numbers, self._saved = most, dict[Label, int](), 0
        for label in labels:
            self.number(label)

    def number(self, label: Label) -> float:
        """The number of a class, which may be new; raises Problem 422 if there are too many."""
        if isinstance(label, float) and label.is_integer():
            label = int(label)
        if label not in self._numbers:
            if len(self.labels) >= self._most:
                raise Problem(422, f"the model already has {self._most} classes, the maximum", field="y")
            self._numbers[label] = len(self.labels)
            self.labels.append(label)
        return float(self._numbers[label])

    def numbered(self, rows: Sequence[Row], refused: dict[int, Problem] | None) -> list[Row]:
        """The rows with the numbers of their classes. Problems are collected in ``refused``, or raised if that is None."""
        found = []
        for index, row in enumerate(rows):
            try:
                found.append(row if row.y is None else replace(row, y=self.number(row.y)))
            except Problem as problem:
                problem.row = index
                if refused is None:
                    raise
                refused[index] = problem
                found.append(replace(row, y=None))
        return found

    def labelled(self, rows: Sequence[Row]) -> list[Row]:
        """Inverts :meth:`numbered`."""
        return [row if row.y is None else replace(row, y=self.labels[int(row.y)]) for row in rows]

    def restore(self, labels: Iterable[Label]) -> None:
        """Replaces the classes by those that are saved."""
        self.cut(0)
        for label in labels:
            self.number(label)
        self._saved = len(self.labels)

    def cut(self, known: int) -> None:
        """Forgets all but the first classes."""
        for label in self.labels[known:]:
            del self._numbers[label]
        del self.labels[known:]

    def take_unsaved(self) -> list[tuple[int, Label]]:
        """The numbers and labels of the classes that are not saved yet, which now count as saved."""
        found = list(enumerate(self.labels))[self._saved :]
        self._saved = len(self.labels)
        return found
