"""The rotating and switching targets of the ARCOR paper and the LASER thesis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from driftline.base.rules import Count, NotNegative, Whole, whole
from driftline.streams.angles import radians, sums_of_powers
from driftline.streams.base import Rows
from driftline.streams.registry import source
from driftline.streams.source import Source
from driftline.tables.inputs import Array

PAIRS = 5


@source
@dataclass(frozen=True, repr=False)
class Rotating(Source):
    """A unit vector that rotates in the plane of the first two inputs.

    Five pairs of inputs come from a Gaussian with standard deviations 10 and 1 along axes turned by 45 degrees; the other
    ``d - 10`` are independent with variance 2. The label is the vector's product with the inputs, plus noise.

    Args:
        rate: the angle of the first row's step.
        power: the step of row t is rate * t^-power; 0 is a constant drift.
        unit: the unit of the angle, "rad" or "deg".
        noise: variance of the noise on the labels.
        d: the number of inputs, at least 10.
        seed: the seed of the random numbers.

    References: :cite:`vaits2011`, Section 7; :cite:`moroshko2013`, Chapter 7.

    >>> stream = Rotating(rate=0.5, unit="deg")
    >>> X, y = stream.take(180)
    >>> X.shape, stream.weights[-1, :2].round(6).tolist()
    ((180, 20), [0.0, 1.0])
    """

    rate: NotNegative = 1.0
    power: NotNegative = 0.0
    unit: Literal["rad", "deg"] = "rad"
    noise: NotNegative = 0.0
    d: Annotated[int, whole(2 * PAIRS)] = 20
    seed: Whole = 0

    def _draw(self, rng: np.random.Generator, at: Array) -> Rows:
        rows = len(at)
        long, short = rng.normal(size=(2, rows, PAIRS)) * np.array([10.0, 1.0])[:, None, None]
        X = np.empty((rows, self.d))
        X[:, 0 : 2 * PAIRS : 2] = (long - short) / math.sqrt(2)
        X[:, 1 : 2 * PAIRS : 2] = (long + short) / math.sqrt(2)
        X[:, 2 * PAIRS :] = rng.normal(scale=math.sqrt(2), size=(rows, self.d - 2 * PAIRS))
        y = np.einsum("td,td->t", X, self._target(at)) + rng.normal(scale=math.sqrt(self.noise), size=rows)
        return X, y

    def _target(self, at: Array) -> Array:
        angle = self.rate * radians(self.unit) * sums_of_powers(at + 1, self.power)
        pair = self._pair(at)
        weights = np.zeros((len(at), self.d))
        weights[np.arange(len(at)), 2 * pair] = np.cos(angle)
        weights[np.arange(len(at)), 2 * pair + 1] = np.sin(angle)
        return weights

    def _pair(self, at: Array) -> Array:
        """Which pair of inputs carries the target at each row."""
        return np.zeros_like(at)


@source
@dataclass(frozen=True, repr=False)
class Switching(Rotating):
    """A rotating unit vector that jumps to the next of the five pairs of inputs at regular intervals.

    Args:
        every: the number of rows between two jumps.
        rate, power, unit, noise, d, seed: as for :class:`Rotating`.

    References: :cite:`vaits2011`, Section 7; :cite:`moroshko2013`, Chapter 7.

    >>> stream = Switching(power=0.5, every=50, noise=2.0)
    >>> X, y = stream.take(2000)
    >>> [row.nonzero()[0].tolist() for row in stream.weights[[0, 49, 50, 250]]]
    [[0, 1], [0, 1], [2, 3], [0, 1]]
    """

    every: Count = 50

    def _pair(self, at: Array) -> Array:
        pair: Array = at // self.every % PAIRS
        return pair
