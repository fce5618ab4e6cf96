"""A warning for learners that look at earlier labels, where rows had none."""

from __future__ import annotations

from driftline.base.learner import Learner
from driftline.base.meta import MetaLearner
from driftline.ensembles import Auto, Refit
from driftline.features import Lags, Pipeline


def gap_warnings(learner: Learner, missed: int) -> list[str]:
    """A sentence where rows were not learned and the learner looks at earlier labels, which it counts by labels learned."""
    if not missed or not looks_at_labels(learner):
        return []
    rows = "1 row was" if missed == 1 else f"{missed:,} rows were"
    return [
        f"{type(learner).__name__}: {rows} not learned because the target or a feature is missing. Lags of labels count "
        "labels, not rows, so each such row shifts seasons by one row until a season has passed. Remedies: fill in what is "
        "missing, at least in the last season before a forecast; leaving the rows out of the file does not help"
    ]


def looks_at_labels(learner: Learner) -> bool:
    """Whether the learner, or one within it, has earlier labels among its inputs."""
    if isinstance(learner, Auto):
        return True
    if isinstance(learner, Refit) and learner.lags:
        return True
    if isinstance(learner, Pipeline) and any(isinstance(part, Lags) and part._label_lags for part in learner.parts):
        return True
    return isinstance(learner, MetaLearner) and any(map(looks_at_labels, learner._base_learners()))
