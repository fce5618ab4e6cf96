"""Gradient descent, from the lecture that derives it."""

from typing import Any

import numpy as np
from mpmath import fdot, mpf

import driftline as dl
from tests.reference import Array, Case, Outcome, Reference, longest, outcome
from tests.reference.descent import additive, first_order
from tests.reference.losses import LOSSES, find, huber


def plain(X: Array, y: Array, *, rate: float = 0.005, loss: Any = "squared") -> Outcome:
    """Schapire's lecture 18, section 1.3: w_(t+1) = w_t - rate grad L(w_t, x_t, y_t)."""
    loss = find(loss)
    w = np.zeros(X.shape[1])
    predictions, weights = [], []
    for x, label in zip(X, y, strict=True):
        prediction = w @ x
        predictions.append(prediction)
        w = w - rate * float(loss.gradient(label, prediction)) * x
        weights.append(w)
    return outcome(X, predictions, weights)


def precise(rows, labels, *, rate, loss):
    def update(w, x, label):
        return additive(w, x, rate * find(loss).gradient(label, fdot(w, x)))

    return first_order(rows, labels, mpf(0), update)


CASES = [
    *(Case(loss=loss) for loss in LOSSES),
    Case(rate=0.1, loss=dl.losses.Huber(threshold=0.4), plainly={"loss": huber(threshold=0.4)}),
]
REFERENCE = Reference(plain, CASES, precise, accuracy=lambda X: {"rate": 0.1 / longest(X)})
