"""Matrices that do not fit in a core's cache: blocks of rows on two threads give the usual results."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import driftline as dl
from tests.streams import SECOND_ORDER, assert_same_state, drifting, loop, state_of

WIDTH, WIDER, ROWS = 900, 1800, 60
CUBIC = {"ARCOR", "forgetting in a ball", "forgetting and resets", "drift and resets"}  # their rows take O(d^3)
SETTINGS = {
    **{name: make for name, make in SECOND_ORDER.items() if name not in CUBIC},
    "WEMM": lambda **kw: dl.WEMM(ridge=4e3, **kw),
    "HInfinity": lambda **kw: dl.HInfinity(ridge=4e3, **kw),
    "ARCOR, free": lambda **kw: dl.ARCOR(noise=200.0, schedule=[0.08, 0.07, 0.06], **kw),
    "CRRLS": lambda **kw: dl.CRRLS(forgetting=0.9, period=21, **kw),
    "drift, every 22": lambda **kw: dl.SecondOrder(time=dl.Add(0.1), shrink=True, reset=dl.Every(22), clip=2.0, **kw),
    "complement, drifting": lambda **kw: dl.SecondOrder(start=1e-4, time=dl.Add(1e-7), noise="complement", **kw),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_run_equals_the_loop(name):
    X, y = drifting(0, ROWS, WIDER if name == "ARCOR, free" else WIDTH, step=0.01)
    at_once, one_by_one = SETTINGS[name](), SETTINGS[name]()
    run = at_once.run(X, y)
    predictions, _ = loop(one_by_one, X, y)
    np.testing.assert_array_equal(run.predictions, predictions)
    assert_same_state(at_once, one_by_one)


@pytest.mark.parametrize("name", ["RLS", "AAR", "WEMM", "ARCOR, free"])
def test_a_run_in_float32_equals_the_loop(name):
    X, y = drifting(1, ROWS, WIDTH + 300, step=0.01)
    at_once, one_by_one = (SETTINGS[name](dtype="float32") for _ in range(2))
    predictions, _ = loop(one_by_one, X, y)
    np.testing.assert_array_equal(at_once.run(X, y).predictions, predictions)


@pytest.mark.parametrize("drift", [0.0, 0.02])
def test_a_run_equals_the_plain_formula(drift):
    """The recursion with a full matrix, row by row: S + drift, or S / forgetting."""
    X, y = drifting(2, 40, WIDTH, step=0.01)
    forgetting, ridge, noise = (1.0, 0.5, 2.0) if drift else (0.98, 0.5, 1.0)
    w, S = np.zeros(WIDTH), np.eye(WIDTH) / ridge
    expected = []
    for x, label in zip(X, y, strict=True):
        S /= forgetting
        S.flat[:: WIDTH + 1] += drift
        k = S @ x
        expected.append(w @ x)
        w = w + k * (label - w @ x) / (noise + x @ k)
        S -= np.outer(k, k / (noise + x @ k))
    model = (
        dl.Kalman(noise=noise, drift=drift, ridge=ridge, intercept=False)
        if drift
        else dl.RLS(forgetting=forgetting, ridge=ridge, intercept=False)
    )
    np.testing.assert_allclose(model.run(X, y).predictions, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(model.covariance_, S, rtol=0, atol=1e-10 * np.abs(S).max())


@pytest.mark.parametrize("name", ["RLS", "Kalman", "WEMM"])
def test_blocks_may_contain_rows_of_every_kind(name):
    """Rows with missing values, of weight 0, and of extreme size, together with snapshots and intervals."""
    X, y = drifting(3, ROWS, WIDTH, step=0.01)
    X[11, 5] = np.nan
    y[30] = np.nan
    X[41] *= 0.5 if name == "WEMM" else 1e8
    weight = np.where(np.arange(ROWS) % 20 == 4, 0.0, 1.0)
    at_once, one_by_one = (SETTINGS[name](missing="skip") for _ in range(2))
    run = at_once.run(X, y, sample_weight=weight, weights_every=5, level=0.9)
    expected, snapshots = [], []
    for t in range(ROWS):
        expected.append(one_by_one.predict_one(X[t]))
        if weight[t]:
            one_by_one.learn_one(X[t], y[t])
        if (t + 1) % 5 == 0:
            snapshots.append(state_of(one_by_one)["weights"])
    np.testing.assert_array_equal(run.predictions, expected)
    np.testing.assert_array_equal(run.weights, snapshots)
    assert run.skipped == 2


def test_a_refused_row_leaves_the_model_unchanged():
    X, y = drifting(4, ROWS, WIDTH, step=0.01)
    model = SETTINGS["RLS"]()
    model.run(X[:20], y[:20])
    before = state_of(model)
    X[50, 7] = np.inf
    with pytest.raises(ValueError, match="row 50"):
        model.run(X, y)
    after = state_of(model)
    for part in before:
        np.testing.assert_array_equal(before[part], after[part])


def test_growth_after_a_reset_among_single_rows_is_capped_as_in_the_loop():
    """Constant inputs with forgetting so strong that S grows a hundredfold per row."""
    rng = np.random.default_rng(0)
    X = np.tile(rng.normal(size=640), (74, 1))
    X[:8], y = rng.normal(size=(8, 640)), rng.normal(size=74)
    at_once, one_by_one = (dl.CRRLS(forgetting=0.01, period=17, intercept=False) for _ in range(2))
    at_once.run(X, y)
    loop(one_by_one, X, y)
    assert_same_state(at_once, one_by_one)


def test_rows_at_the_limit_of_wemm_are_either_learned_or_refused_whole():
    """|x|^2 equals the ridge up to rounding, so rounding decides whether s is 1 or just below it."""
    refused = 0
    for seed in range(12):
        X, y = drifting(seed, 12, 640, step=0.0)
        X /= 100
        X[9] = np.random.default_rng(seed).normal(size=640)
        ridge = float(X[9] @ X[9])
        model = dl.WEMM(ridge=ridge, intercept=False)
        model.run(X[:9], y[:9])
        before = state_of(model)
        try:
            model.run(X[9:], y[9:])
        except ValueError:
            refused += 1
            np.testing.assert_array_equal(state_of(model)["weights"], before["weights"])
        else:
            assert model.n_seen_ == 12
            assert not np.array_equal(state_of(model)["weights"], before["weights"])
        single = dl.WEMM(ridge=ridge, intercept=False)
        try:
            single.learn_one(X[9], 100.0)
        except ValueError:
            assert single.n_seen_ == 0
        else:
            assert np.abs(single.coef_).max() > 0
    assert refused < 12


def test_the_number_of_threads_changes_nothing():
    script = (
        "import sys, numpy as np, driftline as dl\n"
        "from tests.test_linear.test_large import SETTINGS\n"
        "from tests.streams import drifting\n"
        "X, y = drifting(5, 60, 1800, step=0.01)\n"
        "runs = [SETTINGS[name]().run(X, y).predictions for name in ('RLS', 'Kalman', 'WEMM', 'ARCOR, free')]\n"
        "print(np.array(runs).tobytes().hex())\n"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "DRIFTLINE_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    ]
    assert said[0] == said[1]
