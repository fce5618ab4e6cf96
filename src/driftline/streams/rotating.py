"""The rotating and switching targets of the ARCOR paper and the LASER thesis."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from driftline.inputs import Array
from driftline.params import number

PAIRS = 5


@dataclass
class Rotating:
    """A unit vector that rotates in the plane of the first two inputs.

    Five pairs of inputs come from a Gaussian with standard deviations 10 and 1 along axes turned by 45 degrees; the other
    ``d - 10`` are independent with variance 2.

    Args:
        rate: the angle of the first row's step.
        power: the step of row t is rate * t^-power; 0 is a constant drift.
        unit: of the angle, "rad" or "deg".
        noise: variance of the noise on the labels.
        d: inputs, at least 10.
        seed: of the random numbers.

    After ``take(T)``, ``weights`` holds the target's weights of those rows, (T, d).

    References: :cite:`vaits2011`, Section 7; :cite:`moroshko2013`, Chapter 7.
    """

    rate: float = 1.0
    power: float = 0.0
    unit: Literal["rad", "deg"] = "rad"
    noise: float = 0.0
    d: int = 20
    seed: int = 0
    weights: Array = field(init=False, repr=False, default_factory=lambda: np.empty((0, 0)))

    def __post_init__(self) -> None:
        check, words = number(ge=0)
        for name in ("rate", "power", "noise"):
            if not check(getattr(self, name)):
                raise ValueError(f"{type(self).__name__}: {name} must be {words}, got {getattr(self, name)!r}")
        if self.unit not in ("rad", "deg"):
            raise ValueError(f"{type(self).__name__}: unit must be 'rad' or 'deg', got {self.unit!r}")
        if self.d < 2 * PAIRS:
            raise ValueError(f"{type(self).__name__}: d must be at least {2 * PAIRS}, got {self.d!r}")

    def take(self, T: int) -> tuple[Array, Array]:
        """The first T rows: X of shape (T, d) and y of shape (T,)."""
        rng = np.random.default_rng(self.seed)
        long, short = rng.normal(size=(2, T, PAIRS)) * np.array([10.0, 1.0])[:, None, None]
        X = np.empty((T, self.d))
        X[:, 0 : 2 * PAIRS : 2] = (long - short) / math.sqrt(2)
        X[:, 1 : 2 * PAIRS : 2] = (long + short) / math.sqrt(2)
        X[:, 2 * PAIRS :] = rng.normal(scale=math.sqrt(2), size=(T, self.d - 2 * PAIRS))
        self.weights = self._target(T)
        y = np.einsum("td,td->t", X, self.weights) + rng.normal(scale=math.sqrt(self.noise), size=T)
        return X, y

    def _target(self, T: int) -> Array:
        rows = np.arange(1, T + 1)
        angle = np.cumsum(self.rate * rows**-self.power)
        if self.unit == "deg":
            angle = np.deg2rad(angle)
        pair = self._pair(rows)
        weights = np.zeros((T, self.d))
        weights[rows - 1, 2 * pair] = np.cos(angle)
        weights[rows - 1, 2 * pair + 1] = np.sin(angle)
        return weights

    def _pair(self, rows: Array) -> Array:
        """Which pair of inputs carries the target at each row."""
        return np.zeros(len(rows), dtype=np.int64)


@dataclass
class Switching(Rotating):
    """A rotating unit vector that jumps to the next of the five pairs of inputs every so many rows.

    Args:
        every: rows between two jumps.
        rate, power, unit, noise, d, seed: as for :class:`Rotating`.
    """

    every: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.every < 1:
            raise ValueError(f"Switching: every must be at least 1, got {self.every!r}")

    def _pair(self, rows: Array) -> Array:
        pair: Array = (rows - 1) // self.every % PAIRS
        return pair
