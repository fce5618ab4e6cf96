"""LMS, NLMS, GD and EG: the learners whose only state is the weights."""

from typing import Any

import numpy as np

from .losses import find
from .outcome import Array, Outcome, outcome


def lms(X: Array, y: Array, *, rate: float, implicit: bool = False) -> Outcome:
    """Widrow-Hoff, after Schapire's lecture 18, section 1.

    Plain: w_(t+1) = w_t - rate (w_t.x_t - y_t) x_t. Implicit: the exact minimiser of
    Motivation 2, Eq. (1), rate (w.x_t - y_t)^2 + |w - w_t|^2 (printed there without the
    square of the norm), found from its normal equations.
    """
    w = np.zeros(X.shape[1])
    predictions, weights = [], []
    for x, label in zip(X, y, strict=True):
        predictions.append(w @ x)
        if implicit:
            hessian = np.eye(len(x)) + rate * np.outer(x, x)
            w = np.linalg.solve(hessian, w + rate * label * x)
        else:
            w = w - rate * (w @ x - label) * x
        weights.append(w)
    return outcome(X, predictions, weights)


def nlms(X: Array, y: Array, *, rate: float, eps: float) -> Outcome:
    """Bitmead & Anderson 1980: LMS whose rate is divided by eps + |x_t|^2."""
    w = np.zeros(X.shape[1])
    predictions, weights = [], []
    for x, label in zip(X, y, strict=True):
        predictions.append(w @ x)
        w = w - rate / (eps + x @ x) * (w @ x - label) * x
        weights.append(w)
    return outcome(X, predictions, weights)


def gd(X: Array, y: Array, *, rate: float, loss: Any = "squared") -> Outcome:
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


def eg(
    X: Array,
    y: Array,
    *,
    rate: float,
    norm: float | None = None,
    loss: Any = "squared",
) -> Outcome:
    """Exponentiated gradient: on the simplex, or EG+- where a norm is given."""
    loss = find(loss)
    if norm is None:
        return _eg_simplex(X, y, rate, loss)
    return _eg_plus_minus(X, y, rate, norm, loss)


def _eg_simplex(X: Array, y: Array, rate: float, loss: Any) -> Outcome:
    """Kivinen & Warmuth 1997, Fig. 2; lecture 18, section 1.3, last formula."""
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


def _eg_plus_minus(X: Array, y: Array, rate: float, norm: float, loss: Any) -> Outcome:
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
