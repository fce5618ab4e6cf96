"""NLMS, from its paper."""

import numpy as np
from mpmath import fdot, mpf

from tests.reference import Array, Case, Outcome, Reference, outcome
from tests.reference.descent import additive, first_order


def plain(X: Array, y: Array, *, rate: float = 0.5, eps: float = 1.0) -> Outcome:
    """Bitmead & Anderson 1980: LMS whose rate is divided by eps + |x_t|^2."""
    w = np.zeros(X.shape[1])
    predictions, weights = [], []
    for x, label in zip(X, y, strict=True):
        predictions.append(w @ x)
        w = w - rate / (eps + x @ x) * (w @ x - label) * x
        weights.append(w)
    return outcome(X, predictions, weights)


def precise(rows, labels, *, rate, eps):
    def update(w, x, label):
        return additive(w, x, rate * (fdot(w, x) - label) / (eps + fdot(x, x)))

    return first_order(rows, labels, mpf(0), update)


REFERENCE = Reference(plain, [Case(), Case(rate=1.5, eps=0.0), Case(rate=0.5, eps=0.1)], precise)
