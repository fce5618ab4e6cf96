import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline import regret

from .draw import Array, Stream, powers, some, streams


def dense(X: Array, y: Array, ridge: float, drift_cost: float) -> Array:
    """The best sequence, from one block-tridiagonal system."""
    T, d = X.shape
    H, g = np.zeros((T, d, T, d)), np.zeros((T, d))
    identity = np.eye(d)
    H[0, :, 0, :] = ridge * identity
    for t in range(T):
        H[t, :, t, :] += np.outer(X[t], X[t])
        g[t] = X[t] * y[t]
    for t in range(T - 1):
        for a, b, sign in ((t, t, 1), (t + 1, t + 1, 1), (t, t + 1, -1), (t + 1, t, -1)):
            H[a, :, b, :] += sign * drift_cost * identity
    return np.linalg.solve(H.reshape(T * d, T * d), g.ravel()).reshape(T, d)


def objective(u: Array, X: Array, y: Array, ridge: float, drift_cost: float) -> float:
    errors = y - np.einsum("td,td->t", X, u)
    return float(ridge * u[0] @ u[0] + drift_cost * np.sum(np.diff(u, axis=0) ** 2) + errors @ errors)


@given(streams(), powers(-3, 3))
def test_best_fixed_solves_the_normal_equations(s: Stream, ridge: float):
    best = regret.best_fixed(s.X, s.y, ridge)
    u = np.linalg.solve(ridge * np.eye(s.shape[1]) + s.X.T @ s.X, s.X.T @ s.y)
    np.testing.assert_allclose(best.weights, u, rtol=1e-7, atol=1e-9 * np.abs(u).max())
    assert best.loss == pytest.approx(np.sum((s.y - s.X @ best.weights) ** 2), rel=1e-12)
    assert best.value == pytest.approx(ridge * u @ u + np.sum((s.y - s.X @ u) ** 2), rel=1e-9)


@some
@given(streams(), powers(-3, 3))
def test_sample_weights_equal_repeated_rows(s: Stream, ridge: float):
    counts = s.rng.integers(0, 4, size=s.shape[0])
    weighted = regret.best_fixed(s.X, s.y, ridge, sample_weight=counts)
    repeated = regret.best_fixed(np.repeat(s.X, counts, 0), np.repeat(s.y, counts), ridge) if counts.any() else None
    assert weighted.value == pytest.approx(0.0 if repeated is None else repeated.value, rel=1e-9, abs=1e-12)


def test_best_fixed_is_invariant_to_the_units_of_the_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=100)
    scale = np.array([1e-8, 1.0, 1e8])
    plain, scaled = regret.best_fixed(X, y, 0.0), regret.best_fixed(X * scale, y, 0.0)
    np.testing.assert_allclose(scaled.weights * scale, plain.weights, rtol=1e-12)
    assert scaled.loss == pytest.approx(plain.loss, rel=1e-12)


def test_the_intercept_is_a_constant_feature_and_comes_last():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    rows = np.column_stack([X, np.ones(30)])
    for solve in (
        lambda X, **k: regret.best_fixed(X, y, 1.0, **k),
        lambda X, **k: regret.best_sequence(X, y, 1.0, 5.0, **k),
    ):
        np.testing.assert_array_equal(solve(X, intercept=True).weights, solve(rows).weights)


