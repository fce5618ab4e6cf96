"""The Online Newton Step, from its paper."""

import numpy as np
import pytest
from mpmath import fdot, mpf

import driftline as dl
from tests.reference import Array, Case, Outcome, Precise, Reference, outcome
from tests.reference.recursion import identity
from tests.reference.recursion import project as project_precisely
from tests.test_linear.test_arcor import project


def plain(X: Array, y: Array, *, concavity: float = 0.1, ridge: float = 100.0, radius: float | None = None) -> Outcome:
    """Hazan, Agarwal and Kale 2007, Fig. 3, with explicit inverses; concavity is gamma, ridge epsilon."""
    d = X.shape[1]
    A, w = ridge * np.eye(d), np.zeros(d)
    predictions, weights = [], []
    for x, label in zip(X, y, strict=True):
        predictions.append(w @ x)
        g = 2 * (w @ x - label) * x
        A = A + np.outer(g, g)
        w = project(w - np.linalg.inv(A) @ g / concavity, np.linalg.inv(A), radius)
        weights.append(w)
    return outcome(X, predictions, weights, np.linalg.inv(A))


def precise(rows, labels, *, concavity, ridge, radius):
    d = len(rows[0])
    S, w, predictions = identity(d, 1 / ridge), [mpf(0)] * d, []
    for x, label in zip(rows, labels, strict=True):
        f = fdot(w, x)
        predictions.append(f)
        g = [2 * (f - label) * value for value in x]
        k = [fdot(row, g) for row in S]
        s = fdot(g, k)
        S = [[S[i][j] - k[i] * k[j] / (1 + s) for j in range(d)] for i in range(d)]
        w = [w_i - fdot(row, g) / concavity for w_i, row in zip(w, S, strict=True)]
        if radius is not None:
            w = project_precisely(w, S, radius)
    return Precise(predictions, w, S, [])


CASES = [Case(), Case(concavity=0.3, ridge=5.0), Case(concavity=0.1, ridge=2.0, radius=0.8)]
REFERENCE = Reference(plain, CASES, precise)


def test_a_perfect_prediction_changes_nothing():
    model = dl.OnlineNewton(intercept=False)
    model.learn_one([1.0], 1.0)
    state = model.__getstate__()["core"]
    model.learn_one([0.5], model.predict_one([0.5]))
    for name in ("weights", "matrix", "diagonal"):
        np.testing.assert_array_equal(model.__getstate__()["core"][name], state[name])


def test_the_regret_is_within_the_bound_of_its_paper():
    """Theorem 2: at most 5 (1/alpha + G D) n log T for exp-concave losses, with gamma = min(1/(4 G D), alpha) / 2."""
    rng = np.random.default_rng(1)
    for d, T in ((1, 300), (3, 1000), (5, 2000)):
        X = rng.normal(size=(T, d))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        y = np.sign(rng.normal(size=T))
        G, D, alpha = 2 * 2.0, 2.0, 1 / 8  # |e| is at most 2 within the unit ball
        gamma = min(1 / (4 * G * D), alpha) / 2
        run = dl.OnlineNewton(concavity=gamma, ridge=1 / (gamma * D) ** 2, radius=1.0, intercept=False).run(X, y)
        u = np.linalg.lstsq(X, y, rcond=None)[0]
        assert np.linalg.norm(u) <= 1
        assert run.losses.sum() - np.sum((y - X @ u) ** 2) <= 5 * (1 / alpha + G * D) * d * np.log(T)


@pytest.mark.parametrize("weight", [0.5, 3.0])
def test_a_weight_multiplies_the_gradient_and_the_information(weight):
    """As a row repeated at the same error: A grows by weight g g', and w moves by weight g."""
    model = dl.OnlineNewton(concavity=0.2, ridge=2.0, intercept=False)
    model.learn_one([1.5], 2.0, sample_weight=weight)
    g = 2 * -2.0 * 1.5
    A = 2.0 + weight * g * g
    assert model.covariance_[0, 0] == pytest.approx(1 / A)
    assert model.coef_[0] == pytest.approx(-weight * g / (0.2 * A))


def test_rows_whose_noise_is_beyond_the_range_of_float32_are_counted():
    """Errors of 10^30 ask for a noise of 10^-61, and for an S whose products with rows would be 0 in float32."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 3)), 1e30 * rng.normal(size=50)
    for dtype, events in (("float64", {}), ("float32", {"saturated": 50})):
        model = dl.OnlineNewton(concavity=0.5, ridge=1.0, intercept=False, dtype=dtype)
        model.run(X, y)
        assert model.certificate().events == events
