"""The state survives wind-up, any units, collinear features, extreme values and long streams."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.base import registry
from tests.cases import for_each
from tests.reference.learners import REFERENCES
from tests.streams import EVERY, REFUSING, SECOND_ORDER, Array, drifting, state_of, weights_of, wild

seeds = st.integers(0, 2**32 - 1)
DTYPES = ["float64", "float32"]


def smallest_eigenvalue(S: Array) -> float:
    """The smallest eigenvalue of S with its features scaled to variance 1, so that units do not matter."""
    scale = np.sqrt(np.diag(S))
    return float(np.linalg.eigvalsh(S / np.outer(scale, scale))[0])


def assert_sound(model: Any) -> None:
    """Finite weights; S finite, symmetric to the last bit, and positive definite up to the rounding of U D U'."""
    S = model.covariance_
    assert np.isfinite(weights_of(model)).all()
    assert np.isfinite(S).all()
    np.testing.assert_array_equal(S, S.T)
    assert (np.diag(S) > 0).all()
    assert smallest_eigenvalue(S) > -1e-13
    state = state_of(model)
    assert all(np.isfinite(values).all() for values in state.values())


# Accuracy against the same recursion in 50 digits.

UNITS = np.array([1e-8, 1e8, 1.0, 1e4])
ADDITIVE = ("laser", "kalman")
CASES: dict[str, dict[str, Any]] = {
    "ridge": {"ridge": 1.0},
    "rls": {"forgetting": 0.95, "ridge": 1.0},
    "aar": {"ridge": 1.0},
    "arowr": {"noise": 0.5, "ridge": 1.0},
    "crrls": {"forgetting": 0.95, "period": 17},
    "arcor": {"noise": 0.5, "radius": None, "schedule": [1e-3, 1e-5, 1e-12]},
    "wemm": {"ridge": 1e19},
    "laser": {"ridge": 1.0, "drift_cost": 100.0},
    "kalman": {"noise": 0.5, "drift": 0.01, "ridge": 1.0},
    "dfop": {"forget_rate": 0.05, "prior": 1.0},
    "nlms": {"rate": 0.5, "eps": 1.0},
}


def in_units(seed: int) -> tuple[Array, Array]:
    """Features of size 1e-8 to 1e8 that contribute equally to the label."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(60, 4))
    return Z * UNITS, Z.sum(axis=1) + 0.1 * rng.normal(size=60)


def nearly_collinear(seed: int) -> tuple[Array, Array]:
    """The last feature differs from the first by one part in 1e8."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4))
    X[:, 3] = X[:, 0] + 1e-8 * rng.normal(size=60)
    return X, X.sum(axis=1) + 0.1 * rng.normal(size=60)


@pytest.mark.parametrize("make", [in_units, nearly_collinear])
@pytest.mark.parametrize("name", CASES)
def test_predictions_and_weights_match_50_digits(name, make):
    for seed in range(3):
        X, y = make(seed)
        exact = REFERENCES[name].in_50_digits(X, y, **CASES[name])
        predictions, weights = (np.array([float(v) for v in part]) for part in (exact.predictions, exact.weights))
        model = registry.learners()[name](**CASES[name], intercept=False)
        run = model.run(X, y)
        assert run.resets.tolist() == exact.resets
        loose = 10.0 if name in ADDITIVE else 1.0
        assert np.abs(run.predictions - predictions).max() < loose * 1e-14 * np.abs(predictions).max()
        np.testing.assert_allclose(model.coef_, weights, rtol=loose * 1e-13)
        if exact.covariance is not None:
            covariance = np.array([[float(v) for v in row] for row in exact.covariance])
            before = 0.01 if name in ADDITIVE else 0.0  # S is as accurate as the rounding of the S before the row
            scale = np.sqrt(np.diag(covariance) + before)
            assert np.abs((model.covariance_ - covariance) / np.outer(scale, scale)).max() < loose * 1e-13
            assert_sound(model)


@pytest.mark.parametrize("name", sorted(set(CASES) - {"wemm"}))
def test_float32_predicts_to_six_digits_in_any_units(name):
    for seed in range(2):
        X, y = in_units(seed)
        X = X.astype(np.float32).astype(float)
        exact = REFERENCES[name].in_50_digits(X, y, **CASES[name])
        predictions = np.array([float(v) for v in exact.predictions])
        model = registry.learners()[name](**CASES[name], intercept=False, dtype="float32")
        error = np.abs(model.run(X, y).predictions - predictions).max() / np.abs(predictions).max()
        assert error < (1e-4 if name in ADDITIVE else 2e-6)


