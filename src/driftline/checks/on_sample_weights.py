"""Sample weights."""

from __future__ import annotations

import numpy as np

from driftline.base.learner import Learner
from driftline.checks.tools import fresh, learned, require_refusal, require_same, require_same_state, stream, trained


def a_row_of_weight_zero_is_absent(learner: Learner) -> None:
    """It is predicted but changes nothing, even as the first row or one row at a time."""
    X, y = stream()
    weight = np.ones(len(y))
    weight[[0, 1, 7, 30, 31, 59]] = 0
    kept = weight > 0
    weighted, absent = fresh(learner), fresh(learner)
    predictions = weighted.run(X, y, sample_weight=weight).predictions
    require_same(predictions[kept], absent.run(X[kept], y[kept]).predictions, "predictions of the other rows")
    require_same_state(weighted, absent, "run")
    require_same_state(learned(fresh(learner), X, y, weight), absent, "learn_one")


def weight_one_is_no_weight(learner: Learner) -> None:
    """As an array, as a scalar, and one row at a time."""
    X, y = stream()
    plain = fresh(learner)
    plain.run(X, y)
    for weight in (np.ones(len(y)), 1.0, [1] * len(y)):
        weighted = fresh(learner)
        weighted.run(X, y, sample_weight=weight)
        require_same_state(weighted, plain, f"weight {type(weight).__name__}")
    require_same_state(learned(fresh(learner), X, y, np.ones(len(y))), plain, "learn_one")


def weights_act_alike_in_run_and_loop(learner: Learner) -> None:
    """A weight has the same effect in both."""
    X, y = stream()
    weight = np.random.default_rng(4).uniform(0.2, 1.0, size=len(y))
    many = fresh(learner)
    many.run(X, y, sample_weight=weight)
    require_same_state(learned(fresh(learner), X, y, weight), many, "state")


def bad_weights_are_refused(learner: Learner) -> None:
    """Negative, not finite, wrong length or text; also in the middle of a run."""
    X, y = stream()
    model = trained(learner)
    for bad in (-1.0, np.nan, np.inf, "heavy", [1.0], np.ones((60, 2)), [None] * 60, [*[1.0] * 59, -1.0]):
        require_refusal(model, f"run with weight {bad!r}", model.run, X, y, sample_weight=bad)
    for one in (-1.0, np.nan, np.inf, "heavy", [1.0, 2.0], object()):
        require_refusal(model, f"learn_one with weight {one!r}", model.learn_one, X[0], 1.0, sample_weight=one)
    require_refusal(model, "fit without any weight", model.fit, X, y, sample_weight=np.zeros(len(y)))
