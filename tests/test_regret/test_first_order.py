"""Online-to-batch: the risk of LMS's averaged weights."""

import numpy as np
import pytest

import driftline as dl
from driftline import regret


def sample(rng, m):
    X = rng.normal(size=(m, 3))
    X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
    return X, X @ [1.0, -0.5, 0.2] + 0.3 * rng.normal(size=m)


def test_the_mean_risk_over_samples_is_within_the_bound():
    rng = np.random.default_rng(0)
    holdout = sample(rng, 20_000)
    learner = dl.LMS(rate=0.2, intercept=False)
    bounds = [regret.online_to_batch(learner, *sample(rng, 200), holdout=holdout, norm=1.0) for _ in range(100)]
    assert all(bound.applies for bound in bounds)
    assert np.mean([bound.observed for bound in bounds]) <= bounds[0].value
    assert np.mean([bound.observed for bound in bounds]) > 0.5 * bounds[0].value  # so the bound is not vacuous
    assert any("expectation" in words for words in bounds[0].assumptions)


def test_the_averaged_weights_are_those_that_predicted():
    X, y = np.ones((3, 1)), np.ones(3)
    bound = regret.online_to_batch(dl.LMS(rate=0.5, intercept=False), X, y, [1.0], holdout=([[1.0]], [1.0]))
    mean = (0 + 0.5 + 0.75) / 3
    assert bound.observed == pytest.approx((1 - mean) ** 2)
    assert bound.value == pytest.approx(0 / 0.5 + 1 / (0.5 * 3))


def test_without_holdout_rows_the_risk_of_u_is_its_mean_loss():
    X, y = np.ones((4, 1)), np.array([1.0, 2.0, 3.0, 2.0])
    bound = regret.online_to_batch(dl.LMS(rate=0.5, intercept=False), X, y, [2.0])
    assert bound.observed is None
    assert bound.terms["risk of u / (1 - rate X^2)"] == pytest.approx(0.5 / 0.5)


def test_without_given_weights_the_bound_is_minimised_over_them():
    rng = np.random.default_rng(1)
    X, y = sample(rng, 100)
    learner = dl.LMS(rate=0.3, intercept=False)
    least = regret.online_to_batch(learner, X, y).value
    for _ in range(50):
        assert regret.online_to_batch(learner, X, y, rng.normal(size=3)).value >= least


def test_a_diverging_rate_is_a_failed_condition():
    """The theorem does not apply; this is a result, not an error."""
    X, y = np.ones((3000, 1)), np.ones(3000)
    learner = dl.LMS(rate=5.0, intercept=False)
    with pytest.raises(dl.DivergenceError):
        learner.run(X, y)
    for bound in (regret.lms(learner, X, y), regret.online_to_batch(learner, X, y, holdout=(X[:5], y[:5]))):
        assert not bound.applies
        assert bound.conditions["rate * X^2 < 1: 5 * 1"] is False
        assert bound.observed == np.inf
        assert "FAILS: rate * X^2 < 1" in str(bound)
