"""CRRLS and ARCOR: the learners that reset Sigma, by the clock or by its eigenvalues."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.linalg import eigh, eigvalsh, inv

from .outcome import Array, Outcome, outcome

Schedule = float | Sequence[float] | Callable[[int], float] | None


def crrls(X: Array, y: Array, *, forgetting: float, period: float) -> Outcome:
    """Thesis, Table 5.1, middle column, in terms of the inverse of Sigma."""
    identity = np.eye(X.shape[1])
    precision = identity
    w = np.zeros(X.shape[1])
    predictions, weights, resets = [], [], []
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        sigma = inv(precision)
        predictions.append(w @ x)
        w = w + (label - w @ x) * (sigma @ x) / (forgetting + x @ sigma @ x)
        if t % period > 0:
            precision = forgetting * precision + np.outer(x, x)
        else:
            precision = identity
            resets.append(t - 1)
        weights.append(w)
    return outcome(X, predictions, weights, inv(precision), resets)


def arcor(X: Array, y: Array, *, noise: float, radius: float | None, schedule: Schedule) -> Outcome:
    """Vaits & Crammer 2011, Fig. 1: noise is r, radius R_B, schedule the Lambda_i."""
    identity = np.eye(X.shape[1])
    precision = identity
    w: Array = np.zeros(X.shape[1])
    i = 1
    predictions, weights, resets = [], [], []
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        sigma = inv(precision)
        predictions.append(w @ x)
        precision = precision + np.outer(x, x) / noise
        w = w + (label - x @ w) * (sigma @ x) / (noise + x @ sigma @ x)
        if eigvalsh(inv(precision))[0] < threshold(schedule, i):
            precision = identity
            i += 1
            resets.append(t)
        w = project(w, inv(precision), math.inf if radius is None else radius)
        weights.append(w)
    return outcome(X, predictions, weights, inv(precision), resets)


def threshold(schedule: Schedule, i: int) -> float:
    """Lambda_i, i = 1, 2, ...: 1 / (i^(q-1) + 1) for a number q (Corollary 2).

    None never resets; a sequence repeats its last value; a function is called with i.
    """
    if schedule is None:
        return 0.0
    if callable(schedule):
        return schedule(i)
    if not isinstance(schedule, int | float):
        return schedule[min(i, len(schedule)) - 1]
    return 1.0 / (i ** (schedule - 1) + 1)


def project(w: Array, sigma: Array, radius: float) -> Array:
    """Vaits & Crammer 2011, Eq. (5): the point of the ball nearest to w in the norm of sigma^-1.

    It is (I + a sigma)^-1 w; a by the paper's binary search in [0, (|w|/R - 1)/lambda_min],
    here with 120 halvings in extended precision.
    """
    if math.hypot(*w) <= radius:
        return w
    eigenvalues, vectors = eigh(sigma)
    spectrum, u = eigenvalues.astype(np.longdouble), (vectors.T @ w).astype(np.longdouble)
    low, high = np.longdouble(0), max(np.sqrt(u @ u) / radius - 1, np.longdouble(0)) / spectrum[0]
    for _ in range(120):
        a = (low + high) / 2
        if np.sum((u / (1 + a * spectrum)) ** 2) > np.longdouble(radius) ** 2:
            low = a
        else:
            high = a
    return np.asarray(vectors @ (u / (1 + high * spectrum)).astype(float))
