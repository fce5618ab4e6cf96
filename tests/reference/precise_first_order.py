"""The first-order steps, in whatever precision mpmath is set to: see precise.py."""

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
from mpmath import fdot, mpf

from .losses import find
from .outcome import Precise, Vector


def lms(rows: Sequence[Vector], labels: Vector, rate: mpf, implicit: bool = False) -> Precise:
    """Plain, or with the rate that solves the implicit equation."""

    def update(w: Vector, x: Vector, label: mpf) -> Vector:
        step = rate / (1 + rate * fdot(x, x)) if implicit else rate
        return additive(w, x, step * (fdot(w, x) - label))

    return first_order(rows, labels, mpf(0), update)


def nlms(rows: Sequence[Vector], labels: Vector, rate: mpf, eps: mpf) -> Precise:
    """The step is rate / (eps + |x|^2)."""

    def update(w: Vector, x: Vector, label: mpf) -> Vector:
        return additive(w, x, rate * (fdot(w, x) - label) / (eps + fdot(x, x)))

    return first_order(rows, labels, mpf(0), update)


def gd(rows: Sequence[Vector], labels: Vector, rate: mpf, loss: Any = "squared") -> Precise:
    """Additive update by the gradient of the loss."""

    def update(w: Vector, x: Vector, label: mpf) -> Vector:
        return additive(w, x, rate * find(loss).gradient(label, fdot(w, x)))

    return first_order(rows, labels, mpf(0), update)


def eg(
    rows: Sequence[Vector],
    labels: Vector,
    rate: mpf,
    norm: mpf | None = None,
    loss: Any = "squared",
) -> Precise:
    """Multiplicative update; EG+- is EG on the simplex over the inputs (U x, -U x)."""

    def update(w: Vector, x: Vector, label: mpf) -> Vector:
        slope = find(loss).gradient(label, fdot(w, x))
        raw = [w_i * mpmath.exp(-rate * slope * x_i) for w_i, x_i in zip(w, x, strict=True)]
        total = mpmath.fsum(raw)
        return [value / total for value in raw]

    d = len(rows[0])
    if norm is None:
        return first_order(rows, labels, mpf(1) / d, update)
    doubled = [[norm * v for v in x] + [-norm * v for v in x] for x in rows]
    both = first_order(doubled, labels, mpf(1) / (2 * d), update)
    return Precise(
        predictions=both.predictions,
        weights=[norm * (both.weights[i] - both.weights[d + i]) for i in range(d)],
    )


def additive(w: Vector, x: Vector, step: mpf) -> Vector:
    """w - step x."""
    return [w_i - step * x_i for w_i, x_i in zip(w, x, strict=True)]


def first_order(
    rows: Sequence[Vector],
    labels: Vector,
    start: mpf,
    update: Callable[[Vector, Vector, mpf], Vector],
) -> Precise:
    """Predict, then update, from equal start weights."""
    w = [start] * len(rows[0])
    predictions = []
    for x, label in zip(rows, labels, strict=True):
        predictions.append(fdot(w, x))
        w = update(w, x, label)
    return Precise(predictions, w)
