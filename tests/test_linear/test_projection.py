"""The projection onto the ball meets the conditions of its optimum to the last digits, for any weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from tests.streams import Array, drifting, wild

seeds = st.integers(0, 2**32 - 1)
EPS = np.finfo(float).eps


def candidate(model: Any, x: Array, y: float, divide: float = 1.0, noise: float = 1.0) -> Array:
    """The weights after the row, before the projection, by the plain formula."""
    S = model.covariance_ / divide
    k = S @ x
    return np.asarray(model.coef_ + k * (y - model.coef_ @ x) / (noise + x @ k))


def kkt_residual(w: Array, v: Array, S: Array) -> tuple[float, float]:
    """The multiplier a of (I + a S) v = w, by least squares, and the residual of the equation."""
    pull = S @ v
    a = float((w - v) @ pull / (pull @ pull))
    return a, float(np.linalg.norm(v + a * pull - w) / np.linalg.norm(w))


@given(seeds, st.integers(1, 20), st.floats(-3, 1), st.floats(-2, 2), st.sampled_from([1.0, 0.9]))
def test_a_projected_vector_meets_the_conditions_of_the_optimum(seed, d, log_radius, log_noise, forgetting):
    """(I + a S) v = w with a > 0 and |v| = radius if |w| > radius, and v = w otherwise."""
    X, y = drifting(seed, 40, d)
    radius, noise = 10.0**log_radius, 10.0**log_noise
    model = dl.SecondOrder(time=dl.Divide(forgetting), noise=noise, radius=radius, intercept=False)
    model.learn_one(np.zeros(d), 0.0)
    projections = 0
    for x, label in zip(X, y, strict=True):
        w = candidate(model, x, label, forgetting, noise)
        model.learn_one(x, label)
        v, size = model.coef_, np.linalg.norm(w)
        assert np.linalg.norm(v) <= radius * (1 + 4 * EPS)
        if size > radius * (1 + 1e-9):
            projections += 1
            assert abs(np.linalg.norm(v) - radius) <= 4 * EPS * radius
            a, residual = kkt_residual(w, v, model.covariance_)
            assert a > 0
            assert residual < 1e-11
        elif size < radius * (1 - 1e-9):
            np.testing.assert_allclose(v, w, rtol=1e-9, atol=1e-11 * radius)
    assert model.certificate().events.get("projections", 0) >= projections


@given(seeds, st.integers(2, 8))
def test_no_point_of_the_ball_is_nearer(seed, d):
    """In the metric of S^-1, tested on many points near the projection and across the whole ball."""
    rng = np.random.default_rng(seed)
    X, y = drifting(seed, 20, d)
    model = dl.ARCOR(noise=0.5, radius=0.3, schedule=None, intercept=False)
    model.run(X[:-1], y[:-1])
    w = candidate(model, X[-1], y[-1], noise=0.5)
    model.learn_one(X[-1], y[-1])
    inverse = np.linalg.inv(model.covariance_)
    distance = lambda points: np.einsum("ij,jk,ik->i", points - w, inverse, points - w)  # noqa: E731
    found = distance(model.coef_[None, :])[0]
    around = model.coef_ + rng.normal(size=(300, d)) * 10 ** rng.uniform(-6, 0, size=(300, 1))
    around *= np.minimum(1, 0.3 / np.linalg.norm(around, axis=1))[:, None]
    assert distance(around).min() >= found * (1 - 1e-9)


def test_the_projection_uses_the_covariance_kept_after_the_test():
    """After a reset S is I, and the projection only shortens the weights."""
    X, y = drifting(3, 60, 4)
    model = dl.ARCOR(noise=0.5, radius=0.8, schedule=1.5, intercept=False)
    model.learn_one(np.zeros(4), 0.0)
    shortened = 0
    for x, label in zip(X, y, strict=True):
        w = candidate(model, x, label, noise=0.5)
        if model.run(x[None, :], [label]).resets.size and np.linalg.norm(w) > 0.8:
            shortened += 1
            np.testing.assert_allclose(model.coef_, 0.8 * w / np.linalg.norm(w), rtol=1e-12)
    assert shortened > 5


def test_the_intercept_is_in_the_ball_too():
    model = dl.ARCOR(radius=1.0, schedule=None)
    model.run(np.ones((20, 2)), np.full(20, 50.0))
    assert np.hypot(np.linalg.norm(model.coef_), model.intercept_) == pytest.approx(1.0, rel=4 * EPS)


@given(seeds, st.integers(1, 9), st.floats(-8, 8), st.floats(-8, 8), st.sampled_from(["float64", "float32"]))
def test_weights_of_any_size_end_in_a_ball_of_any_size(seed, d, log_radius, log_labels, dtype):
    X, y = wild(seed, 30, d, span=3.0)
    radius, eps = 10.0**log_radius, np.finfo(dtype).eps
    for time in (None, dl.Divide(0.8), dl.Add(0.01)):
        model = dl.SecondOrder(time=time, radius=radius, dtype=dtype, intercept=False)
        run = model.run(X, y * 10.0**log_labels, weights_every=1)
        sizes = np.linalg.norm(run.weights, axis=1)
        assert sizes.max() <= radius * (1 + 8 * eps)
        assert np.isfinite(run.predictions).all()


def test_labels_at_the_end_of_the_range_are_projected_too():
    """The squared norm of the candidate overflows; its direction does not."""
    rng = np.random.default_rng(0)
    for d in (1, 4):
        X = rng.normal(size=(20, d))
        small, large = (dl.SecondOrder(radius=1.0, intercept=False) for _ in range(2))
        ours = large.run(X, np.full(20, 1e300), weights_every=1).weights
        theirs = small.run(X, np.full(20, 1e100), weights_every=1).weights
        np.testing.assert_allclose(np.linalg.norm(ours, axis=1), 1.0, rtol=8 * EPS)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    held = dl.SecondOrder(radius=1e300, intercept=False)
    held.run(X, np.full(20, 1e200))
    free = dl.SecondOrder(intercept=False)
    free.run(X, np.full(20, 1e200))
    np.testing.assert_array_equal(held.coef_, free.coef_)


def test_an_ill_conditioned_covariance_still_projects_to_the_last_digits():
    """Eigenvalues of S range from 1e-12 to 1; multipliers from 1e-3 to 1e15 are found."""
    rng = np.random.default_rng(1)
    Q, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    X = np.vstack([np.diag([1e6, 1e4, 1e2, 1.0, 1e-2]) @ Q.T] * 2)
    for radius in (1e-9, 1e-3, 1.0):
        model = dl.SecondOrder(radius=radius, intercept=False)
        for x in X:
            model.learn_one(x, 1.0)
        for x in rng.normal(size=(20, 5)):
            w = candidate(model, x, 3.0)
            model.learn_one(x, 3.0)
            if np.linalg.norm(w) > radius * 1.01:
                a, residual = kkt_residual(w, model.coef_, model.covariance_)
                assert a > 0
                assert residual < 1e-7
                assert np.linalg.norm(model.coef_) == pytest.approx(radius, rel=4 * EPS)
