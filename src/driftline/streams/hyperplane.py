"""The hyperplane that turns from stage to stage."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from driftline.base.rules import Count, NotNegative, Positive, Share, Whole
from driftline.streams.base import Rows
from driftline.streams.keyed import TARGET, generator
from driftline.streams.labels import noisy
from driftline.streams.registry import source
from driftline.streams.source import Source
from driftline.tables.inputs import Array


@source
@dataclass(frozen=True, repr=False)
class Hyperplane(Source):
    """A hyperplane through the origin that takes a new direction in each stage.

    The inputs are uniform in [-1, 1]. A stage's weights w have a random direction and the length ``norm``. The label is
    w·x plus noise or, for classification, the side of the hyperplane: 1 if w·x >= 0, else -1.

    Args:
        task: "classification" or "regression".
        d: the number of inputs.
        stages: the number of stages, equally long, each with its own weights.
        rows: the length of the stream.
        norm: the length of the weights.
        noise: variance of the noise on the labels of regression.
        label_noise: share of the labels of classification that are flipped, at random.
        seed: the seed of the rows and the weights.

    The paper does not say how its stream was generated. The defaults of ``norm``, ``noise`` and ``label_noise`` were fitted
    to the errors that it reports, so agreement with those proves nothing.

    References: :cite:`zhao2021`, Sections 6.1 and 6.3; :cite:`fan2004`.

    >>> stream = Hyperplane(task="regression", noise=0.0)
    >>> X, y = stream.take(20_000)
    >>> len(stream), np.flatnonzero(np.diff(stream.weights[:, 0])).tolist()
    (90000, [9999])
    >>> bool(np.allclose(y, (X * stream.weights).sum(axis=1)))
    True
    """

    task: Literal["regression", "classification"] = "classification"
    d: Count = 10
    stages: Count = 9
    rows: Count = 90_000
    norm: Positive = 0.25
    noise: NotNegative = 0.005
    label_noise: Share = 0.05
    seed: Whole = 0

    @property
    def length(self) -> int:
        """``rows``."""
        return self.rows

    def _draw(self, rng: np.random.Generator, at: Array) -> Rows:
        X = rng.uniform(-1, 1, size=(len(at), self.d))
        product = np.einsum("td,td->t", X, self._target(at))
        if self.task == "classification":
            return X, noisy(rng, product >= 0, self.label_noise)
        return X, product + rng.normal(scale=math.sqrt(self.noise), size=len(at))

    def _target(self, at: Array) -> Array:
        directions = generator(self.seed, TARGET).normal(size=(self.stages, self.d))
        weights = self.norm * directions / np.linalg.norm(directions, axis=1, keepdims=True)
        target: Array = weights[at * self.stages // self.rows]
        return target
