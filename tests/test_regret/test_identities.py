"""Running sums equal independently solved comparators to 1e-9, on hundreds of streams."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from driftline import regret

from .draw import Stream, powers, some, streams

positive = powers(-2, 2)


def meets(learner: dl.Learner, s: Stream, rel: float = 1e-9) -> dl.Certificate:
    learner.run(s.X, s.y)
    certificate = learner.certificate()
    assert certificate.comparator == pytest.approx(regret.comparator(learner, s.X, s.y).value, rel=rel)
    return certificate


@given(streams(), positive, st.booleans())
def test_ridge(s: Stream, ridge: float, intercept: bool):
    learner = dl.Ridge(ridge=ridge, intercept=intercept)
    certificate = meets(learner, s)
    best = regret.best_fixed(s.X, s.y, ridge, intercept=intercept)
    assert certificate.comparator == pytest.approx(best.value, rel=1e-9)
    assert certificate.bound is None


@given(streams(), positive, st.booleans())
def test_aar(s: Stream, ridge: float, intercept: bool):
    certificate = meets(dl.AAR(ridge=ridge, intercept=intercept), s)
    assert certificate.comparator == pytest.approx(regret.best_fixed(s.X, s.y, ridge, intercept=intercept).value, rel=1e-9)


@given(streams(), positive, powers(-2, 4), st.sampled_from([1.0, 1.5, 4.0, 1e6]), st.booleans())
def test_weighted_laser(s: Stream, ridge: float, excess: float, most: float, intercept: bool):
    cost = ridge * (1 + excess)
    meets(dl.WeightedLASER(ridge=ridge, drift_cost=cost, max_weight=most, intercept=intercept), s, rel=1e-8)


@given(streams(), positive, positive, st.booleans())
def test_arowr(s: Stream, noise: float, ridge: float, intercept: bool):
    certificate = meets(dl.AROWR(noise=noise, ridge=ridge, intercept=intercept), s)
    best = regret.best_fixed(s.X, s.y, noise * ridge, intercept=intercept)
    assert certificate.comparator == pytest.approx(best.value, rel=1e-9)


@given(streams(), positive, powers(-2, 4), st.booleans())
def test_laser(s: Stream, ridge: float, excess: float, intercept: bool):
    cost = ridge * (1 + excess)
    certificate = meets(dl.LASER(ridge=ridge, drift_cost=cost, intercept=intercept), s)
    best = regret.best_sequence(s.X, s.y, ridge, cost, intercept=intercept)
    assert certificate.comparator == pytest.approx(best.value, rel=1e-9)


@given(streams(), positive, st.one_of(st.just(0.0), powers(-5, 1)), positive, st.booleans())
def test_kalman(s: Stream, noise: float, drift: float, ridge: float, intercept: bool):
    certificate = meets(dl.Kalman(noise=noise, drift=drift, ridge=ridge, intercept=intercept), s)
    cost = noise / drift if drift else np.inf
    best = regret.best_sequence(s.X, s.y, noise * ridge, cost, intercept=intercept, ridge_at=0)
    assert certificate.comparator == pytest.approx(best.value, rel=1e-9)


@given(streams(), st.floats(0.6, 1.0), positive, st.booleans())
def test_rls(s: Stream, forgetting: float, ridge: float, intercept: bool):
    certificate = meets(dl.RLS(forgetting=forgetting, ridge=ridge, intercept=intercept), s)
    T = s.shape[0]
    discounts = forgetting ** np.arange(T)[::-1]
    best = regret.best_fixed(s.X, s.y, ridge * forgetting**T, intercept=intercept, sample_weight=discounts)
    assert certificate.comparator == pytest.approx(best.value, rel=1e-9)


@some
@given(streams(), positive)
def test_rls_whose_forgetting_changes(s: Stream, ridge: float):
    meets(dl.RLS(forgetting=lambda t: 1 - 1 / (t + 3), ridge=ridge), s)
    meets(dl.RLS(forgetting=[0.8, 1.0, 0.9], ridge=ridge), s)


@given(streams(), st.floats(0.001, 0.4), powers(-1, 3), st.booleans())
def test_dfop(s: Stream, forget_rate: float, prior: float, intercept: bool):
    certificate = meets(dl.DFOP(forget_rate=forget_rate, prior=prior, intercept=intercept), s)
    T = s.shape[0]
    ridge = (1 - forget_rate) ** T / (forget_rate * prior)
    discounts = (1 - forget_rate) ** np.arange(T)[::-1]
    best = regret.best_fixed(s.X, s.y, ridge, intercept=intercept, sample_weight=discounts)
    assert certificate.comparator == pytest.approx(best.value, rel=1e-9)


@given(streams(), powers(-2, 2), st.booleans())
def test_wemm_meets_theorem_4_with_equality(s: Stream, excess: float, intercept: bool):
    ridge = (float(np.sum(s.X**2, axis=1).max()) + intercept) * (1 + excess)
    certificate = meets(dl.WEMM(ridge=ridge, intercept=intercept), s)
    assert certificate.loss == pytest.approx(certificate.comparator, rel=1e-9)
    assert certificate.bound == pytest.approx(certificate.loss, rel=1e-9)
    assert certificate.slack >= 0


@some
@given(streams(), positive, positive, powers(-5, 1), st.floats(0.7, 1.0))
def test_second_order_combinations(s: Stream, start: float, noise: float, drift: float, forgetting: float):
    for time in (None, dl.Add(drift), dl.Divide(forgetting)):
        meets(dl.SecondOrder(start=start, noise=noise, time=time, shrink=True), s)
    meets(dl.SecondOrder(start=0.5 / (np.sum(s.X**2, axis=1).max() + 1), noise="complement"), s)
    meets(dl.ARCOR(noise=noise, schedule=None), s)
    meets(dl.CRRLS(forgetting=forgetting, period=None), s)


@some
@given(streams(rows=30), positive)
def test_the_identity_holds_after_every_row(s: Stream, ridge: float):
    """After every row, not only at the end of a run."""
    learners = [dl.AAR(ridge=ridge), dl.RLS(forgetting=0.9, ridge=ridge), dl.LASER(ridge=ridge, drift_cost=3 * ridge)]
    for t in range(s.shape[0]):
        for learner in learners:
            learner.learn_one(s.X[t], s.y[t])
            best = regret.comparator(learner, s.X[: t + 1], s.y[: t + 1])
            assert learner.certificate().comparator == pytest.approx(best.value, rel=1e-9)


def test_a_comparator_is_given_only_if_the_identity_holds():
    X, y = np.ones((3, 1)), np.ones(3)
    with pytest.raises(TypeError, match="comparator: LMS is not a second-order learner"):
        regret.comparator(dl.LMS(), X, y)
    for learner in (dl.ARCOR(), dl.ARCOR(schedule=None, radius=1.0), dl.CRRLS()):
        with pytest.raises(ValueError, match="resets or projects"):
            regret.comparator(learner, X, y)
    with pytest.raises(ValueError, match="WEMM has no comparator on these rows"):
        regret.comparator(dl.WEMM(ridge=0.5, intercept=False), X, y)
