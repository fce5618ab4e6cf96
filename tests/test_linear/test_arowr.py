"""AROWR, from its paper's equations."""

import numpy as np
from numpy.linalg import inv

from tests.reference import Array, Case, Outcome, Reference, outcome
from tests.reference.recursion import second_order


def plain(X: Array, y: Array, *, noise: float = 1.0, ridge: float = 1.0) -> Outcome:
    """Vaits & Crammer 2011, Eqs. (3) and (4); Moroshko's thesis, Table 3.1, first column."""
    precision = ridge * np.eye(X.shape[1])
    w = np.zeros(X.shape[1])
    predictions, weights = [], []
    for x, label in zip(X, y, strict=True):
        sigma = inv(precision)
        predictions.append(w @ x)
        w = w - (w @ x - label) / (noise + x @ sigma @ x) * (sigma @ x)
        precision = precision + np.outer(x, x) / noise
        weights.append(w)
    return outcome(X, predictions, weights, inv(precision))


def precise(rows, labels, *, noise, ridge):
    return second_order(rows, labels, start=1 / ridge, noise=noise)


REFERENCE = Reference(plain, [Case(), Case(noise=2.5, ridge=0.7), Case(noise=0.1, ridge=4.0)], precise)
