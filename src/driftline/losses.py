"""Losses for :class:`driftline.GD` and :class:`driftline.EG`.

A loss has ``value(y, prediction)`` and ``gradient(y, prediction)``, its derivative with respect to the prediction.
The ones here run in native code; any other object with the two methods is called from Python, row by row.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, runtime_checkable

from driftline.base.rules import PROBABILITY, Checked, Positive, Rule, choice
from driftline.storage.codec import storable


@runtime_checkable
class Loss(Protocol):
    """The methods that :class:`driftline.GD` and :class:`driftline.EG` need."""

    def value(self, y: float, prediction: float) -> float:
        """The loss of predicting ``prediction`` when the label is ``y``."""

    def gradient(self, y: float, prediction: float) -> float:
        """The derivative of ``value`` with respect to ``prediction``."""


@storable
@dataclass(frozen=True)
class Squared:
    """(prediction - y)^2."""

    def value(self, y: float, prediction: float) -> float:
        """The loss of predicting ``prediction`` when the label is ``y``."""
        return (prediction - y) ** 2

    def gradient(self, y: float, prediction: float) -> float:
        """The derivative of ``value`` with respect to ``prediction``."""
        return 2 * (prediction - y)


@storable
@dataclass(frozen=True)
class Absolute:
    """``|prediction - y|``, with gradient 0 where the two agree."""

    def value(self, y: float, prediction: float) -> float:
        """The loss of predicting ``prediction`` when the label is ``y``."""
        return abs(prediction - y)

    def gradient(self, y: float, prediction: float) -> float:
        """The derivative of ``value`` with respect to ``prediction``."""
        return float(prediction > y) - float(prediction < y)


@storable
@dataclass(frozen=True)
class Huber(Checked):
    """Half the squared error within ``threshold``, linear beyond it."""

    threshold: Positive = 1.0

    def value(self, y: float, prediction: float) -> float:
        """The loss of predicting ``prediction`` when the label is ``y``."""
        error = abs(prediction - y)
        if error <= self.threshold:
            return 0.5 * error**2
        return self.threshold * (error - 0.5 * self.threshold)

    def gradient(self, y: float, prediction: float) -> float:
        """The derivative of ``value`` with respect to ``prediction``."""
        return min(max(prediction - y, -self.threshold), self.threshold)


@storable
@dataclass(frozen=True)
class Pinball(Checked):
    """The loss whose best constant is the quantile at ``level``, with gradient 0 where the two agree."""

    level: Annotated[float, PROBABILITY] = 0.5

    def value(self, y: float, prediction: float) -> float:
        """The loss of predicting ``prediction`` when the label is ``y``."""
        error = y - prediction
        return max(self.level * error, (self.level - 1) * error)

    def gradient(self, y: float, prediction: float) -> float:
        """The derivative of ``value`` with respect to ``prediction``."""
        return (1 - self.level) * float(prediction > y) - self.level * float(prediction < y)


@storable
@dataclass(frozen=True)
class Logistic:
    """log(1 + exp(-y prediction)) for labels -1 and +1."""

    def value(self, y: float, prediction: float) -> float:
        """The loss of predicting ``prediction`` when the label is ``y``."""
        margin = -y * prediction
        return max(margin, 0.0) + math.log1p(math.exp(-abs(margin)))

    def gradient(self, y: float, prediction: float) -> float:
        """The derivative of ``value`` with respect to ``prediction``."""
        margin = y * prediction
        return -y * (math.exp(-margin) if margin > 0 else 1.0) / (1 + math.exp(-abs(margin)))


@storable
@dataclass(frozen=True)
class Hinge:
    """max(0, 1 - y prediction) for labels -1 and +1, with gradient 0 where y prediction is 1."""

    def value(self, y: float, prediction: float) -> float:
        """The loss of predicting ``prediction`` when the label is ``y``."""
        return max(0.0, 1 - y * prediction)

    def gradient(self, y: float, prediction: float) -> float:
        """The derivative of ``value`` with respect to ``prediction``."""
        return -y if y * prediction < 1 else 0.0


@storable
@dataclass(frozen=True)
class Perceptron:
    """max(0, -y prediction) for labels -1 and +1, with gradient -y where the prediction is 0, so that learning can start."""

    def value(self, y: float, prediction: float) -> float:
        """The loss of predicting ``prediction`` when the label is ``y``."""
        return max(0.0, -y * prediction)

    def gradient(self, y: float, prediction: float) -> float:
        """The derivative of ``value`` with respect to ``prediction``."""
        return -y if y * prediction <= 0 else 0.0


BY_NAME: dict[str, type[Squared | Absolute | Huber | Pinball | Logistic | Hinge | Perceptron]] = {
    "squared": Squared,
    "absolute": Absolute,
    "huber": Huber,
    "pinball": Pinball,
    "logistic": Logistic,
    "hinge": Hinge,
    "perceptron": Perceptron,
}


def _has_methods(value: Any) -> bool:
    # Refuses a number even if it has the methods: a parameter converts it to a plain number, which lacks them.
    return isinstance(value, Loss) and not isinstance(value, (str, type, numbers.Real))


LOSS = choice(BY_NAME) | Rule(_has_methods, "an object with value and gradient")


def resolve(value: str | Loss) -> Loss:
    """The loss itself, by name or as given."""
    return BY_NAME[value]() if isinstance(value, str) else value
