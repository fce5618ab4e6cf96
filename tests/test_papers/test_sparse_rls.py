"""S-RLS and GMF-RLS compared with their defining sums, solved from scratch at each row, and with the library's RLS."""

import numpy as np
import pytest

import driftline as dl
from papers.sparse_rls import GMFRLS, SRLS, PlainDFOP, PlainLearner, rivals

FORGETTING, START = 0.97, 0.5


@pytest.fixture
def rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 4))
    return X, X @ np.array([1.0, 0.0, -0.5, 0.02]) + 0.1 * rng.normal(size=120)


def explicit(X, y, w, step):
    """Predictions with A solved from scratch at each row; ``step(w, x)`` gives the row as it enters A, and a gradient."""
    A, found = np.eye(X.shape[1]) / START, []
    for x, label in zip(X, y, strict=True):
        found.append(w @ x)
        row, gradient = step(w, x)
        A = FORGETTING * A + np.outer(row, x)
        w = w + np.linalg.solve(A, row * (label - w @ x) - (1 - FORGETTING) * gradient)
    return np.array(found)


def test_plain_dfop_matches_the_librarys(rows):
    plain = PlainDFOP(forget_rate=0.03, start=100.0).predictions(*rows)
    model = dl.DFOP(forget_rate=0.03, prior=100.0, intercept=False)
    np.testing.assert_allclose(plain, model.run(*rows).predictions, rtol=1e-8, atol=1e-10)


def test_without_a_penalty_gmf_rls_is_rls(rows):
    model = dl.RLS(forgetting=FORGETTING, ridge=1 / START, intercept=False)
    # RLS forgets before a row, so its ridge is discounted once more: both start with S / forgetting.
    plain = GMFRLS(FORGETTING, START, penalty=0.0).predictions(*rows)
    np.testing.assert_allclose(plain, model.run(*rows).predictions, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("penalty", [0.1, 1.0])
def test_gmf_rls_steps_against_the_gradient_of_its_penalty(rows, penalty):
    def count(size):
        return 1 - 1 / (1 + 5 * size)

    def step(w, x):
        slope = count(np.abs(w) + 1e-30j).imag / 1e-30  # the derivative, to rounding
        return x, penalty * slope * np.sign(w)

    expected = explicit(*rows, np.zeros(4), step)
    found = GMFRLS(FORGETTING, START, penalty).predictions(*rows)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    assert np.abs(found - GMFRLS(FORGETTING, START, 0.0).predictions(*rows)).max() > 1e-3


def test_a_penalty_draws_irrelevant_weights_towards_0():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 8))
    y = X[:, 0] + rng.normal(size=400)
    size = []
    for penalty in (0.0, 2.0):
        learner = GMFRLS(0.99, 1.0, penalty)
        learner.predictions(X, y)
        size.append(np.abs(learner.w[1:]).mean())
    assert size[1] < 0.7 * size[0]


@pytest.mark.parametrize("threshold", [0.05, 0.3])
def test_s_rls_solves_its_normal_equations(rows, threshold):
    def step(w, x):
        return np.where(np.abs(w) > threshold, x, 0.0), 0.0

    found = SRLS(FORGETTING, START, threshold).predictions(*rows)
    np.testing.assert_allclose(found, explicit(*rows, np.ones(4), step), rtol=1e-6, atol=1e-8)


def test_s_rls_with_no_threshold_is_rls_from_weights_of_1(rows):
    X, y = rows
    model = dl.RLS(forgetting=FORGETTING, ridge=1 / START, intercept=False)
    expected = X.sum(axis=1) + model.run(X, y - X.sum(axis=1)).predictions
    np.testing.assert_allclose(SRLS(FORGETTING, START, 0.0).predictions(X, y), expected, rtol=1e-8, atol=1e-10)


def test_weights_below_the_threshold_never_move(rows):
    X, y = rows
    np.testing.assert_allclose(SRLS(FORGETTING, START, 2.0).predictions(X, y), X.sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("learner", [PlainDFOP(0.03, 1.0), SRLS(0.97, 1.0, 0.1), GMFRLS(0.97, 1.0, 0.1)])
def test_predictions_stay_nan_once_they_are_not_finite(learner: PlainLearner):
    X = np.ones((6, 2))
    X[3] = np.inf
    found = learner.predictions(X, np.ones(6))
    assert np.isfinite(found).tolist() == [True] * 3 + [False] * 3


def test_a_second_run_starts_from_scratch(rows):
    learner = SRLS(FORGETTING, START, 0.1)
    np.testing.assert_array_equal(learner.predictions(*rows), learner.predictions(*rows))


def test_rivals_use_the_prior_and_forgetting_of_dfop(rows):
    found = rivals(0.03, 100.0)
    plain = found["GMF-RLS"][1e-3]
    assert (plain.forgetting, plain.start) == (0.97, 3.0)
    learner = GMFRLS(plain.forgetting, plain.start, penalty=0.0)
    np.testing.assert_allclose(learner.predictions(*rows), PlainDFOP(0.03, 100.0).predictions(*rows), rtol=1e-8, atol=1e-10)
