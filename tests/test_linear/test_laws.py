"""Laws that hold on any stream: equivalent ways of learning, equivalent learners, symmetries."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import driftline as dl
from tests.streams import (
    EVERY,
    REFUSING,
    SECOND_ORDER,
    Array,
    assert_same_state,
    drifting,
    loop,
    pieces,
    rotation,
    seeds,
    signs,
    state_of,
    tables,
    weights_of,
    wild,
)

widths = st.integers(1, 35)
names = st.sampled_from(sorted(EVERY))
second_order_names = st.sampled_from(sorted(SECOND_ORDER))
many = settings(max_examples=300)


def of(name: str, table: tuple[Array, Array]) -> tuple[Array, Array]:
    """The table, with labels that the learner takes."""
    X, y = table
    return X, signs(y) if "logistic" in name else y


def close(ours: Any, theirs: Any, tolerance: float = 1e-9) -> None:
    size = max(1.0, float(np.max(np.abs(theirs), initial=0.0)))
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * size)


def assert_equal_learners(left: Any, right: Any, X: Array, y: Array, covariance: float = 1.0) -> None:
    """Equal predictions and weights at every row, and left's covariance is this multiple of right's."""
    ours, theirs = left.run(X, y, weights_every=1), right.run(X, y, weights_every=1)
    close(ours.predictions, theirs.predictions)
    close(ours.weights, theirs.weights)
    assert ours.resets.tolist() == theirs.resets.tolist()
    close(left.covariance_, covariance * right.covariance_)


# Ways of learning.


@many
@given(names, tables(40, 35), st.booleans(), st.sampled_from(["float64", "float32"]))
def test_run_equals_the_loop_to_the_last_bit(name, table, intercept, dtype):
    X, y = of(name, table)
    at_once, one_by_one = (EVERY[name](intercept=intercept, dtype=dtype) for _ in range(2))
    run = at_once.run(X, y, weights_every=1)
    predictions, weights = loop(one_by_one, X, y)
    np.testing.assert_array_equal(run.predictions, predictions)
    np.testing.assert_array_equal(run.weights, weights)
    assert_same_state(at_once, one_by_one)


@many
@given(second_order_names, seeds, widths, st.booleans(), st.sampled_from(["float64", "float32"]))
def test_run_equals_the_loop_on_wild_streams_too(name, seed, d, intercept, dtype):
    """On these, rows are scaled, S is capped or lifted, weights are clipped, and rows are refused."""
    X, y = wild(seed, 40, d, span=8.0)
    at_once, one_by_one = (EVERY[name](intercept=intercept, dtype=dtype) for _ in range(2))
    try:
        run = at_once.run(X, y)
    except ValueError:  # x'Sx is too large
        assert name in REFUSING
        return
    predictions, _ = loop(one_by_one, X, y)
    assert np.isfinite(run.predictions).all()
    np.testing.assert_array_equal(run.predictions, predictions)
    assert_same_state(at_once, one_by_one)


@given(
    second_order_names,
    arrays(np.float64, (12, 3), elements=st.floats(-1e6, 1e6)),
    arrays(np.float64, 12, elements=st.floats(-1e6, 1e6)),
)
def test_run_equals_the_loop_on_rows_that_hypothesis_generates(name, X, y):
    if name in REFUSING:
        X = X / 1e6
    at_once, one_by_one = EVERY[name](), EVERY[name]()
    run = at_once.run(X, y)
    predictions, _ = loop(one_by_one, X, y)
    np.testing.assert_array_equal(run.predictions, predictions)
    assert_same_state(at_once, one_by_one)


@many
@given(names, tables(40, 20), st.lists(st.integers(1, 39), max_size=6), st.sampled_from(["float64", "float32"]))
@example("LASER", drifting(73, 11, 8), [8], "float64")
def test_runs_of_the_parts_equal_one_run(name, table, cuts, dtype):
    X, y = of(name, table)
    whole, parts = EVERY[name](dtype=dtype), EVERY[name](dtype=dtype)
    run = whole.run(X, y)
    found = [parts.run(X[piece], y[piece]) for piece in pieces(y, cuts)]
    np.testing.assert_array_equal(np.concatenate([part.predictions for part in found]), run.predictions)
    resets = [part.resets + piece[0] for part, piece in zip(found, pieces(y, cuts), strict=True)]
    np.testing.assert_array_equal(np.concatenate(resets), run.resets)
    assert_same_state(whole, parts)


@pytest.mark.parametrize("name", sorted(EVERY))
def test_reading_the_state_between_rows_changes_no_bit_however_far_apart_errors_lie(name):
    """The state is read by code for the baseline, and rows are learned by code for this processor."""
    for seed in range(6):
        X, y = of(name, (drifting(seed, 80, 3)[0], 10.0 ** np.random.default_rng(seed).uniform(-8, 3, 80)))
        if "WEMM" in name or "complement" in name:
            X = X / 1e6
        whole, parts = EVERY[name](), EVERY[name]()
        whole.run(X, y)
        for start in range(0, len(y), 5):
            parts.run(X[start : start + 5], y[start : start + 5])
            state_of(parts)
        assert_same_state(whole, parts)


@given(names, tables(20, 20), st.sampled_from(["C", "F", "strided", "float32"]))
def test_the_layout_of_a_table_does_not_matter(name, table, layout):
    X, y = of(name, table)
    X = X.astype(np.float32).astype(float)
    strided = np.zeros((2 * len(X), 2 * X.shape[1]))[::2, ::2]
    strided[:] = X
    shown = {"C": X, "F": np.asfortranarray(X), "strided": strided, "float32": X.astype(np.float32)}[layout]
    plain, other = EVERY[name](), EVERY[name]()
    np.testing.assert_array_equal(plain.run(X, y).predictions, other.run(shown, y).predictions)
    assert_same_state(plain, other)


@given(names, tables(15, 9), st.sampled_from(["float64", "float32"]))
def test_a_row_may_come_as_a_list_a_tuple_or_a_mapping(name, table, dtype):
    X, y = of(name, table)
    forms = [list, tuple, lambda x: {f"x{j}": value for j, value in enumerate(x)}, lambda x: x[::-1].copy()[::-1]]
    plain = EVERY[name](dtype=dtype)
    expected, _ = loop(plain, X, y)
    for form in forms:
        model = EVERY[name](dtype=dtype)
        for x, label, prediction in zip(X, y, expected, strict=True):
            assert model.predict_one(form(x)) == prediction
            model.learn_one(form(x), label)
        assert_same_state(model, plain)


@given(names, tables(30, 20), st.booleans())
def test_predicting_and_reading_attributes_change_nothing(name, table, far):
    X, y = of(name, table)
    silent, asked = EVERY[name](), EVERY[name]()
    silent.run(X, y)
    for x, label in zip(X, y, strict=True):
        asked.predict_one(100 * x if far else x)
        asked.learn_one(x, label)
        asked.predict_one(-x)
        weights_of(asked), asked.certificate(), getattr(asked, "covariance_", None), pickle.dumps(asked)
    assert_same_state(silent, asked)


@given(names, tables(40, 20, least=2), st.integers(0, 38), st.sampled_from(["float64", "float32"]), st.booleans())
def test_a_saved_loaded_and_resumed_model_equals_one_that_never_stopped(
    tmp_path_factory, name, table, cut, dtype, intercept
):
    X, y = of(name, table)
    cut = 1 + cut % (len(y) - 1)
    never, stopped = (EVERY[name](dtype=dtype, intercept=intercept) for _ in range(2))
    run = never.run(X, y)
    stopped.run(X[:cut], y[:cut])
    path = tmp_path_factory.mktemp("models") / "model.driftline"
    stopped.save(path)
    resumed = [dl.load(path), pickle.loads(pickle.dumps(stopped)), copy.deepcopy(stopped)]
    for model in resumed:
        assert_same_state(model, stopped)
        rest = model.run(X[cut:], y[cut:])
        np.testing.assert_array_equal(rest.predictions, run.predictions[cut:])
        np.testing.assert_array_equal(rest.resets + cut, run.resets[run.resets >= cut])
        assert_same_state(model, never)
        assert model.certificate() == never.certificate()


@given(second_order_names, seeds, st.integers(1, 12), st.sampled_from(["float64", "float32"]))
def test_a_model_that_learned_extreme_values_can_be_saved(tmp_path_factory, name, seed, d, dtype):
    X, y = wild(seed, 30, d, span=10.0)
    scale = 1e140 if dtype == "float64" else 1e15
    model = EVERY[name](dtype=dtype)
    try:
        model.run(X * scale, y * scale)
    except ValueError:  # WEMM
        return
    path = tmp_path_factory.mktemp("models") / "model.driftline"
    model.save(path)
    assert_same_state(dl.load(path), model)
    assert np.isfinite(weights_of(model)).all()
    assert np.isfinite(model.covariance_).all()
    model.certificate()


# Learners that are special cases of each other.


@given(tables(), st.floats(0.01, 100))
def test_laser_with_infinite_drift_cost_is_aar(table, ridge):
    X, y = table
    assert_equal_learners(dl.LASER(ridge=ridge, drift_cost=float("inf")), dl.AAR(ridge=ridge), X, y)


@given(seeds, st.integers(1, 12))
def test_laser_tends_to_aar_as_drift_grows_costly(seed, d):
    """The gap closes in proportion to 1 / drift_cost."""
    X, y = drifting(seed, 40, d)
    expected = dl.AAR(ridge=0.7).run(X, y).predictions
    gaps = [np.abs(dl.LASER(ridge=0.7, drift_cost=c).run(X, y).predictions - expected).max() for c in (1e4, 1e6, 1e8)]
    assert gaps[0] > 30 * gaps[1] > 900 * gaps[2]
    assert gaps[2] < 1e-4 * np.abs(expected).max()


@given(seeds, st.integers(1, 12), st.floats(0.1, 3), st.floats(1.01, 100))
def test_kalman_is_laser_without_shrinkage(seed, d, ridge, ratio):
    X, y = drifting(seed, 40, d)
    cost = ridge * ratio
    laser = dl.LASER(ridge=ridge, drift_cost=cost)
    kalman = dl.Kalman(noise=1.0, drift=1 / cost, ridge=1 / (1 / ridge - 1 / cost))
    shrunk, filtered = laser.run(X, y, weights_every=1), kalman.run(X, y, weights_every=1)
    close(filtered.weights, shrunk.weights)
    close(kalman.covariance_, laser.covariance_)
    assert np.all(np.abs(shrunk.predictions[1:]) < np.abs(filtered.predictions[1:]))


@given(tables(), st.floats(0.001, 0.3), st.floats(0.01, 1000))
def test_dfop_is_rls(table, mu, prior):
    X, y = table
    rls = dl.RLS(forgetting=1 - mu, ridge=1 / (mu * prior))
    assert_equal_learners(dl.DFOP(forget_rate=mu, prior=prior), rls, X, y, covariance=1 / mu)


@given(tables(), st.floats(0.5, 1), st.sampled_from([None, float("inf"), 41]))
def test_crrls_that_does_not_reset_is_rls(table, forgetting, period):
    X, y = table
    assert_equal_learners(dl.CRRLS(forgetting=forgetting, period=period), dl.RLS(forgetting=forgetting, ridge=1.0), X, y)


@given(tables(), st.floats(0.01, 100))
def test_arowr_with_unit_noise_is_ridge_and_so_is_rls_that_forgets_nothing(table, ridge):
    X, y = table
    assert_equal_learners(dl.AROWR(noise=1.0, ridge=ridge), dl.Ridge(ridge=ridge), X, y)
    assert_equal_learners(dl.RLS(forgetting=1.0, ridge=ridge), dl.Ridge(ridge=ridge), X, y)


@given(tables(), st.floats(0.1, 10))
def test_kalman_without_drift_and_arcor_without_resets_are_arowr(table, noise):
    X, y = table
    assert_equal_learners(dl.Kalman(noise=noise, drift=0.0, ridge=2.0), dl.AROWR(noise=noise, ridge=2.0), X, y)
    assert_equal_learners(dl.ARCOR(noise=noise, schedule=None), dl.AROWR(noise=noise, ridge=1.0), X, y)
    far = dl.ARCOR(noise=noise, schedule=None, radius=1e9)
    assert_equal_learners(far, dl.AROWR(noise=noise, ridge=1.0), X, y)
    assert_equal_learners(dl.AROWR(noise=noise, ridge=2.0), dl.Ridge(ridge=2.0 * noise), X, y, covariance=noise)


@given(seeds, st.integers(1, 9), st.floats(0.5, 1), st.floats(0.01, 10), st.booleans())
def test_rls_is_the_weighted_batch_solution_at_every_row(seed, d, forgetting, ridge, function):
    X, y = drifting(seed, 25, d)
    factors = np.random.default_rng(seed).uniform(forgetting, 1.0, size=25) if function else np.full(25, forgetting)
    model = dl.RLS(forgetting=(lambda t: factors[t - 1]) if function else forgetting, ridge=ridge, intercept=False)
    run = model.run(X, y, weights_every=1)
    for t in range(1, 26):
        discount = np.array([np.prod(factors[i:t]) for i in range(t + 1)])
        root = np.sqrt(discount[1:])[:, None]
        design = np.vstack([root * X[:t], np.sqrt(discount[0] * ridge) * np.eye(d)])
        target = np.append(root[:, 0] * y[:t], np.zeros(d))
        close(run.weights[t - 1], np.linalg.lstsq(design, target, rcond=None)[0], 1e-8)


@given(tables(), st.sampled_from(["float64", "float32"]), st.booleans())
def test_second_order_reproduces_every_named_learner_to_the_last_bit(table, dtype, intercept):
    X, y = table
    free = dl.SecondOrder
    pairs = [
        (dl.Ridge(ridge=0.7), free(start=1 / 0.7)),
        (dl.RLS(forgetting=0.9, ridge=0.7), free(start=1 / 0.7, time=dl.Divide(0.9))),
        (dl.RLS(forgetting=0.9, keep_prior=True), free(time=dl.Divide(0.9, keep_prior=True))),
        (dl.RLS(forgetting=[0.9, 0.8]), free(time=dl.Divide([0.9, 0.8]))),
        (dl.AAR(ridge=0.7, clip=2.0), free(start=1 / 0.7, shrink=True, clip=2.0)),
        (dl.AROWR(noise=2.5, ridge=0.7), free(start=1 / 0.7, noise=2.5)),
        (dl.CRRLS(forgetting=0.9, period=7), free(time=dl.Divide(0.9), reset=dl.Every(7))),
        (dl.ARCOR(noise=2.5, radius=1.0, schedule=1.7), free(noise=2.5, radius=1.0, reset=dl.Below(1.7))),
        (dl.WEMM(ridge=400.0), free(start=1 / 400.0, noise="complement")),
        (dl.LASER(ridge=0.7, drift_cost=4.0), free(start=1 / 0.7 - 1 / 4.0, time=dl.Add(1 / 4.0), shrink=True)),
        (dl.Kalman(noise=2.5, drift=0.1, ridge=0.7), free(start=1 / 0.7, time=dl.Add(0.1), noise=2.5)),
        (dl.DFOP(forget_rate=0.08, prior=20.0), free(start=20.0, time=dl.Divide(1 - 0.08), noise=1 / 0.08)),
    ]
    for named, same in pairs:
        for model in (named, same):
            model.set_params(dtype=dtype, intercept=intercept)
        ours, theirs = named.run(X, y), same.run(X, y)
        np.testing.assert_array_equal(ours.predictions, theirs.predictions)
        np.testing.assert_array_equal(ours.resets, theirs.resets)
        assert_same_state(named, same)


# Symmetries.

# EG depends on the axes, so it is not invariant to rotation.
turning = sorted(name for name in EVERY if not name.startswith("EG"))


@given(st.sampled_from(turning), seeds, st.integers(2, 12))
def test_rotated_inputs_give_the_same_predictions(name, seed, d):
    """S starts as a multiple of I, so no direction is special."""
    X, y = of(name, drifting(seed, 40, d))
    Q = rotation(seed, d)
    plain, turned = EVERY[name](intercept=False), EVERY[name](intercept=False)
    ours, theirs = turned.run(X @ Q, y, weights_every=1), plain.run(X, y, weights_every=1)
    close(ours.predictions, theirs.predictions, 1e-8)
    close(ours.weights @ Q.T, theirs.weights, 1e-8)
    assert ours.resets.tolist() == theirs.resets.tolist()


def test_eg_is_not_invariant_to_rotation():
    X, y = drifting(1, 40, 3)
    ours = dl.EG(rate=0.05, norm=3.0, intercept=False).run(X @ rotation(1, 3), y).predictions
    assert np.abs(ours - dl.EG(rate=0.05, norm=3.0, intercept=False).run(X, y).predictions).max() > 0.01


@given(names, tables(40, 20), seeds)
def test_the_order_of_the_features_does_not_matter(name, table, seed):
    X, y = of(name, table)
    order = np.random.default_rng(seed).permutation(X.shape[1])
    plain, mixed = EVERY[name](), EVERY[name]()
    close(mixed.run(X[:, order], y).predictions, plain.run(X, y).predictions, 1e-8)
    close(mixed.coef_, plain.coef_[order], 1e-8)


linear_in_labels = {
    "LMS": lambda c: dl.LMS(rate=0.01),
    "implicit LMS": lambda c: dl.LMS(rate=0.3, implicit=True),
    "NLMS": lambda c: dl.NLMS(),
    "GD": lambda c: dl.GD(rate=0.005),
    "GD, Huber": lambda c: dl.GD(rate=0.005, loss=dl.losses.Huber(threshold=c)),
    "ARCOR": lambda c: dl.ARCOR(noise=2.5, radius=0.5 * c, schedule=1.7),
    "AAR, clipped": lambda c: dl.AAR(clip=c),
    **{
        name: lambda c, name=name: EVERY[name]()
        for name in ("Ridge", "RLS", "AROWR", "CRRLS", "WEMM", "LASER", "Kalman", "DFOP")
    },
}


@given(st.sampled_from(sorted(linear_in_labels)), tables(), st.integers(-60, 60), st.booleans())
def test_labels_in_other_units_give_predictions_in_those_units(name, table, power, negative):
    """To the last bit, if the units differ by a power of two."""
    X, y = table
    c = 2.0**power
    plain, scaled = linear_in_labels[name](1.0), linear_in_labels[name](c)
    expected = plain.run(X, y).predictions * c
    found = scaled.run(X, -c * y if negative else c * y).predictions
    if name == "ARCOR":  # its projection squares the radius and iterates
        close(found / c, (-expected if negative else expected) / c, 1e-12)
    else:
        np.testing.assert_array_equal(found, -expected if negative else expected)


inputs_in_other_units = {
    "Ridge": lambda c: dl.Ridge(ridge=0.5 * c**2, intercept=False),
    "RLS": lambda c: dl.RLS(forgetting=0.9, ridge=0.5 * c**2, intercept=False),
    "AAR": lambda c: dl.AAR(ridge=0.5 * c**2, intercept=False),
    "AROWR": lambda c: dl.AROWR(noise=2.5, ridge=0.5 * c**2, intercept=False),
    "WEMM": lambda c: dl.WEMM(ridge=512 * c**2, intercept=False),
    "LASER": lambda c: dl.LASER(ridge=0.5 * c**2, drift_cost=4 * c**2, intercept=False),
    "Kalman": lambda c: dl.Kalman(noise=2.5, drift=0.125 / c**2, ridge=0.5 * c**2, intercept=False),
    "DFOP": lambda c: dl.DFOP(forget_rate=0.125, prior=16 / c**2, intercept=False),
    "LMS": lambda c: dl.LMS(rate=0.01 / c**2, intercept=False),
    "NLMS": lambda c: dl.NLMS(eps=0.125 * c**2, intercept=False),
}


@given(st.sampled_from(sorted(inputs_in_other_units)), tables(), st.integers(-12, 12))
def test_inputs_in_other_units_give_the_same_predictions(name, table, power):
    """To the last bit, if the units differ by a power of two and the prior is converted too."""
    X, y = table
    c = 2.0**power
    plain, scaled = inputs_in_other_units[name](1.0), inputs_in_other_units[name](c)
    np.testing.assert_array_equal(scaled.run(c * X, y).predictions, plain.run(X, y).predictions)