@given(streams(rows=40), powers(-2, 2), powers(-2, 4), st.sampled_from([0, 1]))
def test_best_sequence_equals_the_dense_solution(s: Stream, ridge: float, cost: float, ridge_at: int):
    best = regret.best_sequence(s.X, s.y, ridge, cost, ridge_at=ridge_at)
    X, y = s.X, s.y
    if ridge_at == 0:  # an empty row 0
        X, y = np.vstack([np.zeros(s.shape[1]), X]), np.append(0.0, y)
    u = dense(X, y, ridge, cost)
    np.testing.assert_allclose(best.weights, u[1 - ridge_at :], rtol=1e-7, atol=1e-8 * max(np.abs(u).max(), 1e-12))
    assert best.value == pytest.approx(objective(u, X, y, ridge, cost), rel=1e-9)
    assert best.drift == pytest.approx(np.sum(np.diff(u, axis=0) ** 2), rel=1e-6, abs=1e-15)
    assert best.path_length == pytest.approx(np.linalg.norm(np.diff(u, axis=0), axis=1).sum(), rel=1e-6, abs=1e-9)
    if ridge_at == 0:
        np.testing.assert_allclose(best.start, u[0], rtol=1e-7, atol=1e-8 * max(np.abs(u).max(), 1e-12))
    else:
        assert best.start is None
        assert best.drift == pytest.approx(regret.drift(best.weights), rel=1e-7, abs=1e-15)
        assert best.path_length == pytest.approx(regret.path_length(best.weights), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(("T", "d"), [(300, 6), (300, 1), (1, 4), (2, 6)])
def test_best_sequence_equals_the_dense_solution_at_full_size(T: int, d: int):
    rng = np.random.default_rng(T + d)
    X, y = rng.normal(size=(T, d)), rng.normal(size=T)
    for cost in (0.1, 10.0, 1000.0):
        best, u = regret.best_sequence(X, y, 0.5, cost), dense(X, y, 0.5, cost)
        np.testing.assert_allclose(best.weights, u, rtol=1e-9, atol=1e-10)
        assert best.loss == pytest.approx(np.sum((y - np.einsum("td,td->t", X, u)) ** 2), rel=1e-9)


@some
@given(streams(rows=30), powers(-2, 2), powers(-2, 4))
def test_no_other_sequence_has_a_lower_value(s: Stream, ridge: float, cost: float):
    best = regret.best_sequence(s.X, s.y, ridge, cost)
    assert best.value == pytest.approx(objective(best.weights, s.X, s.y, ridge, cost), rel=1e-9)
    for size in (1e-3, 1e-1, 10.0):
        other = best.weights + size * s.rng.normal(size=best.weights.shape)
        assert objective(other, s.X, s.y, ridge, cost) >= best.value * (1 - 1e-12)


@pytest.mark.parametrize("cost", [1e-8, 1e-4, 1e4, 1e8, 1e12])
@pytest.mark.parametrize("ridge", [1e-12, 1e4])
def test_costs_of_very_different_size_keep_full_accuracy(ridge: float, cost: float):
    """Compared with 60 digits; the normal equations would lose up to 12 of 16 digits."""
    rng = np.random.default_rng(5)
    T, d = 8, 2
    X, y = rng.normal(size=(T, d)), rng.normal(size=T)
    with mpmath.workdps(60):
        H, g = mpmath.zeros(T * d), mpmath.zeros(T * d, 1)
        for t in range(T):
            for i in range(d):
                a = t * d + i
                g[a] = mpmath.mpf(X[t, i]) * mpmath.mpf(y[t])
                H[a, a] += mpmath.mpf(ridge) * (t == 0) + mpmath.mpf(cost) * ((t > 0) + (t < T - 1))
                for j in range(d):
                    H[a, t * d + j] += mpmath.mpf(X[t, i]) * mpmath.mpf(X[t, j])
                if t < T - 1:
                    H[a, a + d] = H[a + d, a] = -mpmath.mpf(cost)
        exact = mpmath.lu_solve(H, g)
        steps = [exact[a + d] - exact[a] for a in range((T - 1) * d)]
        u = np.array([float(value) for value in exact]).reshape(T, d)
        moved = float(sum(step**2 for step in steps))
    best = regret.best_sequence(X, y, ridge, cost)
    np.testing.assert_allclose(best.weights, u, rtol=1e-9, atol=1e-10 * np.abs(u).max())
    assert best.drift == pytest.approx(moved, rel=1e-8)


def test_a_sequence_that_may_not_move_is_the_best_fixed_comparator():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    fixed, still = regret.best_fixed(X, y, 2.0), regret.best_sequence(X, y, 2.0, np.inf)
    np.testing.assert_allclose(still.weights, np.tile(fixed.weights, (50, 1)), rtol=1e-12)
    assert still.value == pytest.approx(fixed.value, rel=1e-12)
    assert still.drift == still.path_length == 0.0


def test_the_best_sequence_of_a_long_stream_minimises_its_cost():
    """The gradient is 0. With 20,000 rows the test would not finish unless time and memory were linear in the rows."""
    rng = np.random.default_rng(0)
    T, d, ridge, cost = 20_000, 6, 1.0, 50.0
    X, y = rng.normal(size=(T, d)), rng.normal(size=T)
    u = regret.best_sequence(X, y, ridge, cost).weights
    slope = X * (np.einsum("td,td->t", X, u) - y)[:, None]
    slope[0] += ridge * u[0]
    steps = cost * np.diff(u, axis=0)
    slope[1:] += steps
    slope[:-1] -= steps
    assert np.abs(slope).max() < 1e-11


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ridge": -1.0}, r"best_sequence: ridge must be in \[0, inf\), got -1.0"),
        ({"drift_cost": 0.0}, r"best_sequence: drift_cost must be in \(0, inf\], got 0.0"),
        ({"ridge_at": 2}, "best_sequence: ridge_at must be one of 0, 1, got 2"),
        ({"y": [1.0, np.nan]}, "best_sequence: y has a value that is not finite in row 1"),
        ({"X": [1.0, 2.0]}, "best_sequence: X must have two dimensions, got 1"),
        ({"y": [1.0]}, "best_sequence: X has 2 rows, y has 1"),
    ],
)
def test_wrong_values_are_refused_with_a_reason(arguments, message):
    given_ = {"X": [[1.0], [2.0]], "y": [1.0, 2.0], "ridge": 1.0, "drift_cost": 1.0} | arguments
    with pytest.raises(ValueError, match=message):
        regret.best_sequence(**given_)


def test_best_fixed_refuses_negative_weights():
    with pytest.raises(ValueError, match=r"best_fixed: sample_weight must be in \[0, inf\), got -1 in row 1"):
        regret.best_fixed([[1.0], [2.0]], [1.0, 2.0], 1.0, sample_weight=[1.0, -1.0])
