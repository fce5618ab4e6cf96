"""The losses of GD and EG, as functions of the label and the prediction.

They work on floats and on mpmath numbers. At a kink the gradient is 0, which is a subgradient of every loss that has one,
except the perceptron's, whose gradient there is -y.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath

Real = Any  # a float or an mpmath number


@dataclass(frozen=True)
class Loss:
    """A loss and its derivative with respect to the prediction."""

    value: Callable[[Real, Real], Real]
    gradient: Callable[[Real, Real], Real]


def sign(z: Real) -> int:
    """-1, 0 or 1."""
    return int(z > 0) - int(z < 0)


def squared() -> Loss:
    """(f - y)^2, without a factor of one half."""
    return Loss(
        value=lambda y, f: (f - y) ** 2,
        gradient=lambda y, f: 2 * (f - y),
    )


def absolute() -> Loss:
    """|f - y|."""
    return Loss(
        value=lambda y, f: abs(f - y),
        gradient=lambda y, f: sign(f - y),
    )


def huber(threshold: float = 1.0) -> Loss:
    """Huber 1964: z^2 / 2 up to the threshold, linear with slope threshold beyond."""

    def value(y: Real, f: Real) -> Real:
        z = abs(f - y)
        return z**2 / 2 if z <= threshold else threshold * (z - threshold / 2)

    def gradient(y: Real, f: Real) -> Real:
        z = f - y
        return z if abs(z) <= threshold else threshold * sign(z)

    return Loss(value, gradient)


def pinball(level: float = 0.5) -> Loss:
    """Koenker & Bassett 1978: level (y - f) below the label, (1 - level) (f - y) above."""

    def value(y: Real, f: Real) -> Real:
        return level * (y - f) if y >= f else (1 - level) * (f - y)

    def gradient(y: Real, f: Real) -> Real:
        if f == y:
            return 0
        return -level if f < y else 1 - level

    return Loss(value, gradient)


def logistic() -> Loss:
    """log(1 + exp(-y f)) for labels y in {-1, +1}."""
    return Loss(
        value=lambda y, f: mpmath.log(1 + mpmath.exp(-y * f)),
        gradient=lambda y, f: -y / (1 + mpmath.exp(y * f)),
    )


def hinge() -> Loss:
    """max(0, 1 - y f) for labels y in {-1, +1}."""
    return Loss(
        value=lambda y, f: 1 - y * f if y * f < 1 else 0,
        gradient=lambda y, f: -y if y * f < 1 else 0,
    )


def perceptron() -> Loss:
    """Rosenblatt 1958: a mistake, or a prediction of 0, adds y x to the weights."""
    return Loss(
        value=lambda y, f: abs(f) if sign(f) != sign(y) else 0,
        gradient=lambda y, f: -y if sign(f) != sign(y) else 0,
    )


ON_SIGNS = ("logistic", "hinge", "perceptron")  # the losses for labels -1 and +1
LOSSES = {
    "squared": squared(),
    "absolute": absolute(),
    "huber": huber(),
    "pinball": pinball(),
    "logistic": logistic(),
    "hinge": hinge(),
    "perceptron": perceptron(),
}


def find(loss: Any) -> Any:
    """The loss of that name; an object with value and gradient passes through."""
    return LOSSES[loss] if isinstance(loss, str) else loss
