"""``driftline run --task classify``: the class of each row is predicted, then learned."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.cli.scoring import figures, make_class_scorer
from driftline.cli.tasks import Columns, Following, as_written, beginning
from driftline.evaluate.scorer import Scorer
from driftline.files import Block
from driftline.tables.inputs import Array

BASELINES = ("most frequent class", "last class")


class Classifying(Following):
    """Predicts the class of each row, then learns it, or that of the row whose class has come.

    Args:
        model: a classifier.
        delay: how many rows late classes arrive.
    """

    def __init__(self, model: Learner, delay: int) -> None:
        super().__init__(model, delay, None, None)
        self._score = make_class_scorer()
        self._baselines = {name: make_class_scorer() for name in BASELINES}
        self._waiting: list[Any] = []  # classes not known yet when the next row is predicted
        self._counts: Counter[Any] = Counter()
        self._last: Any = None

    @property
    def title(self) -> str:
        """The classifier and its base learner."""
        return f"{super().title} of {type(self.learner._base_learners()[0]).__name__}"  # type: ignore[attr-defined]

    def take(self, block: Block) -> Columns:
        """Predicts and learns the rows."""
        assert block.y is not None
        run = self.follower.step(block)
        for scorer, said in ((self._score, run.predictions), *self._simply(block.y)):
            scorer.add(block.y, said, None, lambda: np.ones(len(block), dtype=bool))
        return {**beginning(block), "prediction": as_written(run.predictions)}

    def _simply(self, classes: Array) -> list[tuple[Scorer, Array]]:
        """The baselines' predictions, from the classes known so far."""
        said = np.full((len(BASELINES), len(classes)), None, dtype=object)
        for row, label in enumerate(classes):
            most = self._counts.most_common(1)
            said[:, row] = most[0][0] if most else None, self._last
            self._waiting.append(label)
            if len(self._waiting) > self.follower.delay and (known := self._waiting.pop(0)) is not None:
                self._counts[known] += 1
                self._last = known
        return list(zip(self._baselines.values(), said, strict=True))

    def baseline_accuracies(self) -> dict[str, float | None]:
        """The accuracies of the baselines."""
        return {f"accuracy of the {name}": figures(score)["accuracy"] for name, score in self._baselines.items()}

    def in_words(self) -> list[str]:
        """Its accuracy, and the baselines'."""
        own = figures(self._score)["accuracy"]
        if own is None:
            return []
        shown = [
            f"{words.removeprefix('accuracy of ')}: {100 * (value or 0):.1f} %"
            for words, value in self.baseline_accuracies().items()
        ]
        return [f"accuracy {100 * own:.1f} % of the classes", *(f"  {each}" for each in shown)]

    def state(self) -> dict[str, dict[str, Any]]:
        """Sums, and the rows that wait for their classes."""
        known = {"counts": list(self._counts.items()), "last": self._last, "waiting": self._waiting}
        scores = {name: score.state() for name, score in self._baselines.items()}
        return {**super().state(), "classes": {"known": json.dumps(known)}, **scores}

    def restore(self, parts: dict[str, dict[str, Any]]) -> None:
        """Back to them."""
        super().restore(parts)
        for name, score in self._baselines.items():
            score.restore(parts[name])
        known = json.loads(parts["classes"]["known"])
        self._counts = Counter(dict(known["counts"]))
        self._last, self._waiting = known["last"], known["waiting"]
