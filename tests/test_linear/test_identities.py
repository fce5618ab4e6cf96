"""The references against each other: special cases and limits."""

import numpy as np

from tests.reference import Outcome
from tests.test_linear.test_aar import plain as aar
from tests.test_linear.test_arcor import plain as arcor
from tests.test_linear.test_arowr import plain as arowr
from tests.test_linear.test_crrls import plain as crrls
from tests.test_linear.test_dfop import plain as dfop
from tests.test_linear.test_eg import plain as eg
from tests.test_linear.test_kalman import plain as kalman
from tests.test_linear.test_laser import plain as laser
from tests.test_linear.test_lms import plain as lms
from tests.test_linear.test_ridge import plain as ridge
from tests.test_linear.test_rls import plain as rls


def assert_same(left: Outcome, right: Outcome, covariance: float = 1.0) -> None:
    """Assert equal predictions and weights, and that left's covariance is this multiple of right's."""
    assert left.covariance is not None
    assert right.covariance is not None
    for ours, theirs in [
        (left.predictions, right.predictions),
        (left.weights, right.weights),
        (left.covariance, covariance * right.covariance),
    ]:
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_dfop_is_rls(stream):
    mu, prior = 0.08, 20.0
    expected = rls(*stream, forgetting=1 - mu, ridge=1 / (mu * prior))
    assert_same(dfop(*stream, forget_rate=mu, prior=prior), expected, covariance=1 / mu)


def test_arowr_with_unit_noise_is_ridge(stream):
    assert_same(arowr(*stream, noise=1.0, ridge=0.7), ridge(*stream, ridge=0.7))


def test_arowr_is_ridge_on_the_scaled_prior(stream):
    expected = ridge(*stream, ridge=2.5 * 0.7)
    assert_same(arowr(*stream, noise=2.5, ridge=0.7), expected, covariance=2.5)


def test_rls_that_forgets_nothing_is_ridge(stream):
    assert_same(rls(*stream, forgetting=1.0, ridge=0.7), ridge(*stream, ridge=0.7))


def test_rls_takes_a_function_of_the_row_counted_from_one(stream):
    rows = []
    rls(*stream, forgetting=lambda t: rows.append(t) or 0.9, ridge=0.7)
    assert rows == list(range(1, 61))


def test_crrls_without_resets_is_rls(stream):
    expected = rls(*stream, forgetting=0.9, ridge=1.0)
    assert_same(crrls(*stream, forgetting=0.9, period=np.inf), expected)


def test_arcor_without_resets_and_radius_is_arowr(stream):
    expected = arowr(*stream, noise=2.5, ridge=1.0)
    assert_same(arcor(*stream, noise=2.5, radius=np.inf, schedule=None), expected)


def test_laser_tends_to_aar_as_drift_grows_costly(stream):
    expected = aar(*stream, ridge=0.7)
    gaps = []
    for cost in (1e4, 1e6, 1e8):
        result = laser(*stream, ridge=0.7, drift_cost=cost)
        gaps.append(np.abs(result.predictions - expected.predictions).max())
    assert gaps[0] > 50 * gaps[1] > 2500 * gaps[2]
    assert gaps[2] < 1e-5


def test_kalman_is_laser_without_shrinkage(stream):
    b, c = 0.7, 4.0
    filtered = kalman(*stream, noise=1.0, drift=1 / c, ridge=1 / (1 / b - 1 / c))
    shrunk = laser(*stream, ridge=b, drift_cost=c)
    np.testing.assert_allclose(filtered.weights, shrunk.weights, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(filtered.covariance, shrunk.covariance, rtol=1e-9, atol=1e-9)
    assert np.all(np.abs(shrunk.predictions[1:]) < np.abs(filtered.predictions[1:]))


def test_eg_plus_minus_is_eg_on_doubled_inputs(stream):
    X, y = stream
    doubled = eg(3.0 * np.hstack([X, -X]), y, rate=0.02)
    signed = eg(X, y, rate=0.02, norm=3.0)
    np.testing.assert_allclose(signed.predictions, doubled.predictions, rtol=1e-9, atol=1e-12)
    assert np.all(np.abs(signed.weights).sum(axis=1) < 3.0)


def test_implicit_lms_solves_its_own_equation(stream):
    X, y = stream
    w = lms(X, y, rate=0.3, implicit=True).weights
    step = 0.3 * (np.sum(w * X, axis=1) - y)[:, None] * X
    np.testing.assert_allclose(w[1:], w[:-1] - step[1:], rtol=1e-9, atol=1e-9)
