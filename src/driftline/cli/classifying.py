"""``driftline run --task classify``: the class of each row is predicted, then learned."""

from __future__ import annotations

from typing import Any

from driftline.base.learner import Learner
from driftline.cli.class_baselines import ClassBaselines
from driftline.cli.scoring import add_run, figures, make_class_scorer
from driftline.cli.tasks import Columns, Following, as_written, beginning
from driftline.files import Block


class Classifying(Following):
    """Predicts the class of each row, then learns the row whose class has arrived.

    Args:
        model: a classifier.
        delay: how many rows late classes arrive.
    """

    def __init__(self, model: Learner, delay: int) -> None:
        super().__init__(model, delay, None, None)
        self.score = make_class_scorer()
        self._baselines = ClassBaselines(delay)

    @property
    def title(self) -> str:
        """The classifier and its base learner."""
        return f"{super().title} of {type(self.learner._base_learners()[0]).__name__}"  # type: ignore[attr-defined]

    def take(self, block: Block) -> Columns:
        """Predicts and learns the rows."""
        assert block.y is not None
        run = self.follower.step(block)
        add_run(self.score, run, block)
        self._baselines.add(block.y)
        return {**beginning(block), "prediction": as_written(run.predictions)}

    def baseline_accuracies(self) -> dict[str, float | None]:
        """The accuracies of the baselines."""
        return {f"accuracy of the {name}": value for name, value in self._baselines.accuracies().items()}

    def in_words(self) -> list[str]:
        """The accuracy of the classifier and of the baselines."""
        own = figures(self.score)["accuracy"]
        if own is None:
            return []
        shown = [
            f"{words.removeprefix('accuracy of ')}: {100 * (value or 0):.1f} %"
            for words, value in self.baseline_accuracies().items()
        ]
        return [f"accuracy {100 * own:.1f} % of the classes", *(f"  {each}" for each in shown)]

    def state(self) -> dict[str, dict[str, Any]]:
        """Sums, and the rows that wait for their classes."""
        return {**super().state(), **self._baselines.state()}

    def restore(self, parts: dict[str, dict[str, Any]]) -> None:
        """Restores what :meth:`state` returned."""
        super().restore(parts)
        self._baselines.restore(parts)
