"""Values at the ends of the range: learned exactly, or clipped and reported; the state can always be saved and loaded."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import driftline as dl
from driftline.base import registry
from tests.cases import for_each
from tests.conftest import VARIANTS
from tests.reference.learners import REFERENCES
from tests.streams import SECOND_ORDER, Array, assert_same_state

DTYPES = ["float64", "float32"]
LARGEST = {"float64": 300.0, "float32": 37.0}  # powers of ten
EXACT = {
    "ridge": (dl.Ridge, {"ridge": 1e-6}),
    "rls": (dl.RLS, {"forgetting": 0.9, "ridge": 1.0}),
    "aar": (dl.AAR, {"ridge": 1.0}),
    "arowr": (dl.AROWR, {"noise": 0.5, "ridge": 1.0}),
    "dfop": (dl.DFOP, {"forget_rate": 0.05, "prior": 1.0}),
    "kalman": (dl.Kalman, {"noise": 1.0, "drift": 0.01, "ridge": 1e-6}),
    "laser": (dl.LASER, {"ridge": 1e-6, "drift_cost": 10.0}),
}
seeds = st.integers(0, 2**32 - 1)


def spread_out(seed: int, rows: int, d: int, dtype: str) -> tuple[Array, Array]:
    """Finite features and labels of any size: all of one size, single extreme rows or values, or each of its own size."""
    rng = np.random.default_rng(seed)
    most = LARGEST[dtype]

    def values(shape: tuple[int, ...]) -> Array:
        powers = [
            np.full(shape, rng.uniform(-most, most)),
            np.where(rng.random(shape) < 0.05, rng.uniform(-most, most, shape), 0.0),
            np.broadcast_to(rng.uniform(-most, most, shape[:1] + (1,) * (len(shape) - 1)), shape),
            rng.uniform(-most, most, shape),
        ][rng.integers(4)]
        return np.asarray(rng.standard_normal(shape) * 10.0**powers)

    return values((rows, d)), values((rows,))


def exact_predictions(name: str, X: Array, y: Array, **parameters: float) -> list[Any]:
    """The recursion in the number of digits that S - k k'/(rho + s) needs for rows of this size."""
    return REFERENCES[name].in_digits(2500, X, y, **parameters).predictions


def relative_error(ours: Array, exact: list[Any], y: Array) -> float:
    """The largest error relative to the largest label or prediction."""
    with mp.workdps(2500):
        size = max(max(abs(mpf(float(label))) for label in y), max(abs(value) for value in exact))
        return float(max(abs(mpf(float(a)) - b) for a, b in zip(ours, exact, strict=True)) / size)


def as_type(values: Array, dtype: str) -> Array:
    return values.astype(dtype).astype(np.float64)


# Exact, or reported.


def test_rows_of_size_1e141_are_learned_like_small_ones():
    x, y = np.array([1.0, 2.0, -1.0, 3.0, 1.0, -2.0, 1.0, 4.0]), 10.0 * np.arange(1.0, 9.0)
    model = dl.Ridge(ridge=1e-6, intercept=False)
    run = model.run(1e141 * x[:, None], y)
    least_squares = [x[t] * (x[:t] @ y[:t]) / (x[:t] @ x[:t]) for t in range(1, 8)]
    np.testing.assert_allclose(run.predictions[1:], least_squares, rtol=1e-12)
    assert model.certificate().events == {}


@settings(max_examples=60)
@given(st.sampled_from(sorted(EXACT)), seeds, st.integers(1, 3), st.sampled_from(DTYPES), st.booleans())
def test_predictions_are_exact_or_the_certificate_claims_nothing(name, seed, d, dtype, single):
    """All rows, or a single one, are scaled by 1e-300 to 1e300."""
    rng = np.random.default_rng(seed)
    cls, parameters = EXACT[name]
    X, y = rng.standard_normal((10, d)), as_type(rng.standard_normal(10), dtype)
    X[rng.integers(10) if single else slice(None)] *= 10 ** rng.uniform(-LARGEST[dtype], LARGEST[dtype])
    X = as_type(np.clip(X, -1e38, 1e38) if dtype == "float32" else X, dtype)
    model = cls(dtype=dtype, intercept=False, **parameters)
    run = model.run(X, y)
    certificate = model.certificate()
    error = relative_error(run.predictions, exact_predictions(name, X, y, **parameters), y)
    accurate = error < (1e-8 if dtype == "float64" else 5e-3)
    assert accurate or (certificate.comparator is None and certificate.events)


