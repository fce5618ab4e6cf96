"""Live certificates: running sums equal the comparators' optimal values, and no bound is ever broken."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from tests.streams import Array, drifting, stationary, wild, with_ones

seeds = st.integers(0, 2**32 - 1)


def best_fixed(X: Array, y: Array, ridge: float, weight: Array | float = 1.0) -> float:
    """The least of ridge |u|^2 + sum of weight (y - u.x)^2, by least squares on the stacked system."""
    root = np.sqrt(np.broadcast_to(weight, len(y)))
    design = np.vstack([root[:, None] * X, np.sqrt(ridge) * np.eye(X.shape[1])])
    target = np.append(root * y, np.zeros(X.shape[1]))
    u = np.linalg.lstsq(design, target, rcond=None)[0]
    return float(np.sum((target - design @ u) ** 2))


def best_sequence(X: Array, y: Array, ridge: float, drift_cost: float) -> float:
    """The least of ridge |u_1|^2 + drift_cost sum |u_t+1 - u_t|^2 + sum (y - u_t.x)^2, as one least-squares problem."""
    T, d = X.shape
    rows = np.zeros((T, T * d))
    for t in range(T):
        rows[t, t * d : (t + 1) * d] = X[t]
    steps = np.sqrt(drift_cost) * np.kron(np.diff(np.eye(T), axis=0), np.eye(d))
    first = np.sqrt(ridge) * np.eye(d, T * d)
    design = np.vstack([rows, steps, first])
    target = np.append(y, np.zeros(len(design) - T))
    u = np.linalg.lstsq(design, target, rcond=None)[0]
    return float(np.sum((target - design @ u) ** 2))


def certified(model: Any, X: Array, y: Array, **kw: Any) -> Any:
    run = model.run(X, y, **kw)
    certificate = model.certificate()
    assert certificate.loss == pytest.approx(float(np.sum(run.losses)), rel=1e-12)
    return certificate


def seen(X: Array, intercept: bool) -> Array:
    return with_ones(X) if intercept else X


# Identities.


@given(seeds, st.integers(1, 8), st.floats(0.01, 10), st.floats(0.1, 10), st.booleans())
def test_the_running_sum_is_the_best_fixed_comparators_value(seed, d, ridge, noise, intercept):
    X, y = drifting(seed, 40, d)
    Z, kw = seen(X, intercept), {"intercept": intercept}
    for model, expected in (
        (dl.Ridge(ridge=ridge, **kw), best_fixed(Z, y, ridge)),
        (dl.AAR(ridge=ridge, **kw), best_fixed(Z, y, ridge)),
        (dl.AAR(ridge=ridge, clip=0.5, **kw), best_fixed(Z, y, ridge)),
        (dl.AROWR(noise=noise, ridge=ridge, **kw), best_fixed(Z, y, noise * ridge)),
        (dl.ARCOR(noise=noise, schedule=None, **kw), best_fixed(Z, y, noise)),
        (dl.Kalman(noise=noise, drift=0.0, ridge=ridge, **kw), best_fixed(Z, y, noise * ridge)),
        (dl.LASER(ridge=ridge, drift_cost=float("inf"), **kw), best_fixed(Z, y, ridge)),
        (dl.SecondOrder(start=1 / ridge, noise=noise, shrink=True, **kw), best_fixed(Z, y, noise * ridge)),
    ):
        assert certified(model, X, y).comparator == pytest.approx(expected, rel=1e-9)


@given(seeds, st.integers(1, 8), st.floats(0.5, 1), st.floats(0.01, 10), st.booleans())
def test_the_discounted_sum_is_the_discounted_comparators_value(seed, d, forgetting, ridge, intercept):
    X, y = drifting(seed, 40, d)
    Z, kw = seen(X, intercept), {"intercept": intercept}
    discount = forgetting ** np.arange(40)[::-1]
    for model, prior in (
        (dl.RLS(forgetting=forgetting, ridge=ridge, **kw), ridge),
        (dl.RLS(forgetting=lambda t: forgetting, ridge=ridge, **kw), ridge),
        (dl.CRRLS(forgetting=forgetting, period=None, **kw), 1.0),
    ):
        expected = best_fixed(Z, y, forgetting**40 * prior, discount)
        assert certified(model, X, y).comparator == pytest.approx(expected, rel=1e-8)
    if forgetting < 1:
        mu = 1 - forgetting
        expected = best_fixed(Z, y, forgetting**40 / (mu * 20.0), discount)
        assert certified(dl.DFOP(forget_rate=mu, prior=20.0, **kw), X, y).comparator == pytest.approx(expected, rel=1e-8)


@given(seeds, st.integers(1, 4), st.floats(0.05, 5), st.floats(1.01, 1e3), st.booleans())
def test_the_running_sum_is_the_best_sequences_value(seed, d, ridge, ratio, intercept):
    X, y = drifting(seed, 15, d)
    Z, cost = seen(X, intercept), ridge * ratio
    laser = certified(dl.LASER(ridge=ridge, drift_cost=cost, intercept=intercept), X, y)
    assert laser.comparator == pytest.approx(best_sequence(Z, y, ridge, cost), rel=1e-8)
    theorem = dl.regret.laser_theorem_12(dl.LASER(ridge=ridge, drift_cost=cost, intercept=intercept), X, y)
    assert laser.bound == pytest.approx(theorem.value, rel=1e-8)
    noise, drift = 2.5, 1 / ratio
    kalman = certified(dl.Kalman(noise=noise, drift=drift, ridge=ridge, intercept=intercept), X, y)
    unseen = np.vstack([np.zeros(Z.shape[1]), Z])
    expected = best_sequence(unseen, np.append(0.0, y), noise * ridge, noise / drift)
    assert kalman.comparator == pytest.approx(expected, rel=1e-8)


@given(seeds, st.integers(1, 8), st.booleans())
def test_wemm_meets_its_theorem_4_with_equality(seed, d, intercept):
    X, y = drifting(seed, 40, d)
    Z, A, weight = seen(X, intercept), 300.0 * np.eye(d + intercept), []
    for x in Z:
        weight.append(1 / (1 - x @ np.linalg.solve(A, x)))
        A += weight[-1] * np.outer(x, x)
    certificate = certified(dl.WEMM(ridge=300.0, intercept=intercept), X, y)
    assert certificate.comparator == pytest.approx(best_fixed(Z, y, 300.0, np.array(weight)), rel=1e-9)
    assert certificate.loss == pytest.approx(certificate.comparator, rel=1e-12)
    assert certificate.slack == pytest.approx(0.0, abs=1e-9 * certificate.loss)


@given(seeds, st.integers(1, 6))
def test_with_sample_weights_the_comparator_is_the_weighted_one_and_no_bound_is_claimed(seed, d):
    """The theorems bound plain sums of losses; rows of small weight could break any of them."""
    X, y = drifting(seed, 40, d)
    weight = np.random.default_rng(seed).exponential(size=40)
    for model, ridge in (
        (dl.Ridge(ridge=0.7), 0.7),
        (dl.AAR(ridge=0.7), 0.7),
        (dl.AROWR(noise=2.5, ridge=0.7), 2.5 * 0.7),
    ):
        certificate = certified(model, X, y, sample_weight=weight)
        assert certificate.comparator == pytest.approx(best_fixed(with_ones(X), y, ridge, weight), rel=1e-9)
        assert certificate.bound is None
    wemm = certified(dl.WEMM(ridge=400.0), X, y, sample_weight=1e-3)
    assert wemm.bound is None
    assert wemm.loss > wemm.comparator


def test_a_sample_weight_of_one_changes_nothing():
    X, y = drifting(1, 40, 3)
    plain, weighted = dl.AAR(), dl.AAR()
    plain.run(X, y)
    weighted.run(X, y, sample_weight=np.ones(40))
    assert weighted.certificate() == plain.certificate()
    assert weighted.certificate().bound is not None


# Bounds.


def log_det(X: Array, ridge: float) -> float:
    return float(np.linalg.slogdet(np.eye(X.shape[1]) + X.T @ X / ridge)[1])


@given(seeds, st.integers(1, 8), st.floats(0.05, 20), st.floats(0.1, 10))
def test_bounds_match_the_theorems(seed, d, ridge, noise):
    X, y = drifting(seed, 40, d)
    aar = certified(dl.AAR(ridge=ridge, intercept=False), X, y)
    largest = float(np.abs(y).max())
    assert aar.bound == pytest.approx(best_fixed(X, y, ridge) + largest**2 * log_det(X, ridge), rel=1e-9)
    model = dl.AROWR(noise=noise, ridge=ridge, intercept=False)
    worst = float(model.run(X, y).losses.max())
    expected = best_fixed(X, y, noise * ridge) + worst * log_det(X, noise * ridge)
    assert model.certificate().bound == pytest.approx(expected, rel=1e-9)
    limit = certified(dl.LASER(ridge=ridge, drift_cost=float("inf"), intercept=False), X, y)
    A, gains = ridge * np.eye(d), 0.0
    for x in X:
        A += np.outer(x, x)
        gains += x @ np.linalg.solve(A, x)
    assert limit.bound == pytest.approx(aar.comparator + largest**2 * gains, rel=1e-9)
    assert limit.bound < aar.bound  # x'A^-1 x is below the growth of log det A


def assert_no_bound_is_broken(X: Array, y: Array, cut: float, dtype: str = "float64") -> None:
    slop = 1e-9 if dtype == "float64" else 1e-3
    norm2 = float(np.max(np.sum(with_ones(X) ** 2, axis=1)))
    for model in (
        dl.AAR(ridge=0.3, dtype=dtype),
        dl.AAR(ridge=5.0, clip=cut, dtype=dtype),
        dl.AROWR(noise=0.2, ridge=2.0, dtype=dtype),
        dl.AROWR(noise=20.0, ridge=0.1, dtype=dtype),
        dl.WEMM(ridge=1.01 * norm2 + 1, dtype=dtype),
        dl.LASER(ridge=0.7, drift_cost=1.0, dtype=dtype),
        dl.LASER(ridge=0.7, drift_cost=100.0, dtype=dtype),
        dl.LASER(ridge=0.7, drift_cost=100.0, clip=cut, dtype=dtype),
    ):
        for piece in np.array_split(np.arange(len(y)), 4):
            model.run(X[piece], y[piece])
            certificate = model.certificate()
            assert certificate.bound is not None, model
            assert certificate.loss <= certificate.bound * (1 + slop), model
            assert certificate.slack == certificate.bound - certificate.loss


@given(seeds, st.integers(1, 10), st.booleans(), st.sampled_from(["float64", "float32"]))
def test_no_bound_is_broken(seed, d, still, dtype):
    X, y = stationary(seed, 60, d) if still else drifting(seed, 60, d, step=0.5)
    assert_no_bound_is_broken(X, y, cut=float(np.abs(y).max()), dtype=dtype)


@given(seeds, st.integers(1, 6))
def test_no_bound_is_broken_on_wild_streams(seed, d):
    X, y = wild(seed, 40, d, span=2.0)
    assert_no_bound_is_broken(X, y, cut=float(np.abs(y).max()))


@given(seeds, st.integers(1, 5))
def test_no_bound_is_broken_by_an_adversary(seed, d):
    """Labels of size 1 with the sign opposite to the prediction."""
    X = np.random.default_rng(seed).normal(size=(60, d))
    for make in (lambda: dl.AAR(), lambda: dl.AROWR(noise=0.5), lambda: dl.LASER(ridge=0.5, drift_cost=2.0)):
        model = make()
        for x in X:
            model.learn_one(x, -1.0 if model.predict_one(x) > 0 else 1.0)
        certificate = model.certificate()
        assert certificate.loss >= 60
        assert certificate.loss <= certificate.bound


def test_the_log_determinant_survives_features_of_any_size():
    """It comes from the factors of S: the dense matrix would lose it if features are nearly collinear."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3)) * [1e-6, 1.0, 1e6]
    twin = X[:, 2] * (1 + 1e-10 * rng.normal(size=50))
    X = np.column_stack([X, twin])
    model = dl.AAR(ridge=1.0, intercept=False)
    model.run(X, rng.normal(size=50))
    certificate = model.certificate()
    Y2 = model._sums()["largest_label"] ** 2
    singular = np.linalg.svd(X, compute_uv=False)
    assert (certificate.bound - certificate.comparator) / Y2 == pytest.approx(float(np.sum(np.log1p(singular**2))), rel=1e-6)


