"""LASER, from its figure."""

import numpy as np
from numpy.linalg import inv

from tests.reference import Array, Case, Outcome, Reference, outcome
from tests.reference.recursion import second_order


def plain(X: Array, y: Array, *, ridge: float = 1.0, drift_cost: float = 1000.0, clip: float | None = None) -> Outcome:
    """Moroshko's thesis, Fig. 5.1: the D/e form, ridge is b and drift_cost is c."""
    identity = np.eye(X.shape[1])
    D: Array = ridge * drift_cost / (drift_cost - ridge) * identity
    e = np.zeros(X.shape[1])
    predictions, weights = [], []
    for x, label in zip(X, y, strict=True):
        faded = inv(identity + D / drift_cost) @ e
        D = inv(inv(D) + identity / drift_cost) + np.outer(x, x)
        prediction = x @ inv(D) @ faded
        predictions.append(prediction if clip is None else min(max(prediction, -clip), clip))
        e = faded + label * x
        weights.append(inv(D) @ e)
    return outcome(X, predictions, weights, inv(D))


def precise(rows, labels, *, ridge, drift_cost, clip):
    return second_order(rows, labels, start=1 / ridge - 1 / drift_cost, add=1 / drift_cost, shrink=True, clip=clip)


CASES = [Case(), Case(ridge=0.7, drift_cost=4.0), Case(ridge=2.0, drift_cost=1000.0, clip=0.5)]
REFERENCE = Reference(plain, CASES, precise)