@pytest.mark.parametrize(("dtype", "size"), [("float64", 1e148), ("float32", 1e17)])
@pytest.mark.parametrize("name", ["ridge", "rls", "aar", "arowr", "dfop"])
def test_large_rows_are_exact_and_larger_ones_are_counted(name, dtype, size):
    cls, parameters = EXACT[name]
    X, y = np.random.default_rng(5).standard_normal((12, 2)), np.arange(12.0)
    model = cls(dtype=dtype, intercept=False, **parameters)
    run = model.run(as_type(size * X, dtype), y)
    exact = exact_predictions(name, as_type(size * X, dtype), y, **parameters)
    assert relative_error(run.predictions, exact, y) < (1e-12 if dtype == "float64" else 1e-5)
    assert model.certificate().events == {}
    assert model.certificate().comparator is not None
    model = cls(dtype=dtype, intercept=False, **parameters)
    model.run(1e4 * size * X, y)
    assert model.certificate().events["saturated"] > 0
    assert model.certificate().comparator is None


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_that_outweighs_all_before_it_leaves_no_rounding_of_the_old_weights(dtype):
    small, large = (1e-3, 1e20) if dtype == "float64" else (1e-3, 1e9)
    X = as_type(np.array([[small], [large], [large], [large]]), dtype)
    y = np.array([1.0, 1.0, 2.0, 3.0])
    model = dl.Ridge(ridge=1e-9, intercept=False, dtype=dtype)
    run = model.run(X, y)
    exact = [float(value) for value in exact_predictions("ridge", X, y, ridge=1e-9)]
    np.testing.assert_allclose(run.predictions[2:], exact[2:], rtol=1e-13 if dtype == "float64" else 1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_tiny_labels_of_large_rows_are_learned(dtype):
    """(y - w.x) / (rho + s) underflows, but its product with S x does not."""
    size, label = (1e120, 1e-100) if dtype == "float64" else (1e14, 1e-15)
    X, y = as_type(size * np.array([[1.0], [2.0], [-1.0]]), dtype), label * np.array([1.0, 3.0, 2.0])
    model = dl.Ridge(intercept=False, dtype=dtype)
    run = model.run(X, y)
    np.testing.assert_allclose(
        run.predictions[1:], label * np.array([2.0, -7 / 5]), rtol=1e-12 if dtype == "float64" else 1e-5
    )


@pytest.mark.parametrize("weight", [1e-200, 1e200])
def test_a_sample_weight_too_extreme_for_the_noise_is_counted(weight):
    model = dl.AROWR(noise=1e-120 if weight > 1 else 1.0, intercept=False)
    model.run([[1.0], [2.0]], [1.0, 2.0], sample_weight=[1.0, weight])
    assert model.certificate().events == {"saturated": 1}
    assert model.certificate().comparator is None


@pytest.mark.parametrize("cls", [dl.Kalman, dl.LASER])
def test_a_diffuse_prior_is_accurate_or_reported(cls):
    """In float32 the rounding of a prior of 1e6 is as large as the noise."""
    rng = np.random.default_rng(0)
    X = as_type(rng.standard_normal((200, 5)), "float32")
    y = as_type(X @ np.arange(1.0, 6.0) + 0.1 * rng.standard_normal(200), "float32")
    events = {}
    for dtype in DTYPES:
        model = cls(ridge=1e-6, dtype=dtype)
        model.run(X, y)
        events[dtype] = model.certificate().events
    assert events["float64"] == {}
    assert events["float32"]["saturated"] <= 12  # until S has come down
    assert model.certificate().comparator is None
    modest = cls(ridge=1.0, dtype="float32")
    modest.run(X, y)
    assert modest.certificate().events == {}


def test_intervals_of_high_levels_follow_bursts_of_noise():
    """Ten bursts of twenty rows among 2,000 have ten times the noise."""
    covered = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, noise = rng.standard_normal((2000, 3)), rng.standard_normal(2000)
        for begin in rng.integers(0, 2000, 10):
            noise[begin : begin + 20] *= 10
        y = X @ [1.0, 2.0, 3.0] + noise
        run = dl.Ridge().run(X, y, level=0.99)
        covered.append(np.mean((run.lower <= y) & (y <= run.upper)))
    assert np.mean(covered) == pytest.approx(0.99, abs=0.005)


# A state that can be saved, loaded and continued.


@pytest.mark.parametrize("row", [20, 200])
@pytest.mark.parametrize(("dtype", "value"), [("float64", 1e100), ("float64", -1e300), ("float32", 1e20), ("float32", 1e38)])
def test_one_huge_value_does_not_ruin_auto(tmp_path, dtype, value, row):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.1 * rng.standard_normal(3000)
    X[row, 1] = value
    model = dl.Auto(dtype=dtype)
    for piece in np.split(np.arange(3000), 10):
        errors = model.run(X[piece], y[piece]).errors
        model.save(tmp_path / "model")
        assert_same_state(dl.load(tmp_path / "model"), model)
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match="row 1"):
            model.run([X[0], [1.0, np.nan, 1.0]], [1.0, 1.0])
        assert pickle.dumps(model) == before
    assert np.sqrt(np.mean(errors**2)) < 0.2