# Cases in which nothing is claimed.


def test_a_label_beyond_the_clip_voids_the_bound_and_is_reported():
    X, y = drifting(2, 40, 3)
    for model in (dl.AAR(clip=0.5), dl.LASER(clip=0.5)):
        model.run(X, y)
        certificate = model.certificate()
        assert certificate.bound is None
        assert certificate.slack is None
        assert certificate.comparator is not None
        assert [holds for words, holds in certificate.conditions.items() if "clip" in words] == [False]


def test_nothing_is_claimed_after_a_reset_or_a_projection():
    X, y = drifting(2, 40, 3)
    for model, event in (
        (dl.CRRLS(period=7), "resets"),
        (dl.ARCOR(noise=0.5, schedule=1.5), "resets"),
        (dl.ARCOR(schedule=None, radius=0.1), "projections"),
    ):
        model.run(X, y)
        certificate = model.certificate()
        assert certificate.events[event] > 0
        assert certificate.comparator is None
        assert certificate.bound is None


def test_no_theorem_bounds_ridge_rls_or_kalman():
    X, y = drifting(2, 40, 3)
    for model in (dl.Ridge(), dl.RLS(), dl.Kalman(), dl.DFOP(), dl.LMS(), dl.NLMS(), dl.GD(), dl.EG()):
        model.run(X, y)
        assert model.certificate().bound is None


