"""``driftline run --task classify``: the class of each row is predicted, then learned."""

from __future__ import annotations

from driftline.base.learner import Learner
from driftline.cli.scoring import make_class_score
from driftline.cli.tasks import Columns, Following, as_written, beginning
from driftline.evaluate.baselines import OF_CLASSES
from driftline.evaluate.metrics import BASELINE_ACCURACIES
from driftline.files import Block, Rows


class Classifying(Following):
    """Predicts the class of each row, then learns the row whose class has arrived.

    Args:
        model: a classifier.
        delay: how many rows late classes arrive.
    """

    def __init__(self, model: Learner, delay: int) -> None:
        super().__init__(model, delay, None, None)
        self.score = make_class_score(delay)

    @property
    def title(self) -> str:
        """The classifier and its base learner."""
        return f"{super().title} of {type(self.learner._base_learners()[0]).__name__}"  # type: ignore[attr-defined]

    def take(self, rows: Rows, raw: Block) -> tuple[Columns, str | None]:
        """Predicts and learns the rows."""
        block = rows.read(raw)
        assert block.y is not None
        run = self.follower.step(block)
        self.score.add(run, block.y)
        return {**beginning(block), "prediction": as_written(run.predictions)}, block.zone

    def in_words(self) -> list[str]:
        """The accuracy of the classifier and of the baselines."""
        own = self.figures
        if own["accuracy"] is None:
            return []
        beside = [(kind.title, own[BASELINE_ACCURACIES[name]]) for name, kind in OF_CLASSES.items()]
        shown = [f"  the {title}: {100 * (value or 0):.1f} %" for title, value in beside]
        return [f"accuracy {100 * own['accuracy']:.1f} % of the classes", *shown]
