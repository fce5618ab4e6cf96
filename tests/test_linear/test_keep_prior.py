"""Forgetting that keeps the prior: S stays near or below its start, whatever the rows contain."""

from __future__ import annotations

import numpy as np
import pytest

import driftline as dl
from tests.cases import for_each
from tests.streams import Array, drifting, loop, with_ones
from tests.test_linear.test_rls import kept_ridges


def ideal(X: Array, y: Array, forgetting: float, ridge: float) -> Array:
    """Predictions of S^-1 <- forgetting S^-1 + (1 - forgetting) ridge I before each row, by explicit solutions."""
    d = X.shape[1]
    A, b, predictions = ridge * np.eye(d), np.zeros(d), []
    for x, label in zip(X, y, strict=True):
        predictions.append(np.linalg.solve(A, b) @ x)
        A = forgetting * A + (1 - forgetting) * ridge * np.eye(d) + np.outer(x, x)
        b = forgetting * b + label * x
    return np.array(predictions)


def calendar(rows: int = 4000) -> tuple[Array, Array]:
    """Hourly counts: calendar flags that stay constant for days or months, and slowly changing weather."""
    rng = np.random.default_rng(3)
    hour = np.arange(rows)
    day, wave = hour // 24, np.sin(2 * np.pi * hour / 24)
    weather = np.cumsum(rng.normal(size=(rows, 4)), axis=0) / 30
    X = np.column_stack(
        [1 + day // 720, day // 1460, 1 + day // 30 % 12, hour % 24, day % 31 == 0, day % 7, day % 7 < 5, weather]
    ).astype(float)
    return X, np.maximum(0, 150 + 120 * wave + 20 * weather[:, 0] + 30 * rng.normal(size=rows))


@pytest.mark.parametrize("forgetting", [0.3, 0.9, 0.999])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_s_never_exceeds_its_start_by_more_than_a_factor(forgetting, dtype):
    X = np.zeros((3000, 3))
    X[:, 0], X[::700, 1] = 1.0, 1e3
    model = dl.RLS(forgetting=forgetting, ridge=0.5, keep_prior=True, dtype=dtype)
    for start in range(0, 3000, 37):
        model.partial_fit(X[start : start + 37], X[start : start + 37, 0])
        eigenvalues = np.linalg.eigvalsh(model.covariance_)
        assert eigenvalues[0] > 0
        assert eigenvalues[-1] <= 2.0 / 0.79 * (1 + 1e-6)
    assert model.certificate().events == {}
    assert (
        dl.RLS(forgetting=forgetting, ridge=0.5).fit(X, X[:, 0]).covariance_.max() > 2.0 / 0.79
    )  # without keep_prior it would exceed it


@pytest.mark.parametrize("d", [2, 13, 40])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_run_equals_the_loop_bit_for_bit_and_saving_between_any_two_rows_changes_nothing(tmp_path, d, dtype):
    X, y = drifting(d, rows=60, d=d)
    at_once, by_row, by_file = (dl.RLS(forgetting=0.9, keep_prior=True, dtype=dtype) for _ in range(3))
    predictions, _ = loop(by_row, X, y)
    np.testing.assert_array_equal(at_once.run(X, y).predictions, predictions)
    for x, label in zip(X, y, strict=True):
        by_file.learn_one(x, label)
        by_file.save(tmp_path / "model")
        by_file = dl.load(tmp_path / "model")
    for other in (by_row, by_file):
        np.testing.assert_array_equal(other.coef_, at_once.coef_)
        np.testing.assert_array_equal(other.covariance_, at_once.covariance_)
        assert other.certificate() == at_once.certificate()


@pytest.mark.parametrize(("forgetting", "noise"), [(0.9, 1.0), ([0.8, 1.0, 0.4, 0.95], 2.5)])
def test_the_certificates_comparator_is_the_least_discounted_loss_with_its_ridge(forgetting, noise):
    """noise * value = min_u sum of discounts (y - u.x)^2 + noise r_t |u|^2, after every row."""
    X, y = drifting(1, rows=50)
    factors = [forgetting if isinstance(forgetting, float) else forgetting[min(t, 3)] for t in range(50)]
    ridges = kept_ridges(factors, 0.7)
    time = dl.Divide(forgetting, keep_prior=True)
    model = dl.SecondOrder(start=1 / 0.7, noise=noise, time=time, intercept=False)
    for t in range(50):
        model.learn_one(X[t], y[t])
        weight = np.array([np.prod(factors[i + 1 : t + 1]) for i in range(t + 1)])
        rows, labels, penalty = X[: t + 1], y[: t + 1], noise * ridges[t]
        u = np.linalg.solve(rows.T * weight @ rows + penalty * np.eye(4), rows.T * weight @ labels)
        best = weight @ (labels - rows @ u) ** 2 + penalty * u @ u
        assert model.certificate().comparator == pytest.approx(best, rel=1e-10)


def test_a_late_feature_equals_one_that_was_zero_until_then():
    """Its prior is the same as that of the others, at any point of the restoring cycle."""
    X, y = drifting(2, rows=80, d=5)
    for late in range(20, 40):
        Z = X.copy()
        Z[:late, 3:] = 0.0
        whole, grown = dl.RLS(forgetting=0.9, keep_prior=True), dl.RLS(forgetting=0.9, keep_prior=True)
        whole.run(Z, y)
        for t in range(80):
            grown.learn_one({f"x{j}": Z[t, j] for j in range(5 if t >= late else 3)}, y[t])
        np.testing.assert_allclose(grown.coef_, whole.coef_, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(grown.covariance_, whole.covariance_, rtol=1e-10, atol=1e-12)


def test_a_matrix_beyond_the_cache_is_learned_like_a_small_one():
    X, y = drifting(6, rows=30, d=800)
    X /= 30
    at_once, by_row = dl.RLS(forgetting=0.95, keep_prior=True), dl.RLS(forgetting=0.95, keep_prior=True)
    np.testing.assert_array_equal(at_once.run(X, y).predictions, loop(by_row, X, y)[0])


def test_a_trained_model_can_change_its_ridge_but_not_keep_prior():
    X, y = drifting(7, rows=40)
    model = dl.RLS(forgetting=0.9, ridge=1.0, keep_prior=True).fit(X, y)
    with pytest.raises(ValueError, match="keep_prior"):
        model.set_params(keep_prior=False)
    model.set_params(ridge=50.0).partial_fit(X[:1], y[:1])
    assert np.linalg.eigvalsh(model.covariance_)[-1] <= 1 / 50


@for_each("d", [3, 12])
@pytest.mark.parametrize("ridge", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("forgetting", [0.5, 0.9, 0.98, 0.999])
def test_errors_are_close_to_those_of_restoring_the_prior_before_each_row(forgetting, ridge, d):
    """Within 5 %. Restoring it before each row takes O(d^3)."""
    X, y = drifting(8, rows=2000, d=d, step=0.2)
    exact = np.mean((y - ideal(with_ones(X), y, forgetting, ridge)) ** 2)
    ours = np.mean(dl.RLS(forgetting=forgetting, ridge=ridge, keep_prior=True).run(X, y).losses)
    assert ours == pytest.approx(exact, rel=0.05)


def test_below_a_factor_of_0_79_the_prior_is_restored_before_each_row():
    """Predictions then equal those of `ideal`."""
    X, y = drifting(9, rows=200, d=5, step=0.2)
    ours = dl.RLS(forgetting=0.6, ridge=0.3, keep_prior=True).run(X, y).predictions
    np.testing.assert_allclose(ours, ideal(with_ones(X), y, 0.6, 0.3), rtol=1e-9, atol=1e-9)


def test_with_fewer_rows_of_memory_than_features_only_keep_prior_prevents_divergence():
    X, y = calendar()
    without, kept = (dl.RLS(forgetting=0.9, keep_prior=keep).run(X, y) for keep in (False, True))
    assert np.abs(without.predictions).max() > 1e3 * y.max()
    assert np.abs(kept.predictions).max() < 2 * y.max()
    assert np.mean(kept.losses) < np.var(y)
