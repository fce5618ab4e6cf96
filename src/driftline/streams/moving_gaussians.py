"""Two Gaussian classes whose means move."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from driftline.base.rules import CountOrNone, Whole, whole
from driftline.streams.base import Rows, Task
from driftline.streams.registry import source
from driftline.streams.source import Source
from driftline.tables.inputs import Array

Path = Callable[[Array], Array]  # the number of steps so far -> the mean, (n,) -> (n, d)
HALF = 20  # steps in one direction, then as many back


def _line(start: tuple[float, ...], step: tuple[float, ...]) -> Path:
    """Straight ahead for HALF steps, and back again."""

    def mean(steps: Array) -> Array:
        ahead = HALF - np.abs(HALF - steps % (2 * HALF))
        place: Array = np.asarray(start) + ahead[:, None] * np.asarray(step)
        return place

    return mean


def _circle(d: int, radius: float, steps_around: int, phase: float) -> Path:
    """Around the origin, in the plane of the first input and the mean of the others."""

    def mean(steps: Array) -> Array:
        angle = phase + 2 * math.pi * steps / steps_around
        others = np.repeat(np.sin(angle)[:, None], d - 1, axis=1) / math.sqrt(d - 1)
        return radius * np.column_stack([np.cos(angle), others])

    return mean


class Kind(NamedTuple):
    """The parameters of a kind of stream: how often the means move, and how far."""

    rows: int
    every: int
    deviation: float
    paths: tuple[Path, Path]


def _translation(first: Path, second: Path) -> Kind:
    return Kind(rows=16_000, every=400, deviation=1.5, paths=(first, second))


def _rotation(d: int, rows: int, every: int, radius: float) -> Kind:
    first, second = (_circle(d, radius, rows // every, phase) for phase in (0.0, math.pi))
    return Kind(rows=rows, every=every, deviation=1.0, paths=(first, second))


STILL, DIAGONAL, HORIZONTAL = (0.0, 0.0), (1.0, 1.0), (1.0, 0.0)
KINDS = {
    "1CDT": _translation(_line((0.0, 0.0), STILL), _line((4.0, 4.0), DIAGONAL)),
    "2CDT": _translation(_line((0.0, 0.0), DIAGONAL), _line((4.0, 4.0), DIAGONAL)),
    "1CHT": _translation(_line((0.0, 2.0), STILL), _line((4.0, 2.0), HORIZONTAL)),
    "2CHT": _translation(_line((0.0, 2.0), HORIZONTAL), _line((4.0, 2.0), HORIZONTAL)),
    "UG-2C-2D": _rotation(d=2, rows=100_000, every=1000, radius=1.7),
    "UG-2C-3D": _rotation(d=3, rows=200_000, every=2000, radius=1.7),
    "UG-2C-5D": _rotation(d=5, rows=200_000, every=2000, radius=1.45),
}


@source
@dataclass(frozen=True, repr=False)
class MovingGaussians(Source):
    """Two Gaussian classes, equally likely, whose means move in steps.

    Each class has a mean and independent inputs of the same standard deviation. In 1CDT and 2CDT, one class or both move
    along the diagonal, in 1CHT and 2CHT along the first input: by 1 every 400 rows, 20 times, and back. Means, steps and
    deviations were estimated from the published files of 1CDT and 2CHT. In the UG kinds, the two means go around a circle
    once, opposite each other. The means of the published UG files move differently; the radius was fitted to the accuracy
    reported for DFOP.

    Args:
        kind: "1CDT", "2CDT", "1CHT", "2CHT", "UG-2C-2D", "UG-2C-3D" or "UG-2C-5D".
        rows: the length of the stream; None for that of the kind. In a longer stream, the classes keep moving.
        seed: the seed of the random numbers.

    References: :cite:`souza2015`.

    >>> stream = MovingGaussians(kind="2CHT")
    >>> stream.means(0).tolist(), stream.means(400).tolist(), len(stream)
    ([[0.0, 2.0], [4.0, 2.0]], [[1.0, 2.0], [5.0, 2.0]], 16000)
    """

    kind: Literal["1CDT", "2CDT", "1CHT", "2CHT", "UG-2C-2D", "UG-2C-3D", "UG-2C-5D"] = "1CDT"
    rows: CountOrNone = None
    seed: Whole = 0

    @property
    def d(self) -> int:
        """The number of inputs: two for the translations, and as in the name for the UG kinds."""
        return int(self._means(np.zeros(1, dtype=np.int64)).shape[2])

    @property
    def task(self) -> Task:
        """Classification."""
        return "classification"

    @property
    def length(self) -> int:
        """``rows``, or the length of the published stream."""
        return KINDS[self.kind].rows if self.rows is None else self.rows

    @property
    def deviation(self) -> float:
        """The standard deviation of every input within a class."""
        return KINDS[self.kind].deviation

    def means(self, t: int) -> Array:
        """The means of the classes -1 and 1 at row ``t``, (2, d)."""
        t = whole(0, self.length - 1).require("MovingGaussians.means", "t", t)
        means: Array = self._means(np.array([t]))[:, 0]
        return means

    def _means(self, at: Array) -> Array:
        kind = KINDS[self.kind]
        return np.stack([path(at // kind.every) for path in kind.paths])

    def _draw(self, rng: np.random.Generator, at: Array) -> Rows:
        positive = rng.random(len(at)) < 0.5
        mean = self._means(at)[positive.astype(np.int64), np.arange(len(at))]
        return rng.normal(mean, self.deviation), np.where(positive, 1.0, -1.0)
