"""CRRLS, from its column of the table."""

import math

import numpy as np
from numpy.linalg import inv

from tests.reference import Array, Case, Outcome, Reference, outcome
from tests.reference.recursion import second_order


def plain(X: Array, y: Array, *, forgetting: float = 0.99, period: float | None = 100) -> Outcome:
    """Moroshko's thesis, Table 5.1, middle column, in terms of the inverse of S."""
    identity = np.eye(X.shape[1])
    precision = identity
    w = np.zeros(X.shape[1])
    predictions, weights, resets = [], [], []
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        sigma = inv(precision)
        predictions.append(w @ x)
        w = w + (label - w @ x) * (sigma @ x) / (forgetting + x @ sigma @ x)
        if t % (math.inf if period is None else period) > 0:
            precision = forgetting * precision + np.outer(x, x)
        else:
            precision = identity
            resets.append(t - 1)
        weights.append(w)
    return outcome(X, predictions, weights, inv(precision), resets)


def precise(rows, labels, *, forgetting, period):
    return second_order(rows, labels, divide=forgetting, every=period)


CASES = [
    Case(),
    Case(forgetting=0.9, period=7),
    Case(forgetting=1.0, period=1),
    Case(forgetting=0.95, period=None),
    Case(forgetting=0.95, period=math.inf),
]
REFERENCE = Reference(plain, CASES, precise)


def test_the_reference_resets_at_each_period(stream):
    assert plain(*stream, forgetting=0.9, period=7).resets == [6, 13, 20, 27, 34, 41, 48, 55]