@pytest.mark.parametrize(
    "case", [("kalman", {"noise": 0.01, "drift": 1e-6, "ridge": 1e-6}), ("laser", {"ridge": 1e-6, "drift_cost": 1e6})]
)
def test_with_added_drift_the_loss_of_digits_to_a_diffuse_prior_is_bounded(case):
    """With added drift S is stored itself, not factored: it is accurate to rounding times start |x|^2 / noise."""
    name, parameters = case
    X, y = drifting(1, 60, 4)
    exact = REFERENCES[name].in_50_digits(X, y, **parameters)
    predictions = np.array([float(v) for v in exact.predictions])
    model = registry.learners()[name](**parameters, intercept=False)
    assert np.abs(model.run(X, y).predictions - predictions).max() < 1e-6 * np.abs(predictions).max()


# Wind-up.

FORGETFUL = {
    "RLS": lambda **kw: dl.RLS(forgetting=0.5, **kw),
    "DFOP": lambda **kw: dl.DFOP(forget_rate=0.5, prior=10.0, **kw),
    "CRRLS": lambda **kw: dl.CRRLS(forgetting=0.5, period=None, **kw),
    "in a ball": lambda **kw: dl.SecondOrder(time=dl.Divide(0.5), radius=50.0, **kw),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FORGETFUL)
