"""Compares every learner with its reference at every row, by run and by learn_one, and every reference with 50 digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from driftline.base import registry
from tests.cases import for_each
from tests.reference import Case, Outcome, Reference
from tests.reference.learners import ELSEWHERE, NAMES, REFERENCES, path_of
from tests.reference.losses import ON_SIGNS
from tests.streams import Array, drifting, loop, signs, with_ones

DIMENSIONS = {True: [1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 33], False: [1, 4, 33]}  # the intercept is one more weight
OF_THE_INTERFACE = {"intercept", "dtype", "missing", "low", "high", "half_life", "per", "late_rows"}  # times: test_times.py
PRECISE = {name: reference for name, reference in REFERENCES.items() if reference.precise is not None}


def every_case(references: dict[str, Reference]) -> pytest.MarkDecorator:
    cases = [(name, case) for name, reference in references.items() for case in reference.cases]
    return pytest.mark.parametrize(("name", "case"), cases, ids=[f"{name}({case})" for name, case in cases])


def labels(y: Array, case: Case) -> Array:
    return signs(y) if case.parameters.get("loss") in ON_SIGNS else y


def expected(name: str, case: Case, X: Array, y: Array, intercept: bool) -> Outcome:
    reference = REFERENCES[name]
    if reference.takes_intercept:
        return reference.plain(X, y, intercept=intercept, **case.plainly)
    return reference.plain(with_ones(X) if intercept else X, y, **case.plainly)


def close(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_a_learner_has_a_reference(name):
    path, cls = path_of(name), registry.regressors()[name]
    assert name in REFERENCES, f"{cls.__name__} has no reference: write {path}, with a REFERENCE in it"
    assert REFERENCES[name].cases, f"{path}: REFERENCE has no cases"
    if path.parent.name == "test_linear":
        assert name in PRECISE, f"{path}: REFERENCE has no precise form, the learner's row of the accuracy table"


def test_learners_that_need_no_reference_still_exist():
    assert set(registry.regressors()) >= ELSEWHERE


@for_each("name", PRECISE)
def test_a_reference_has_the_defaults_of_its_class(name):
    theirs = registry.regressors()[name]().get_params(deep=False)
    assert REFERENCES[name].defaults == {key: value for key, value in theirs.items() if key not in OF_THE_INTERFACE}


@for_each("intercept", [False, True])
@every_case(REFERENCES)
def test_a_learner_matches_its_reference_at_every_row(name, case, intercept):
    for d in DIMENSIONS[intercept]:
        X, y = drifting(seed=100 * d + intercept, rows=40, d=d)
        y = labels(y, case)
        reference = expected(name, case, X, y, intercept)
        at_once, one_by_one = (registry.learners()[name](**case.parameters, intercept=intercept) for _ in range(2))

        run = at_once.run(X, y, weights_every=1)
        close(run.predictions, reference.predictions)
        close(run.weights, reference.weights)
        np.testing.assert_array_equal(run.errors, y - run.predictions)
        np.testing.assert_array_equal(run.losses, run.errors**2)
        assert run.resets.tolist() == reference.resets

        predictions, weights = loop(one_by_one, X, y)
        close(predictions, reference.predictions)
        close(weights, reference.weights)
        if reference.covariance is not None:
            close(at_once.covariance_, reference.covariance)
            close(one_by_one.covariance_, reference.covariance)


@every_case(REFERENCES)
def test_float32_weights_match_the_reference_within_2e_5(name, case):
    """Rounding could move a reset to another row if a threshold is met to seven digits; on these streams it does not."""
    for d in (1, 3, 8, 17):
        X, y = drifting(seed=d, rows=40, d=d)
        X, y = X.astype(np.float32).astype(float), labels(y, case)
        reference = expected(name, case, X, y, intercept=True)
        run = registry.learners()[name](**case.parameters, dtype="float32").run(X, y, weights_every=1)
        size = np.abs(reference.weights).max()
        assert np.abs(run.weights - reference.weights).max() < 2e-5 * max(1.0, size)
        assert run.resets.tolist() == reference.resets


@every_case(PRECISE)
def test_a_reference_matches_its_version_in_50_digits(name, case):
    """Checks the references themselves, not the package."""
    X, y = drifting(0)
    y = labels(y, case)
    reference = REFERENCES[name]
    ours, exact = reference.plain(X, y, **case.plainly), reference.in_50_digits(X, y, **case.plainly)
    close(ours.predictions, np.array(exact.predictions, dtype=float))
    close(ours.weights[-1], np.array(exact.weights, dtype=float))
    assert ours.resets == exact.resets
    assert (ours.covariance is None) == (exact.covariance is None)
    if exact.covariance is not None:
        close(ours.covariance, np.array(exact.covariance, dtype=float))
