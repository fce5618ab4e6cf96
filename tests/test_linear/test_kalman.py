"""The Kalman filter of a random walk, as textbooks write it."""

import numpy as np

from tests.reference import Array, Case, Outcome, Reference, outcome
from tests.reference.recursion import second_order


def plain(X: Array, y: Array, *, noise: float = 1.0, drift: float = 0.001, ridge: float = 1.0) -> Outcome:
    """The filter of u_t = u_(t-1) + N(0, drift I), y_t = u_t.x_t + N(0, noise).

    Kalman 1960, with the covariance in Joseph's form; u_0 has covariance I / ridge, and time passes before row 1.
    """
    identity = np.eye(X.shape[1])
    P = identity / ridge
    w = np.zeros(X.shape[1])
    predictions, weights = [], []
    for x, label in zip(X, y, strict=True):
        P = P + drift * identity
        predictions.append(w @ x)
        gain = P @ x / (x @ P @ x + noise)
        w = w + gain * (label - w @ x)
        rest = identity - np.outer(gain, x)
        P = rest @ P @ rest.T + noise * np.outer(gain, gain)
        weights.append(w)
    return outcome(X, predictions, weights, P)


def precise(rows, labels, *, noise, drift, ridge):
    return second_order(rows, labels, start=1 / ridge, add=drift, noise=noise)


CASES = [Case(), Case(noise=2.5, drift=0.1, ridge=0.7), Case(noise=0.3, drift=1e-4, ridge=2.0)]
REFERENCE = Reference(plain, CASES, precise)