def test_fresh_rows_are_learned_after_a_million_constant_rows_with_forgetting_one_half(name, dtype):
    """Labels are noisy. Rounding errors must not dominate the predictions of constant rows or of the first fresh one."""
    rng = np.random.default_rng(0)
    d, rows = 3, 1_000_000
    model = FORGETFUL[name](dtype=dtype)
    run = model.run(np.tile(rng.normal(size=d), (rows, 1)), 3 + 0.1 * rng.normal(size=rows))
    assert_sound(model)
    assert model.certificate().events["capped"] > 900_000
    assert np.abs(run.errors[10:]).max() < 1.0
    assert np.abs(weights_of(model)).max() < 10.0
    X = rng.normal(size=(200, d))
    u = rng.normal(size=d)
    fresh = model.run(X, X @ u + 1.0)
    assert_sound(model)
    assert np.abs(fresh.predictions).max() < 50.0
    assert np.abs(fresh.errors[20:]).max() < 1e-3
    np.testing.assert_allclose(weights_of(model), np.append(u, 1.0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("forgetting", [0.9, 0.99])
def test_redundant_features_do_no_harm_in_any_unit(unit, forgetting):
    """A duplicate feature, a difference, and indicators that add up to the constant: as accurate as without them."""
    rng = np.random.default_rng(1)
    rows = 20_000
    kinds = np.eye(3)[rng.integers(3, size=rows)]
    X = rng.normal(size=(rows, 3))
    w = np.cumsum(0.01 * rng.normal(size=(rows, 3)), axis=0)
    y = np.sum(X * w, axis=1) + kinds @ [1.0, -1.0, 0.5] + 0.1 * rng.normal(size=rows)
    redundant = np.column_stack([np.ones(rows), kinds, X, X[:, 0], X[:, 1] - X[:, 2]])
    plain = np.column_stack([kinds, X])
    model = dl.RLS(forgetting=forgetting, ridge=unit**2, intercept=False)
    losses = model.run(unit * redundant, y).losses[1000:]
    expected = dl.RLS(forgetting=forgetting, intercept=False).run(plain, y).losses[1000:]
    assert np.mean(losses) < 1.02 * np.mean(expected)
    assert np.abs(unit * model.coef_).max() < 20
    assert_sound(model)


def test_streams_without_wind_up_report_none():
    """For any number of features: the columns that pad a panel must not count."""
    for d in range(1, 12):
        X, y = drifting(d, 3000, d)
        for dtype in DTYPES:
            model = dl.RLS(forgetting=0.97, dtype=dtype)
            model.run(X, y)
            assert model.certificate().events == {}


def test_a_feature_that_returns_after_an_absence_is_learned_at_once():
    X, y = drifting(4, 4000, 3, step=0.0, noise=0.0)
    X[500:3900, 1] = 0.0
    y = X @ [1.0, -2.0, 3.0]
    for dtype in DTYPES:
        model = dl.RLS(forgetting=0.9, dtype=dtype, intercept=False)
        run = model.run(X, y)
        assert np.abs(run.errors[3905:]).max() < 1e-4
        assert_sound(model)


# Soundness on any input.


@settings(max_examples=150)
@given(st.sampled_from(sorted(SECOND_ORDER)), seeds, st.integers(1, 12), st.sampled_from(DTYPES), st.floats(0, 10))
def test_s_stays_sound_after_every_row(name, seed, d, dtype, span):
    X, y = wild(seed, 40, d, span)
    model = SECOND_ORDER[name](dtype=dtype)
    for x, label in zip(X, y, strict=True):
        try:
            model.learn_one(x, label)
        except ValueError:  # x'Sx is too large
            assert name in REFUSING
            return
        assert_sound(model)
        assert np.isfinite(model.predict_one(x))


@settings(max_examples=150)
@given(seeds, st.integers(1, 12), st.floats(-9, 3), st.floats(-12, 3), st.floats(-9, 6), st.sampled_from(DTYPES))
def test_added_drift_keeps_s_positive_definite_at_any_setting(seed, d, log_noise, log_drift, log_ridge, dtype):
    """No repair is needed, even if the prior is 1e20 times what remains after a row."""
    X, y = wild(seed, 60, d, span=8.0)
    noise, drift, ridge = 10.0**log_noise, 10.0**log_drift, 10.0**log_ridge
    for model in (
        dl.Kalman(noise=noise, drift=drift, ridge=ridge, dtype=dtype),
        dl.LASER(ridge=ridge, drift_cost=ridge * (1 + 1 / drift), dtype=dtype),
    ):
        for x, label in zip(X, y, strict=True):
            model.learn_one(x, label)
            assert_sound(model)
        assert "repaired" not in model.certificate().events


@pytest.mark.parametrize("name", sorted(SECOND_ORDER))
def test_eigenvalues_are_positive_on_ordinary_streams(name):
    X, y = drifting(3, 2000, 9)
    model = SECOND_ORDER[name]()
    for piece in np.split(np.arange(2000), 20):
        model.run(X[piece], y[piece])
        assert np.linalg.eigvalsh(model.covariance_)[0] > 0


@for_each("dtype", DTYPES)
@pytest.mark.parametrize("name", sorted(EVERY))
def test_the_state_stays_finite_for_inputs_and_labels_at_the_ends_of_the_range(name, dtype):
    """Squares of inputs overflow in float32, squares of labels in both dtypes."""
    rng = np.random.default_rng(0)
    large, label = (1e150, 1e300) if dtype == "float64" else (1e37, 1e38)
    units = [(large, 1.0), (1.0, label), (large, label), (1 / large, 1.0), (1e-300, 1e-300), (1 / large, label)]
    for x_unit, y_unit in units:
        model = EVERY[name](dtype=dtype)
        X, y = x_unit * rng.normal(size=(40, 3)), y_unit * rng.normal(size=40)
        try:
            run = model.run(np.clip(X, -large, large), np.clip(y, -label, label))
        except dl.DivergenceError:
            assert name.startswith(("LMS", "GD"))
            continue
        except ValueError:  # x'Sx is too large
            assert name in REFUSING
            continue
        assert np.isfinite(run.predictions).all()
        assert np.isfinite(weights_of(model)).all()
        if name in SECOND_ORDER:
            assert_sound(model)
        assert np.isfinite(model.run(rng.normal(size=(5, 3)), rng.normal(size=5)).predictions).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", [lambda **kw: dl.NLMS(eps=0.0, **kw), lambda **kw: dl.LMS(implicit=True, rate=1.0, **kw)])
def test_rows_whose_squares_overflow_are_learned(make, dtype):
    """The step is err x / |x|^2, in which only the square is extreme."""
    for unit in (1e-150, 1e150, 1e200) if dtype == "float64" else (1e-18, 1e19, 1e30):
        model = make(dtype=dtype, intercept=False)
        if unit < 1 and isinstance(model, dl.LMS):
            continue
        x = unit * np.array([1.0, -0.5, 2.0])
        for _ in range(60):
            model.learn_one(x, 3.0)
        assert model.predict_one(x) == pytest.approx(3.0, rel=1e-5)


def test_a_weight_that_would_overflow_is_clipped_and_reported():
    model = dl.Ridge(ridge=1e-9, intercept=False)
    model.run(np.full((3, 1), 1e-3), np.full(3, 1.7e308))
    assert model.certificate().events["saturated"] > 0
    assert np.isfinite(model.coef_).all()
    model.run(np.full((400, 1), 1.0), np.full(400, 2.0))
    assert np.isfinite(model.predict_one([1.0]))


# Long streams.


@pytest.mark.parametrize(
    "make",
    [
        lambda: dl.RLS(forgetting=0.999),
        lambda: dl.RLS(forgetting=0.999, dtype="float32"),
        lambda: dl.Kalman(noise=0.01, drift=1e-5),
        lambda: dl.Kalman(noise=0.01, drift=1e-5, dtype="float32"),
        lambda: dl.Ridge(),
    ],
    ids=["RLS", "RLS, float32", "Kalman", "Kalman, float32", "Ridge"],
)
def test_after_ten_million_rows_the_errors_are_as_small_as_at_first(make):
    model, rng = make(), np.random.default_rng(0)
    X = rng.normal(size=(500_000, 3))
    y = X @ [1.0, -2.0, 0.3] + 0.5 + 0.1 * rng.normal(size=500_000)
    losses = [np.mean(model.run(X, y).losses[1000:]) for _ in range(20)]
    assert max(losses) < 0.0107
    assert max(losses) < 1.001 * min(losses)
    assert_sound(model)
    assert model.n_seen_ == 10_000_000


def far_from_zero(rng: np.random.Generator, rows: int) -> Array:
    return 1e6 + rng.normal(size=(rows, 1))


def nearly_duplicate(rng: np.random.Generator, rows: int) -> Array:
    first = rng.normal(size=rows)
    return np.column_stack([first, first + 1e-6 * rng.normal(size=rows)])


def powers_of_time(_: np.random.Generator, rows: int) -> Array:
    t = np.linspace(0, 1, rows)
    return np.column_stack([t, t**2])


@pytest.mark.parametrize(("make", "forgetting"), [(far_from_zero, 0.9), (nearly_duplicate, 0.95), (powers_of_time, 0.8)])
def test_weakly_excited_directions_are_not_mistaken_for_wind_up(make, forgetting):
    """The stream is long enough to forget the prior, so these directions are learned from the weak excitation alone."""
    rng = np.random.default_rng(0)
    X = np.column_stack([make(rng, 500), np.ones(500)])
    y = rng.normal(size=500)
    exact = np.array(
        [float(one) for one in REFERENCES["rls"].in_50_digits(X, y, forgetting=forgetting, ridge=1.0).predictions]
    )
    model = dl.RLS(forgetting=forgetting, ridge=1.0, intercept=False)
    made = model.run(X, y).predictions
    plain = plain_rls(X, y, forgetting)
    assert np.abs(made - exact).max() < max(np.abs(plain - exact).max(), 1e-9 * np.abs(exact).max())
    assert model.certificate().events == {}


def plain_rls(X: Array, y: Array, forgetting: float) -> Array:
    """The textbook recursion."""
    w, S, predictions = np.zeros(X.shape[1]), np.eye(X.shape[1]), []
    for x, label in zip(X, y, strict=True):
        S = S / forgetting
        k = S @ x
        predictions.append(w @ x)
        w = w + k * (label - w @ x) / (1 + x @ k)
        S = S - np.outer(k, k) / (1 + x @ k)
    return np.array(predictions)


def test_after_wind_up_no_comparator_is_claimed():
    model = dl.RLS(forgetting=0.5)
    model.run(np.ones((500, 2)), np.ones(500))
    certificate = model.certificate()
    assert certificate.comparator is None
    assert certificate.conditions == {"the growth of S was never capped": False}


@for_each("dtype", DTYPES)
@pytest.mark.parametrize("name", registry.regressors())
def test_extreme_sample_weights_leave_the_state_finite(name: str, dtype: str) -> None:
    rng = np.random.default_rng(1)
    X, y, model = rng.uniform(-0.5, 0.5, size=(80, 3)), rng.normal(size=80), registry.regressors()[name](dtype=dtype)
    try:
        run = model.run(X, y, sample_weight=np.choose(np.arange(80) % 3, [1.7e308, 1e-300, 5e-324]))
    except (ValueError, FloatingPointError):  # the learner has a limit and refuses values beyond it
        assert not model.__sklearn_is_fitted__()
        return
    assert np.isfinite(run.predictions).all()
    assert all(np.isfinite(values).all() for values in state_of(model).values())
    assert model.n_seen_ == 80
    pickle.loads(pickle.dumps(model))
