"""Conditions that fail are noticed, and reported in words."""

import math

import numpy as np
import pytest

import driftline as dl
from driftline import regret

rng = np.random.default_rng(7)
X = rng.normal(size=(40, 2))
X /= np.linalg.norm(X, axis=1, keepdims=True)
y = X @ [0.6, -0.4] + 0.1 * rng.normal(size=40)
u = np.array([0.5, -0.5])


def fails(bound: regret.Bound, words: str) -> None:
    assert not bound.applies
    assert [name for name, holds in bound.conditions.items() if not holds and words in name], bound


def test_a_rate_that_is_too_large_is_reported():
    bound = regret.lms(dl.LMS(rate=1.5, intercept=False), X, y, u)
    fails(bound, "rate * X^2 < 1: 1.5 * 1")
    assert bound.value == math.inf
    fails(regret.lms(dl.LMS(rate=0.6), X, y, np.append(u, 0.0)), "rate * X^2 < 1: 0.6 * 2")


def test_an_implicit_update_has_another_theorem():
    fails(regret.lms(dl.LMS(rate=0.1, implicit=True, intercept=False), X, y, u), "not implicit")


def test_an_exceeded_norm_is_reported():
    fails(regret.lms(dl.LMS(rate=0.1, intercept=False), X, y, u, norm=0.5), "norm is at most 0.5")
    learner = dl.LASER(ridge=1.0, drift_cost=10.0, intercept=False)
    fails(regret.laser_corollary_16(learner, X, y, u, norm=0.5), "norm is at most 0.5")


def test_labels_beyond_their_bound_are_reported():
    fails(regret.aar(dl.AAR(intercept=False), X, y, u, label=0.1), "every label lies within 0.1")
    fails(regret.aar(dl.AAR(clip=0.1, intercept=False), X, y, u), "every label lies within clip = 0.1")
    learner = dl.LASER(ridge=1.0, drift_cost=10.0, clip=0.1, intercept=False)
    fails(regret.laser_theorem_12(learner, X, y), "every label lies within clip = 0.1")
    fails(regret.laser_theorem_12(learner, X, y, label=0.2), "every label lies within 0.2")


def test_arcor_needs_unit_inputs_a_ball_and_a_comparator_in_it():
    learner = dl.ARCOR(radius=1.0, intercept=False)
    assert regret.arcor_theorem_1(learner, X, y, u).applies
    fails(regret.arcor_theorem_1(learner, 2 * X, y, u), "no input's norm exceeds 1: 2")
    fails(regret.arcor_lemma_1(learner, 2 * X, y), "no input's norm exceeds 1")
    fails(regret.arcor_corollary_1(learner, X, y, 3 * u), "every |u_t| is at most the radius")
    fails(regret.arcor_corollary_2(dl.ARCOR(intercept=False), X, y, u), "the learner has a radius")
    fails(regret.arcor_theorem_1(dl.ARCOR(radius=1.0), X, y, np.append(u, 0)), "no input's norm exceeds 1: 1.41421")


def test_arcor_needs_decreasing_thresholds():
    rising = dl.ARCOR(noise=0.1, radius=1.0, schedule=[0.2, 0.5], intercept=False)
    fails(regret.arcor_theorem_1(rising, X, y, u), "never rise")
    fails(regret.arcor_corollary_2(rising, X, y, u), "the schedule is a power")
    flat = dl.ARCOR(radius=1.0, schedule=[1.0], intercept=False)
    fails(regret.arcor_lemma_1(flat, X, y), "below 1")
    assert regret.arcor_lemma_1(flat, X, y).value == math.inf


def test_arcor_without_resets_bounds_fixed_weights_only():
    learner = dl.ARCOR(radius=1.0, schedule=None, intercept=False)
    assert math.isfinite(regret.arcor_theorem_1(learner, X, y, u).value)
    walk = u + 0.01 * rng.normal(size=X.shape)
    assert regret.arcor_theorem_1(learner, X, y, walk).value == math.inf
    assert regret.arcor_lemma_1(learner, X, y).value == 1


def test_wemm_needs_inputs_below_its_ridge():
    learner = dl.WEMM(ridge=0.9, intercept=False)
    for theorem in (regret.wemm_theorem_5, regret.wemm_theorem_6):
        bound = theorem(learner, X, y, u)
        fails(bound, "every |x|^2 is below ridge: 1 < 0.9")
        assert bound.value == math.inf
    bound = regret.wemm_theorem_4(dl.WEMM(ridge=0.9, intercept=False), X, y, u)
    fails(bound, "x'Sx < 1 on every row")
    assert bound.observed is None
    assert bound.ratio is None


def test_laser_tuned_needs_its_own_drift_cost_and_slow_drift():
    walk = u + np.cumsum(0.01 * rng.normal(size=X.shape), axis=0)
    fails(regret.laser_corollary_16(dl.LASER(drift_cost=7.0, intercept=False), X, y, walk, tuned=True), "Eq. (6.8): 7")
    jumps = 10 * rng.normal(size=X.shape)
    cost = (math.sqrt(2) * 40 * np.abs(y).max() ** 2 * 2 / regret.drift(jumps)) ** (2 / 3)
    learner = dl.LASER(ridge=0.5 * cost, drift_cost=cost, intercept=False)
    fails(regret.laser_corollary_16(learner, X, y, jumps, tuned=True), "the drift is slow enough")


def test_table_4_1_needs_unit_inputs_and_a_ridge_above_1():
    table = regret.table_4_1(2 * X, y, u, ridge=2.0)
    assert not any(bound.applies for bound in table.values())
    table = regret.table_4_1(X, y, u, ridge=0.5)
    assert [name for name, bound in table.items() if not bound.applies] == ["Theorem 5: WEMM", "Theorem 6: WEMM"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: regret.lms(dl.Ridge(), X, y), TypeError, "lms: the theorem is about LMS, got Ridge"),
        (lambda: regret.aar(dl.AAR(), X, y, u), ValueError, r"aar: u must have the shape \(3,\), got \(2,\)"),
        (
            lambda: regret.arcor_theorem_1(dl.ARCOR(intercept=False), X, y, np.ones((3, 2))),
            ValueError,
            r"arcor_theorem_1: u must have the shape \(2,\) or \(40, 2\), got \(3, 2\)",
        ),
        (lambda: regret.aar(dl.AAR(intercept=False), X, y, u * np.nan), ValueError, "u has a value that is not finite"),
        (lambda: regret.drift([1.0]), ValueError, "drift: weights must have two dimensions, got 1"),
    ],
)
def test_wrong_arguments_are_refused_with_a_reason(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_bound_prints_its_terms_and_conditions():
    text = str(regret.lms(dl.LMS(rate=1.5, intercept=False), X, y, u))
    assert text.startswith("loss of LMS, lecture's Theorem 1: inf, observed ")
    assert "FAILS: rate * X^2 < 1: 1.5 * 1" in text
    assert "holds: the update is the plain one, not implicit" in text


def test_only_parameters_of_the_learner_count():
    fresh, used = dl.AAR(intercept=False), dl.AAR(intercept=False)
    used.run(3 * X, -y)
    before = used.coef_.copy()
    assert regret.aar(used, X, y, u) == regret.aar(fresh, X, y, u)
    np.testing.assert_array_equal(used.coef_, before)
