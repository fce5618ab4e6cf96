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


def test_with_confidence_the_deviation_is_that_of_hoeffding_and_azuma():
    """B is 4 Y^2, or the first of its doubles that no (|w_t| X + Y)^2 exceeds, at the confidence / ((k + 1)(k + 2))."""
    rng = np.random.default_rng(4)
    for scale, rate in ((1.0, 0.01), (1.0, 0.5), (3.0, 0.09)):
        X, y = sample(rng, 80)
        X *= scale
        learner = dl.LMS(rate=rate, intercept=False)
        found = regret.online_to_batch(learner, X, y, [1.0, 0.0, 0.0], confidence=0.1, norm=scale, label=3.0)
        w, largest, loss = np.zeros(3), 0.0, 0.0
        for x, label in zip(X, y, strict=True):
            largest = max(largest, (np.linalg.norm(w) * scale + 3.0) ** 2)
            loss += (label - x[0]) ** 2 / 80
            w = w - rate * (w @ x - label) * x
        B, k = 4 * 3.0**2, 0
        while largest > B:
            B, k = 2 * B, k + 1
        deviation = B * np.sqrt(np.log((k + 1) * (k + 2) / 0.1) / (2 * 80))
        assert found.terms["deviation"] == pytest.approx(deviation, rel=1e-12)
        assert found.terms["loss on the sample of u / (1 - rate X^2)"] == pytest.approx(loss / (1 - rate * scale**2))
        assert found.value == pytest.approx(loss / (1 - rate * scale**2) + 1 / (rate * 80) + deviation)


def test_the_confidence_of_the_peeling_adds_up():
    """The probabilities of failure, delta / ((k + 1)(k + 2)) over k = 0, 1, ..., sum to delta."""
    assert sum(1 / ((k + 1) * (k + 2)) for k in range(10**6)) == pytest.approx(1.0, abs=2e-6)


def test_the_risk_exceeds_the_bound_with_confidence_less_often_than_stated():
    """On a distribution of four rows, whose risk is exact; the deviation alone is exceeded in few samples too."""
    rows, labels = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [-1.0, 0.0]]), np.array([1.0, -1.0, 0.5, 1.0])
    learner, rng, failed, above = dl.LMS(rate=0.3, intercept=False), np.random.default_rng(5), 0, 0
    for _ in range(300):
        drawn = rng.integers(4, size=60)
        bound = regret.online_to_batch(
            learner, rows[drawn], labels[drawn], holdout=(rows, labels), confidence=0.5, norm=1.0, label=1.0
        )
        assert bound.applies
        failed += bound.observed > bound.value
        above += bound.observed > learner.clone().run(rows[drawn], labels[drawn]).losses.mean() + bound.terms["deviation"]
    assert failed <= above <= 150


def test_the_bound_with_confidence_states_its_conditions():
    rng = np.random.default_rng(6)
    X, y = sample(rng, 30)
    learner = dl.LMS(rate=0.3, intercept=False)
    bound = regret.online_to_batch(learner, X, y, confidence=0.05, label=0.1)
    assert not bound.applies
    assert bound.conditions["every label lies within 0.1"] is False
    assert "the bound may fail with probability 0.05" in bound.assumptions
    assert regret.online_to_batch(learner, X, 0 * y, confidence=0.05).value == 0
    for bad in (0.0, 1.0, -1.0, "0.05"):
        with pytest.raises(ValueError, match=r"online_to_batch: confidence must be in \(0, 1\), got"):
            regret.online_to_batch(learner, X, y, confidence=bad)
    for rows in (300, 600, 3000):  # weights of 10^180, of 10^360, and beyond the range
        X, y = np.ones((rows, 1)), np.ones(rows)
        diverging = regret.online_to_batch(dl.LMS(rate=5.0, intercept=False), X, y, confidence=0.05)
        assert diverging.value == np.inf
        assert not diverging.applies


def test_the_deviation_scales_with_the_squared_labels_down_to_the_smallest():
    X, y = sample(np.random.default_rng(7), 30)
    learner = dl.LMS(rate=0.3, intercept=False)
    whole = regret.online_to_batch(learner, X, y, np.zeros(3), confidence=0.05).terms["deviation"]
    for scale in (2.0**-500, 2.0**-545):  # the square of the latter is 0
        small = regret.online_to_batch(learner, X, scale * y, np.zeros(3), confidence=0.05).terms["deviation"]
        assert small == scale**2 * whole


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, "1"])
def test_bounds_on_inputs_labels_noise_and_drift_are_validated(bad):
    X, y = sample(np.random.default_rng(8), 30)
    lms, laser, u = (
        dl.LMS(rate=0.1, intercept=False),
        dl.LASER(ridge=1.0, drift_cost=10.0, intercept=False),
        np.zeros((30, 3)),
    )
    sparse = {"forget_rate": 0.1, "prior": 1.0, "rip": 0.1}
    calls = {
        "lms: norm": lambda: regret.lms(lms, X, y, norm=bad),
        "online_to_batch: norm": lambda: regret.online_to_batch(lms, X, y, norm=bad),
        "online_to_batch: label": lambda: regret.online_to_batch(lms, X, y, confidence=0.1, label=bad),
        "aar: label": lambda: regret.aar(dl.AAR(intercept=False), X, y, label=bad),
        "laser_theorem_12: label": lambda: regret.laser_theorem_12(laser, X, y, label=bad),
        "laser_corollary_16: norm": lambda: regret.laser_corollary_16(laser, X, y, norm=bad),
        "dfop_theorem_1: noise": lambda: regret.dfop_theorem_1(dl.DFOP(intercept=False), X, y, u, noise=bad),
        "dfop_theorem_1: drift": lambda: regret.dfop_theorem_1(dl.DFOP(intercept=False), X, y, u, drift=bad),
        "sparse_dfop_theorem_2: noise": lambda: regret.sparse_dfop_theorem_2(X, y, u, np.eye(3), **sparse, noise=bad),
        "sparse_dfop_theorem_2: rip": lambda: regret.sparse_dfop_theorem_2(X, y, u, np.eye(3), **{**sparse, "rip": bad}),
    }
    for words, call in calls.items():
        with pytest.raises(ValueError, match=f"^{words} must be in "):
            call()
