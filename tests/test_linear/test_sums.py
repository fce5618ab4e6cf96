"""Sums of squared errors, weighted by 1 / (rho + s), are the comparators' optimal values."""

import numpy as np
import pytest
from scipy.linalg import block_diag

from tests.reference import Array, Outcome
from tests.test_linear.test_arowr import plain as arowr
from tests.test_linear.test_dfop import plain as dfop
from tests.test_linear.test_kalman import plain as kalman
from tests.test_linear.test_laser import plain as laser
from tests.test_linear.test_ridge import plain as ridge
from tests.test_linear.test_rls import plain as rls
from tests.test_linear.test_wemm import plain as wemm


def gains(
    X: Array,
    result: Outcome,
    start: float,
    *,
    noise: float = 1.0,
    divide: float = 1.0,
    add: float = 0.0,
) -> Array:
    """s = x.S.x at each row, with S from explicit inverses; the last one must equal the result's Sigma."""
    S: Array = start * np.eye(X.shape[1])
    values = []
    for x in X:
        S = S / divide + add * np.eye(len(x))
        values.append(x @ S @ x)
        S = np.linalg.inv(np.linalg.inv(S) + np.outer(x, x) / noise)
    assert result.covariance is not None
    np.testing.assert_allclose(S, result.covariance, rtol=1e-9, atol=1e-12)
    return np.array(values)


def before(X: Array, result: Outcome) -> Array:
    """w.x with the weights before each row, never shrunk."""
    previous = np.vstack([np.zeros(X.shape[1]), result.weights[:-1]])
    return np.sum(previous * X, axis=1)


def best_sequence(X: Array, y: Array, ridge: float, drift_cost: float) -> tuple[float, Array]:
    """The least value of ridge |u_1|^2 + drift_cost sum |u_t+1 - u_t|^2 + L, and u_T, from one linear system."""
    T, d = X.shape
    differences = np.kron(np.diff(np.eye(T), axis=0), np.eye(d))
    design = block_diag(*(x[None, :] for x in X))
    hessian = drift_cost * differences.T @ differences + design.T @ design
    hessian[:d, :d] += ridge * np.eye(d)
    u = np.linalg.solve(hessian, design.T @ y)
    return float(y @ y - u @ design.T @ y), u[-d:]


def test_the_weighted_sum_of_errors_is_the_ridge_optimum(stream):
    """sum (y - f)^2 / (1 + s) = min ridge |u|^2 + L(u), by the normal equations."""
    X, y = stream
    result = ridge(X, y, ridge=0.7)
    total = np.sum((y - before(X, result)) ** 2 / (1 + gains(X, result, 1 / 0.7)))
    u = np.linalg.solve(0.7 * np.eye(4) + X.T @ X, X.T @ y)
    assert total == pytest.approx(0.7 * u @ u + np.sum((y - X @ u) ** 2), rel=1e-10)


def test_the_weighted_sum_of_errors_is_the_arowr_optimum(stream):
    X, y = stream
    noise, b = 2.5, 0.7
    result = arowr(X, y, noise=noise, ridge=b)
    s = gains(X, result, 1 / b, noise=noise)
    total = noise * np.sum((y - before(X, result)) ** 2 / (noise + s))
    u = np.linalg.solve(noise * b * np.eye(4) + X.T @ X, X.T @ y)
    assert total == pytest.approx(noise * b * u @ u + np.sum((y - X @ u) ** 2), rel=1e-10)


def test_the_discounted_sum_of_errors_is_the_rls_optimum(stream):
    X, y = stream
    result = rls(X, y, forgetting=0.9, ridge=0.7)
    s = gains(X, result, 1 / 0.7, divide=0.9)
    ages = np.arange(len(y))[::-1]
    total = np.sum(0.9**ages * (y - before(X, result)) ** 2 / (1 + s))
    u = result.weights[-1]
    best = np.sum(0.9**ages * (y - X @ u) ** 2) + 0.9 ** len(y) * 0.7 * u @ u
    assert total == pytest.approx(best, rel=1e-10)


def test_the_discounted_sum_of_errors_is_the_dfop_optimum(stream):
    X, y = stream
    mu, prior = 0.08, 20.0
    result = dfop(X, y, forget_rate=mu, prior=prior)
    s = gains(X, result, prior, noise=1 / mu, divide=1 - mu)
    discounts = (1 - mu) ** np.arange(len(y))[::-1]
    total = np.sum(discounts * (y - before(X, result)) ** 2 / (1 / mu + s)) / mu
    u = result.weights[-1]
    best = np.sum(discounts * (y - X @ u) ** 2) + (1 - mu) ** len(y) / (mu * prior) * u @ u
    assert total == pytest.approx(best, rel=1e-10)


def test_the_weighted_sum_of_laser_is_the_value_of_the_best_sequence(stream):
    """min ridge |u_1|^2 + drift_cost sum |u_t+1 - u_t|^2 + L."""
    X, y = stream
    b, c = 0.7, 4.0
    result = laser(X, y, ridge=b, drift_cost=c)
    s = gains(X, result, 1 / b - 1 / c, add=1 / c)
    total = np.sum((y - before(X, result)) ** 2 / (1 + s))
    best, last = best_sequence(X, y, b, c)
    np.testing.assert_allclose(last, result.weights[-1], rtol=1e-9)
    assert total == pytest.approx(best, rel=1e-9)


def test_the_weighted_sum_of_kalman_is_the_value_of_the_best_sequence(stream):
    """min noise (ridge |u_0|^2 + sum_(t>=1) |u_t - u_t-1|^2 / drift) + L, where u_0 predicts no row."""
    X, y = stream
    noise, drift, prior = 2.5, 0.1, 0.7
    result = kalman(X, y, noise=noise, drift=drift, ridge=prior)
    s = gains(X, result, 1 / prior, noise=noise, add=drift)
    total = noise * np.sum((y - before(X, result)) ** 2 / (noise + s))
    unseen = np.vstack([np.zeros(X.shape[1]), X])
    best, last = best_sequence(unseen, np.append(0.0, y), noise * prior, noise / drift)
    np.testing.assert_allclose(last, result.weights[-1], rtol=1e-9)
    assert total == pytest.approx(best, rel=1e-9)


def test_wemm_meets_its_theorem_4_with_equality(stream):
    X, y = stream
    result = wemm(X, y, ridge=30.0)
    A, a = 30.0 * np.eye(4), []
    for x in X:
        a.append(1 / (1 - x @ np.linalg.solve(A, x)))
        A += a[-1] * np.outer(x, x)
    u = result.weights[-1]
    best = 30.0 * u @ u + np.sum(a * (y - X @ u) ** 2)
    assert np.sum((y - result.predictions) ** 2) == pytest.approx(best, rel=1e-10)
