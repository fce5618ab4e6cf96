"""The SEA concepts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from driftline.base.rules import Count, Share, Whole, number, sequence
from driftline.streams.base import Rows, Task
from driftline.streams.labels import noisy
from driftline.streams.registry import source
from driftline.streams.source import Source
from driftline.tables.inputs import Array

HIGH = 10.0


@source
@dataclass(frozen=True, repr=False)
class SEA(Source):
    """The sum of two of three inputs decides the class; its threshold jumps from stage to stage.

    The inputs are uniform in [0, 10]. The label is 1 if the first two add up to at most the stage's threshold b, else -1.
    For b up to 10, a share of b²/200 of the rows has the label 1, before labels are flipped.

    Args:
        thresholds: one for each stage; the stages are equally long. A file that is often used, and the original, have the
            order 8, 9, 7, 9.5.
        label_noise: share of the labels that are flipped, at random.
        rows: the length of the stream.
        seed: the seed of the random numbers.

    References: :cite:`street2001`; :cite:`zhao2021`, Section 6.1.

    >>> stream = SEA(label_noise=0.0)
    >>> X, y = stream.take()
    >>> len(stream), bool(((X[12_500:25_000, 0] + X[12_500:25_000, 1] <= 8) == (y[12_500:25_000] > 0)).all())
    (50000, True)
    """

    thresholds: Annotated[Iterable[float], sequence(number(ge=0, le=2 * HIGH))] = (7.0, 8.0, 9.0, 9.5)
    label_noise: Share = 0.1
    rows: Count = 50_000
    seed: Whole = 0

    def __post_init__(self) -> None:
        if isinstance(self.thresholds, Iterable):
            thresholds = self.thresholds.tolist() if isinstance(self.thresholds, np.ndarray) else self.thresholds
            object.__setattr__(self, "thresholds", tuple(thresholds))
        super().__post_init__()

    @property
    def d(self) -> int:
        """Three; the last has no effect."""
        return 3

    @property
    def task(self) -> Task:
        """Classification."""
        return "classification"

    @property
    def length(self) -> int:
        """``rows``."""
        return self.rows

    def _draw(self, rng: np.random.Generator, at: Array) -> Rows:
        X = rng.uniform(0, HIGH, size=(len(at), 3))
        thresholds = np.array(tuple(self.thresholds))
        b = thresholds[at * len(thresholds) // self.rows]
        return X, noisy(rng, X[:, 0] + X[:, 1] <= b, self.label_noise)
