"""The traces that references return: Outcome in floats, Precise in mpmath's numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from mpmath import mpf

Array = npt.NDArray[np.floating[Any]]
Vector = list[mpf]
Matrix = list[list[mpf]]


@dataclass(frozen=True)
class Outcome:
    """The trace of one learner over a stream of T rows of d features.

    Attributes:
        predictions: (T,), each made before the row's label was used.
        weights: (T, d), the weights after each row.
        covariance: (d, d), S after the last row; None for first-order learners.
        resets: 0-based indices of the rows after which S was reset.
    """

    predictions: Array
    weights: Array
    covariance: Array | None = None
    resets: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Precise:
    """Predictions (T), weights (d) and S (d by d) after the last row, and the rows of resets."""

    predictions: Vector
    weights: Vector
    covariance: Matrix | None = None
    resets: list[int] = field(default_factory=list)


def outcome(
    X: Array,
    predictions: Sequence[float],
    weights: Sequence[Array],
    covariance: Array | None = None,
    resets: Sequence[int] = (),
) -> Outcome:
    """Converts the lists that a reference gathered row by row."""
    return Outcome(
        predictions=np.array(predictions, dtype=float),
        weights=np.array(weights, dtype=float).reshape(X.shape),
        covariance=covariance,
        resets=list(resets),
    )
