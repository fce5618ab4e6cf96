"""Baselines for classes, which need no model."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np

from driftline.cli.scoring import figures, make_class_scorer
from driftline.evaluate.scorer import every_row
from driftline.tables.inputs import Array

NAMES = ("most frequent class", "last class")


class ClassBaselines:
    """Predict the most frequent class and the last one, among those known when a row is predicted.

    Args:
        delay: how many rows late classes arrive.
    """

    def __init__(self, delay: int) -> None:
        self.delay = delay
        self.scores = {name: make_class_scorer() for name in NAMES}
        self._waiting: list[Any] = []  # classes that are not known yet when the next row is predicted
        self._counts: Counter[Any] = Counter()
        self._last: Any = None

    def add(self, classes: Array) -> None:
        """Predicts the classes of rows, then counts them."""
        predicted = np.full((len(NAMES), len(classes)), None, dtype=object)
        for row, label in enumerate(classes):
            most = self._counts.most_common(1)
            predicted[:, row] = most[0][0] if most else None, self._last
            self._waiting.append(label)
            if len(self._waiting) > self.delay and (known := self._waiting.pop(0)) is not None:
                self._counts[known] += 1
                self._last = known
        for score, own in zip(self.scores.values(), predicted, strict=True):
            score.add(classes, own, None, every_row)

    def accuracies(self) -> dict[str, float | None]:
        """The accuracy of each baseline, by name."""
        return {name: figures(score)["accuracy"] for name, score in self.scores.items()}

    def state(self) -> dict[str, dict[str, Any]]:
        """Sums, and the classes so far."""
        known = {"counts": list(self._counts.items()), "last": self._last, "waiting": self._waiting}
        scores = {name: score.state() for name, score in self.scores.items()}
        return {"classes": {"known": json.dumps(known)}, **scores}

    def restore(self, parts: dict[str, dict[str, Any]]) -> None:
        """Restores the result of :meth:`state`."""
        for name, score in self.scores.items():
            score.restore(parts[name])
        known = json.loads(parts["classes"]["known"])
        self._counts = Counter(dict(known["counts"]))
        self._last, self._waiting = known["last"], known["waiting"]
