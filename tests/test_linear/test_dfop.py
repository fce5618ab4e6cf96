"""DFOP, from its algorithm."""

import numpy as np

from tests.reference import Array, Case, Outcome, Reference, outcome
from tests.reference.recursion import second_order


def plain(X: Array, y: Array, *, forget_rate: float = 0.01, prior: float = 100.0) -> Outcome:
    """Zhao et al., Algorithm 1, lines 3 and 4; the prediction is made before them."""
    mu = forget_rate
    P = prior * np.eye(X.shape[1])
    w = np.zeros(X.shape[1])
    predictions, weights = [], []
    for x, label in zip(X, y, strict=True):
        predictions.append(w @ x)
        P = (P - mu * P @ np.outer(x, x) @ P / (1 - mu + mu * x @ P @ x)) / (1 - mu)
        w = w + mu * P @ x * (label - w @ x)
        weights.append(w)
    return outcome(X, predictions, weights, P)


def precise(rows, labels, *, forget_rate, prior):
    return second_order(rows, labels, start=prior, divide=1 - forget_rate, noise=1 / forget_rate)


CASES = [Case(), Case(forget_rate=0.08, prior=20.0), Case(forget_rate=0.2, prior=1.0)]
REFERENCE = Reference(plain, CASES, precise)