@for_each("seed", range(60))
def test_d_stays_finite_under_strong_forgetting(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    model = dl.RLS(forgetting=1e-6)
    for x in rng.standard_normal((40, d)) * 10 ** rng.uniform(107, 257, (40, d)):
        model.learn_one(x, 1.0)
        assert_same_state(pickle.loads(pickle.dumps(model)), model)
        assert np.isfinite(model.covariance_).all()


def test_d_stays_finite_with_nearly_zero_features():
    model = dl.RLS(forgetting=0.05, ridge=1e-100, intercept=False)
    model.learn_one([7e-304, 1.5e-13, 1.6e94, 8e-249], 1.0)
    assert np.isfinite(model.covariance_).all()
    assert_same_state(pickle.loads(pickle.dumps(model)), model)


@settings(max_examples=100)
@given(seeds, st.integers(1, 4), st.sampled_from([1e-6, 0.05, 0.5]), st.sampled_from([1e-100, 1.0]))
def test_covariance_is_finite_whatever_the_rows_are(seed, d, forgetting, ridge):
    X, y = spread_out(seed, 60, d, "float64")
    X *= 10.0 ** np.random.default_rng(seed).choice([0, -20])  # denormal numbers too
    model, huge = dl.RLS(forgetting=forgetting, ridge=ridge), False
    for x, label in zip(X, y, strict=True):
        huge = huge or abs(label - model.predict_one(x)) > 1e154  # its square exceeds the range
        model.learn_one(x, label)
        assert np.isfinite(model.covariance_).all()
        lower, upper = model.predict_interval(x)
        assert lower <= upper
        assert huge or np.isfinite([lower, upper]).all() or model.n_seen_ < 20


def every_learner() -> dict[str, Any]:
    made = {name: cls for name, cls in registry.regressors().items() if name not in {"pipeline"}}
    return {**made, **{name: make for name, make in VARIANTS.items() if "function" not in name and "its_own" not in name}}


def result_or_error(act: Any, *arguments: Any) -> Any:
    """What a method returns, or the message of its error."""
    try:
        return act(*arguments)
    except (ValueError, dl.DivergenceError) as refusal:
        return str(refusal)


@pytest.mark.parametrize("name", sorted(every_learner()))
@settings(max_examples=6)
@given(seeds, st.integers(1, 4), st.sampled_from(DTYPES))
def test_after_wild_rows_the_state_loads_and_resumes(name, seed, d, dtype):
    X, y = spread_out(seed, 70, d, dtype)
    models = [every_learner()[name]() for _ in range(2)]
    for model in models:
        if "dtype" in model.get_params(deep=False):
            model.set_params(dtype=dtype)
    model, twin = models
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        said = result_or_error(model.predict_one, x)
        assert said == result_or_error(twin.predict_one, x)
        assert isinstance(said, str) or np.isfinite(said)
        assert result_or_error(model.learn_one, x, label) == result_or_error(twin.learn_one, x, label)
        if t % 5 == 0:
            twin = pickle.loads(pickle.dumps(twin))


@pytest.mark.parametrize("name", sorted(every_learner()))
def test_an_error_that_overflows_raises_no_warning(name):
    model = every_learner()[name]()
    for x, label in [(1.0, 1.0), (1.0, 2.0), *[(1.0, 1.7e308)] * 5, *[(1e3, -1.7e308)] * 2, (-1e3, -1.7e308)]:
        result_or_error(model.learn_one, [x, 2.0], np.float64(label))
    for label in (1.7e308, -1.7e308):
        result_or_error(lambda label: model.tell(model.ask([1e3, 2.0]), label), np.float64(label))
    assert np.isfinite(model.predict_one([1.0, 2.0]))


@pytest.mark.parametrize("name", sorted(SECOND_ORDER))
@settings(max_examples=10)
@given(seeds, st.integers(1, 4), st.sampled_from(DTYPES))
def test_after_wild_rows_the_state_of_a_fleet_loads_and_resumes(name, seed, d, dtype):
    X, y = spread_out(seed, 60, d, dtype)
    keys = np.arange(60) % 3
    whole, parts = (dl.Fleet(SECOND_ORDER[name](dtype=dtype)) for _ in range(2))
    try:
        predictions = whole.run(keys, X, y).predictions
    except ValueError:  # x'Sx is too large
        assert "WEMM" in name or "HInfinity" in name or "complement" in name
        return
    for piece in np.split(np.arange(60), 6):
        np.testing.assert_array_equal(parts.run(keys[piece], X[piece], y[piece]).predictions, predictions[piece])
        parts = pickle.loads(pickle.dumps(parts))


@settings(max_examples=60)
@given(st.sampled_from(sorted(SECOND_ORDER)), seeds, st.integers(1, 4), st.sampled_from(DTYPES))
def test_after_wild_rows_of_several_labels_the_state_loads_and_resumes(name, seed, d, dtype):
    X, y = spread_out(seed, 40, d, dtype)
    labels = np.column_stack([y, np.clip(y[::-1], -1e30, 1e30)])
    model, twin = (SECOND_ORDER[name](dtype=dtype) for _ in range(2))
    for x, label in zip(X, labels, strict=True):
        assert result_or_error(model.learn_one, x, label) == result_or_error(twin.learn_one, x, label)
        np.testing.assert_array_equal(model.predict_one(x), twin.predict_one(x))
        twin = pickle.loads(pickle.dumps(twin))
