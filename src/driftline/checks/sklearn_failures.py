"""Finds which of scikit-learn's checks a learner fails by design."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import numpy as np

from driftline import losses
from driftline.base.learner import Learner
from driftline.checks.tools import fresh
from driftline.linear.policies import Add, Divide
from driftline.linear.recursion import Recursive

_WEIGHTS = "check_sample_weight_equivalence_on_dense_data"


def expected_failures(learner: Learner | type[Learner]) -> dict[str, str]:
    """The scikit-learn checks that this learner fails by design, by name, each with the reason.

    For ``sklearn.utils.estimator_checks.check_estimator(learner, expected_failed_checks=...)``.

    >>> import driftline as dl
    >>> for name, reason in dl.checks.expected_failures(dl.RLS(forgetting=0.99)).items():
    ...     print(f"{name}: {reason}")
    check_do_not_raise_errors_in_init_or_set_params: parameters are checked in the constructor and in set_params
    check_sample_weight_equivalence_on_dense_data: time passes with each row, so a row of weight 2 is not the row twice
    check_sample_weight_equivalence_on_sparse_data: time passes with each row, so a row of weight 2 is not the row twice
    """
    pattern = learner() if isinstance(learner, type) else learner
    found: dict[str, str] = {}
    for rule in (_parameters, _weights, _scale, _loss, _pickle, _gaps):
        for name, reason in rule(pattern):
            found.setdefault(name, reason)
    if _WEIGHTS in found:
        found[_WEIGHTS.replace("dense", "sparse")] = found[_WEIGHTS]
    return found


def _parameters(learner: Learner) -> Iterator[tuple[str, str]]:
    yield "check_do_not_raise_errors_in_init_or_set_params", "parameters are checked in the constructor and in set_params"


def _weights(learner: Learner) -> Iterator[tuple[str, str]]:
    """If the order or the number of rows matters, weights are not repetitions."""
    if not isinstance(learner, Recursive):
        yield _WEIGHTS, "each row is one step, and a step of weight 2 is not two steps"
        return
    model = fresh(learner)
    model._meet(np.ones(1), None)
    policy = model._policy()  # type: ignore[attr-defined]
    constant = isinstance(policy.time, Divide) and policy.time.forgetting == 1
    still = isinstance(policy.time, Add) and policy.time.drift == 0
    if policy.time is not None and not constant and not still:
        yield _WEIGHTS, "time passes with each row, so a row of weight 2 is not the row twice"
    if policy.noise is None or policy.concavity:
        yield _WEIGHTS, "a row's own weight depends on the rows before it"
    if policy.reset is not None or policy.radius is not None:
        yield _WEIGHTS, "resets and projections depend on the order and the number of the rows"
    if learner.dtype == "float32":
        yield _WEIGHTS, "the check compares to 1e-7, which is finer than float32"


def _scale(learner: Learner) -> Iterator[tuple[str, str]]:
    """Some checks draw rows of size 10 or 100, for which a learner may diverge or be undefined in exact arithmetic."""
    rng = np.random.default_rng(0)
    names = {100: ("fit_idempotent", "fit_check_is_fitted", "n_features_in"), 10: ("estimators_partial_fit_n_features",)}
    for size, checks in names.items():
        model = fresh(learner)
        try:
            model.run(rng.normal(loc=size, size=(100, 2)), np.sign(rng.normal(size=100)))
        except ValueError as error:
            for name in checks:
                yield f"check_{name}", f"rows of size {size} are refused: {error}"


def _loss(learner: Learner) -> Iterator[tuple[str, str]]:
    """R^2 suits only learners that aim at the middle of y."""
    loss = getattr(learner, "loss", "squared")
    loss = losses.BY_NAME[loss]() if loss in losses.BY_NAME else loss
    if not isinstance(loss, (losses.Squared, losses.Absolute, losses.Huber)) and loss != losses.Pinball(0.5):
        yield "check_regressors_train", f"{loss!r} does not aim at the mean or the median of y, which the score measures"


def _pickle(learner: Learner) -> Iterator[tuple[str, str]]:
    for name, value in learner.get_params(deep=False).items():
        try:
            pickle.dumps(value)
        except (pickle.PicklingError, AttributeError, TypeError):
            for check in ("check_estimators_pickle", "check_estimators_overwrite_params"):
                yield check, f"{name} is {value!r}, which pickle refuses"


def _gaps(learner: Learner) -> Iterator[tuple[str, str]]:
    if learner._estimator_type == "classifier" and learner.missing == "skip":
        yield "check_estimators_pickle", "a row with a missing value has the label None, which is not compared with itself"
