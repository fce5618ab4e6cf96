"""The H-infinity filter, in the form with explicit inverses."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import fdot, mpf

import driftline as dl
from driftline import regret
from tests.reference import Array, Case, Outcome, Precise, Reference, outcome
from tests.reference.recursion import identity


def plain(
    X: Array, y: Array, *, noise: float = 1.0, drift: float = 1e-4, ridge: float = 100.0, robustness: float = 0.1
) -> Outcome:
    """Simon 2006, Eqs. (11.89) to (11.91), for the target z = x.u: theta = robustness / noise.

    K = P (I - theta x x' P + x x' P / r)^-1 x / r, and P <- P (I - theta x x' P + x x' P / r)^-1 + drift I.
    """
    one, theta = np.eye(X.shape[1]), robustness / noise
    P, w = one / ridge + drift * one, np.zeros(X.shape[1])
    predictions, weights = [], []
    for x, label in zip(X, y, strict=True):
        assert np.linalg.eigvalsh(np.linalg.inv(P) - theta * np.outer(x, x))[0] > 0
        predictions.append(w @ x)
        kept = P @ np.linalg.inv(one + (1 / noise - theta) * np.outer(x, x) @ P)
        w = w + kept @ x / noise * (label - w @ x)
        P = kept + drift * one
        weights.append(w)
    return outcome(X, predictions, weights, kept)


def precise(rows, labels, *, noise, drift, ridge, robustness):
    d = len(rows[0])
    S, w, predictions = identity(d, 1 / ridge), [mpf(0)] * d, []
    for x, label in zip(rows, labels, strict=True):
        S = [[S[i][j] + (drift if i == j else 0) for j in range(d)] for i in range(d)]
        k = [fdot(row, x) for row in S]
        f, variance = fdot(w, x), noise + (1 - robustness) * fdot(x, k)
        predictions.append(f)
        w = [w_i + k_i * (label - f) / variance for w_i, k_i in zip(w, k, strict=True)]
        S = [[S[i][j] - (1 - robustness) * k[i] * k[j] / variance for j in range(d)] for i in range(d)]
    return Precise(predictions, w, S, [])


CASES = [Case(), Case(noise=2.5, drift=0.002, ridge=10.0, robustness=0.2), Case(noise=0.3, drift=0.0, robustness=0.6)]
REFERENCE = Reference(plain, CASES, precise)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.floats(0.0, 0.99), st.sampled_from([1e-3, 0.1]))
def test_the_promise_holds_for_all_weights_and_labels(seed: int, d: int, robustness: float, drift: float):
    """Labels against the predictions, and comparators that wander, rest, or are the best for the penalties."""
    rng = np.random.default_rng(seed)
    X, noise, ridge = rng.normal(size=(40, d)), 10 ** rng.uniform(-1, 2), 10 ** rng.uniform(0, 3)
    model = dl.HInfinity(noise=noise, drift=drift, ridge=ridge, robustness=robustness, intercept=False)
    y, made, rows = [], [], []
    for x in X:
        prediction = model.predict_one(x)
        label = -2.0 * prediction + rng.normal()
        try:
            model.learn_one(x, label)
        except dl.RowRefusedError:
            break
        rows, y, made = [*rows, x], [*y, label], [*made, prediction]
    if not rows:
        return
    X, labels, T = np.array(rows), np.array(y), len(rows)
    for u in (
        np.cumsum(rng.normal(size=(T + 1, d)), axis=0) * 10 ** rng.uniform(-3, 0),
        np.zeros((T + 1, d)),
        np.vstack([(best := regret.best_sequence(X, labels, noise * ridge, noise / drift, ridge_at=0)).start, best.weights]),
    ):
        targets = np.einsum("td,td->t", u[1:], X)
        promised = noise * ridge * u[0] @ u[0] + noise / drift * regret.drift(u) + np.sum((labels - targets) ** 2)
        assert robustness * np.sum((targets - made) ** 2) <= promised * (1 + 1e-9) + 1e-12


def test_without_robustness_it_is_kalman():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    ours = dl.HInfinity(noise=0.7, drift=0.01, ridge=2.0, robustness=0.0)
    kalman = dl.Kalman(noise=0.7, drift=0.01, ridge=2.0)
    np.testing.assert_array_equal(ours.run(X, y).predictions, kalman.run(X, y).predictions)
    assert ours.certificate() == kalman.certificate()


def test_with_all_robustness_and_a_fixed_target_it_is_lms():
    """Hassibi, Sayed and Kailath: LMS is the filter of the smallest level, S stays I / ridge."""
    rng = np.random.default_rng(2)
    X, y = rng.uniform(-1, 1, size=(50, 3)), rng.normal(size=50)
    ours = dl.HInfinity(noise=2.0, drift=0.0, ridge=10.0, robustness=1 - 1e-12, intercept=False)
    lms = dl.LMS(rate=1 / 20, intercept=False)
    np.testing.assert_allclose(ours.run(X, y).predictions, lms.run(X, y).predictions, rtol=1e-9, atol=1e-12)


def test_a_row_that_breaks_the_promise_is_refused_and_not_learned():
    model = dl.HInfinity(noise=1.0, drift=0.0, ridge=1.0, robustness=0.5, intercept=False)
    model.learn_one([1.0], 1.0)
    before = model.predict_one([1.0])
    with pytest.raises(ValueError, match=r"HInfinity\.learn_one: the row has robustness \* x'Sx >= noise"):
        model.learn_one([2.0], 1.0)
    with pytest.raises(ValueError, match=r"HInfinity\.run: row 1 has robustness"):
        model.run([[0.1], [9.0]], [1.0, 1.0])
    assert (model.predict_one([1.0]), model.n_seen_) == (before, 1)
    model.learn_one([math.sqrt(3) - 1e-9], 1.0)  # S is 2/3, so that the limit is 3


def test_it_has_no_comparator():
    model = dl.HInfinity(intercept=False)
    model.run([[1.0]], [1.0])
    assert model.certificate().comparator is None
    for learner in (model, dl.OnlineNewton(intercept=False)):
        with pytest.raises(ValueError, match=f"comparator: {type(learner).__name__}"):
            regret.comparator(learner, [[1.0]], [1.0])
