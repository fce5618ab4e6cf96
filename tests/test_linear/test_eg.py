"""Exponentiated gradient, from its paper."""

from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import fdot, mpf

import driftline as dl
from tests.reference import Array, Case, Outcome, Precise, Reference, longest, outcome
from tests.reference.descent import first_order
from tests.reference.losses import LOSSES, find, pinball


def plain(X: Array, y: Array, *, rate: float = 0.02, norm: float | None = None, loss: Any = "squared") -> Outcome:
    """On the simplex, or EG+- if a norm is given."""
    return _on_the_simplex(X, y, rate, find(loss)) if norm is None else _plus_minus(X, y, rate, norm, find(loss))


def _on_the_simplex(X: Array, y: Array, rate: float, loss: Any) -> Outcome:
    """Kivinen & Warmuth 1997, Fig. 2; Schapire's lecture 18, section 1.3, last formula."""
    d = X.shape[1]
    w = np.ones(d) / d
    predictions, weights = [], []
    for x, label in zip(X, y, strict=True):
        prediction = w @ x
        predictions.append(prediction)
        w = w * np.exp(-rate * float(loss.gradient(label, prediction)) * x)
        w = w / w.sum()
        weights.append(w)
    return outcome(X, predictions, weights)


def _plus_minus(X: Array, y: Array, rate: float, norm: float, loss: Any) -> Outcome:
    """Kivinen & Warmuth 1997, EG+-: two positive vectors whose sums add up to norm (U)."""
    d = X.shape[1]
    plus = norm * np.ones(d) / (2 * d)
    minus = norm * np.ones(d) / (2 * d)
    predictions, weights = [], []
    for x, label in zip(X, y, strict=True):
        prediction = (plus - minus) @ x
        predictions.append(prediction)
        r = np.exp(-rate * float(loss.gradient(label, prediction)) * norm * x)
        total = (plus * r + minus / r).sum()
        plus = norm * plus * r / total
        minus = norm * minus / r / total
        weights.append(plus - minus)
    return outcome(X, predictions, weights)


def precise(rows, labels, *, rate, norm, loss):
    """EG+- is EG on the simplex over the inputs (U x, -U x)."""

    def update(w, x, label):
        slope = find(loss).gradient(label, fdot(w, x))
        raw = [w_i * mpmath.exp(-rate * slope * x_i) for w_i, x_i in zip(w, x, strict=True)]
        total = mpmath.fsum(raw)
        return [value / total for value in raw]

    d = len(rows[0])
    if norm is None:
        return first_order(rows, labels, mpf(1) / d, update)
    doubled = [[norm * v for v in x] + [-norm * v for v in x] for x in rows]
    both = first_order(doubled, labels, mpf(1) / (2 * d), update)
    return Precise(both.predictions, [norm * (both.weights[i] - both.weights[d + i]) for i in range(d)])


CASES = [
    Case(),
    *(Case(rate=0.05, loss=loss) for loss in LOSSES),
    *(Case(rate=0.01, norm=3.0, loss=loss) for loss in LOSSES),
    Case(rate=0.1, norm=2.0, loss=dl.losses.Pinball(level=0.8), plainly={"loss": pinball(level=0.8)}),
]
REFERENCE = Reference(plain, CASES, precise, accuracy=lambda X: {"rate": 0.1 / longest(X)})


def test_the_reference_starts_uniform_and_stays_on_the_simplex(stream):
    X, y = stream
    result = plain(X, y, rate=0.1)
    assert result.predictions[0] == pytest.approx(X[0].mean())
    np.testing.assert_allclose(result.weights.sum(axis=1), 1.0)
    assert result.weights.min() > 0
