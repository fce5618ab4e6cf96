"""ARCOR, from its paper's figure, and its projection onto the ball."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.linalg import eigh, eigvalsh, inv
from scipy.optimize import minimize

import driftline as dl
from tests.reference import Array, Case, Outcome, Reference, at, outcome
from tests.reference.recursion import is_smaller, second_order
from tests.streams import drifting

Schedule = float | Sequence[float] | Callable[[int], float] | None


def plain(X: Array, y: Array, *, noise: float = 1.0, radius: float | None = None, schedule: Schedule = 2.0) -> Outcome:
    """Vaits & Crammer 2011, Fig. 1: noise is r, radius R_B, schedule the Lambda_i."""
    identity = np.eye(X.shape[1])
    precision = identity
    w: Array = np.zeros(X.shape[1])
    predictions, weights, resets = [], [], []
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        sigma = inv(precision)
        predictions.append(w @ x)
        precision = precision + np.outer(x, x) / noise
        w = w + (label - x @ w) * (sigma @ x) / (noise + x @ sigma @ x)
        if eigvalsh(inv(precision))[0] < threshold(schedule, len(resets) + 1):
            precision = identity
            resets.append(t)
        w = project(w, inv(precision), radius)
        weights.append(w)
    return outcome(X, predictions, weights, inv(precision), resets)


def threshold(schedule: Schedule, i: int) -> float:
    """Lambda_i, i = 1, 2, ...: 1 / (i^(q-1) + 1) for a number q (Corollary 2); None never resets."""
    if schedule is None:
        return 0.0
    return 1.0 / (i ** (schedule - 1) + 1) if isinstance(schedule, int | float) else at(schedule, i)


def project(w: Array, sigma: Array, radius: float | None) -> Array:
    """Vaits & Crammer 2011, Eq. (5): the point of the ball nearest to w in the norm of sigma^-1.

    It is (I + a sigma)^-1 w; a by the paper's binary search in [0, (|w|/R - 1)/lambda_min], here with up to 120
    halvings in extended precision.
    """
    if radius is None or math.hypot(*w) <= radius:
        return w
    eigenvalues, vectors = eigh(sigma)
    spectrum, u = eigenvalues.astype(np.longdouble), (vectors.T @ w).astype(np.longdouble)
    low, high = np.longdouble(0), max(np.sqrt(u @ u) / radius - 1, np.longdouble(0)) / spectrum[0]
    for _ in range(120):
        a = (low + high) / 2
        if a in (low, high):
            break
        if np.sum((u / (1 + a * spectrum)) ** 2) > np.longdouble(radius) ** 2:
            low = a
        else:
            high = a
    return np.asarray(vectors @ (u / (1 + high * spectrum)).astype(float))


def precise(rows, labels, *, noise, radius, schedule):
    return second_order(rows, labels, noise=noise, below=schedule, radius=radius)


CASES = [
    Case(),
    Case(noise=2.5, schedule=None),
    Case(noise=2.5, schedule=1.0),
    Case(noise=0.6, radius=np.inf, schedule=1.7),
    Case(noise=2.5, radius=0.7, schedule=1.5),
    Case(noise=20.0, radius=0.1, schedule=None),
    Case(noise=2.5, radius=100.0, schedule=[0.5, 0.2, 0.1]),
    Case(noise=2.5, radius=1.5, schedule=lambda i: 2.0**-i),
]
REFERENCE = Reference(plain, CASES, precise)


def test_the_cases_reset_and_project():
    X, y = drifting(seed=400, rows=40, d=4)
    assert dl.ARCOR(noise=2.5, radius=0.7, schedule=1.5, intercept=False).run(X, y).resets.size > 3
    model = dl.ARCOR(noise=20.0, radius=0.1, schedule=None, intercept=False)
    model.run(X, y)
    assert model.certificate().events["projections"] > 20


def test_the_reference_resets(stream):
    assert len(plain(*stream, noise=2.5, radius=100.0, schedule=1.0).resets) > 5
    assert len(plain(*stream, noise=0.6, radius=100.0, schedule=1.7).resets) > 5


def test_the_projection_meets_the_kkt_conditions():
    """Eq. (5): sigma^-1 (v - w) + a v = 0 with a > 0 and |v| = radius, or v = w inside."""
    rng = np.random.default_rng(2)
    for scale in (1.0, 1e-3, 1e3):
        root = rng.normal(size=(5, 5)) * scale
        sigma = root @ root.T + 1e-3 * scale**2 * np.eye(5)
        w = rng.normal(size=5) * 4
        assert project(w, sigma, 100.0) is w
        v = project(w, sigma, 1.5)
        assert np.linalg.norm(v) == pytest.approx(1.5, rel=1e-13)
        pull = np.linalg.solve(sigma, w - v)
        a = pull @ v / (v @ v)
        assert a > 0
        np.testing.assert_allclose(v + a * sigma @ v, w, rtol=1e-9)


def test_the_projection_is_the_nearest_point_of_the_ball():
    sigma = np.array([[2.0, 0.5], [0.5, 0.3]])
    w = np.array([3.0, -1.0])
    metric = np.linalg.inv(sigma)
    found = minimize(
        lambda angle: (p := np.array([np.cos(angle[0]), np.sin(angle[0])]) - w) @ metric @ p,
        x0=[0.0],
        tol=1e-12,
    )
    point = [np.cos(found.x[0]), np.sin(found.x[0])]
    np.testing.assert_allclose(project(w, sigma, 1.0), point, atol=1e-5)


def test_the_reference_keeps_the_weights_in_the_ball_and_resets_at_the_same_rows(stream):
    free = plain(*stream, noise=2.5, radius=np.inf, schedule=1.5)
    held = plain(*stream, noise=2.5, radius=1.0, schedule=1.5)
    sizes = np.linalg.norm(held.weights, axis=1)
    assert sizes.max() <= 1.0 + 1e-13
    assert np.sum(sizes > 1.0 - 1e-13) > 10
    assert held.resets == free.resets


@pytest.mark.parametrize("schedule", [None, 1.5, lambda i: 1 - 1e-9])
def test_the_reference_projects_with_the_covariance_kept_after_the_test(schedule, stream):
    X, y = stream
    result = plain(X, y, noise=2.5, radius=1.0, schedule=schedule)
    precision, w = np.eye(4), np.zeros(4)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        sigma = np.linalg.inv(precision)
        w = w + (label - w @ x) * (sigma @ x) / (2.5 + x @ sigma @ x)
        precision = np.eye(4) if t in result.resets else precision + np.outer(x, x) / 2.5
        w = project(w, np.linalg.inv(precision), 1.0)
        np.testing.assert_allclose(result.weights[t], w, rtol=1e-9, atol=1e-9)


def test_the_pivots_give_the_same_decision_as_the_smallest_eigenvalue():
    rng = np.random.default_rng(3)
    for _ in range(50):
        root = rng.normal(size=(4, 4))
        S = root @ root.T
        bound = float(np.linalg.eigvalsh(S)[0])
        assert is_smaller(S.tolist(), bound * 1.001)
        assert not is_smaller(S.tolist(), bound * 0.999)
    assert not is_smaller([[1.0, 0.0], [0.0, 2.0]], 1.0)
    assert is_smaller([[1.0, 0.5], [0.5, 2.0]], 1.0)
