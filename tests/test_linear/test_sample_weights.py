"""Sample weights: repeated rows for second-order learners, and a factor of the rate for first-order ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import driftline as dl
from tests.streams import Array, drifting


def close(ours: Any, theirs: Any, tolerance: float) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def weighted_batch(X: Array, y: Array, weight: Array, ridge: float) -> Array:
    return np.asarray(np.linalg.solve(ridge * np.eye(X.shape[1]) + (X.T * weight) @ X, (X.T * weight) @ y))


@pytest.fixture
def weighted() -> tuple[Array, Array, Array]:
    X, y = drifting(seed=11, rows=50, d=5)
    weight = np.random.default_rng(0).exponential(size=50)
    weight[[3, 7, 30]] = 0.0
    return X, y, weight


def test_weighted_ridge_is_the_weighted_batch_solution_at_every_row(weighted):
    X, y, weight = weighted
    run = dl.Ridge(ridge=0.7, intercept=False).run(X, y, sample_weight=weight, weights_every=1)
    for t in range(len(y)):
        close(run.weights[t], weighted_batch(X[: t + 1], y[: t + 1], weight[: t + 1], 0.7), 1e-9)


def test_weighted_arowr_is_ridge_with_the_weights_over_the_noise(weighted):
    X, y, weight = weighted
    model = dl.AROWR(noise=2.5, ridge=0.7, intercept=False)
    model.run(X, y, sample_weight=weight)
    close(model.coef_, weighted_batch(X, y, weight / 2.5, 0.7), 1e-9)


def test_weighted_rls_is_the_weighted_and_discounted_batch_solution(weighted):
    """A row of weight 0 is not learned, so it does not age the others either."""
    X, y, weight = weighted
    model = dl.RLS(forgetting=0.9, ridge=0.7, intercept=False)
    model.run(X, y, sample_weight=weight)
    learned = weight > 0
    discount = 0.9 ** np.arange(learned.sum())[::-1]
    close(model.coef_, weighted_batch(X[learned], y[learned], weight[learned] * discount, 0.7 * 0.9 ** learned.sum()), 1e-9)


def test_a_weight_of_two_equals_the_row_twice():
    X, y = drifting(seed=12, d=4)
    for make in (lambda: dl.Ridge(), lambda: dl.AROWR(noise=0.3), lambda: dl.AAR(ridge=2.0)):
        once, twice = make(), make()
        once.run(X, y, sample_weight=2.0)
        twice.run(np.repeat(X, 2, axis=0), np.repeat(y, 2))
        close(once.coef_, twice.coef_, 1e-9)
        close(once.covariance_, twice.covariance_, 1e-9)


@pytest.mark.parametrize("name", ["LMS", "implicit", "GD", "EG"])
def test_a_weight_multiplies_the_rate_of_a_first_order_learner(name, weighted):
    X, y, weight = weighted
    make = {
        "LMS": lambda rate: dl.LMS(rate=rate),
        "implicit": lambda rate: dl.LMS(rate=rate, implicit=True),
        "GD": lambda rate: dl.GD(rate=rate, loss="huber"),
        "EG": lambda rate: dl.EG(rate=rate, norm=2.0),
    }[name]
    at_once, one_by_one, stepped = make(0.02), make(0.02), make(0.02)
    run = at_once.run(X, y, sample_weight=weight)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        assert one_by_one.predict_one(x) == run.predictions[t]
        one_by_one.learn_one(x, label, sample_weight=weight[t])
        if weight[t] > 0:
            stepped.set_params(rate=0.02 * weight[t])
            stepped.learn_one(x, label)
    np.testing.assert_array_equal(at_once.coef_, one_by_one.coef_)
    close(at_once.coef_, stepped.coef_, 1e-12)
    assert at_once.n_seen_ == np.sum(weight > 0)