def test_before_the_first_row_the_loss_is_zero():
    for model in (dl.RLS(), dl.AAR(), dl.LMS(), dl.EG()):
        assert model.certificate().loss == 0.0


@pytest.mark.parametrize("label", [1e155, 1e300, -1e308])
def test_labels_whose_squares_overflow_only_void_the_claims_of_the_certificate(label):
    for model in (dl.AAR(), dl.AROWR(), dl.LASER(), dl.WEMM(ridge=100.0), dl.RLS(), dl.LMS(rate=1e-3)):
        model.run(np.ones((3, 2)), [label, 1.0, -label])
        certificate = model.certificate()
        assert not np.isnan(certificate.loss)
        assert certificate.bound is None or certificate.loss <= certificate.bound


@pytest.mark.parametrize(
    ("model", "change"),
    [(dl.AAR(ridge=1.0), {"ridge": 100.0}), (dl.AROWR(noise=100.0), {"noise": 1.0}), (dl.LASER(), {"drift_cost": 50.0})],
    ids=lambda value: type(value).__name__,
)
def test_nothing_is_claimed_after_parameters_changed_mid_stream(model, change):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    model.run(X, y)
    model.set_params(missing="skip")
    assert model.certificate().bound is not None
    model.set_params(**change)
    model.run(X, y)
    certificate = pickle.loads(pickle.dumps(model)).certificate()
    assert certificate.bound is None
    assert certificate.comparator is None
    assert certificate.events["retuned"] == 1
    assert certificate.conditions == {"the rows were learned one by one, with these parameters": False}


@pytest.mark.parametrize(
    "model",
    [dl.Ridge(ridge=1e-120), dl.Ridge(ridge=1e120), dl.Ridge(ridge=1e-16, dtype="float32"), dl.AROWR(noise=1e200)],
)
def test_a_parameter_beyond_the_range_of_the_dtype_is_reported(model, rows):
    model.fit(*rows)
    certificate = model.certificate()
    words = f"the start, the noise and the drift are within the range of {model.dtype}"
    assert certificate.conditions[words] is False
    assert certificate.comparator is None
    assert certificate.bound is None
    model.set_params(ridge=1.0, **({"noise": 1.0} if isinstance(model, dl.AROWR) else {}))
    assert words not in model.certificate().conditions
