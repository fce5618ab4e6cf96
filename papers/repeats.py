"""Repetitions: their random numbers, and means with confidence intervals."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def half_width(values: NDArray[Any]) -> NDArray[Any]:
    """Half of the 95 % confidence interval of the mean over the first axis, by Student's distribution; NaN for one value.

    >>> half_width(np.array([1.0, 2.0, 3.0])).round(4).tolist()
    2.4841
    """
    from scipy.special import stdtrit

    count = len(values)
    if count < 2:
        return np.full(values.shape[1:], math.nan)
    spread = np.std(values, axis=0, ddof=1) / math.sqrt(count)
    wide: NDArray[Any] = stdtrit(count - 1, 0.975) * spread
    return wide


def generator(seed: int | Sequence[int], *key: int) -> np.random.Generator:
    """The generator for a seed and a key."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def seeds(seed: int, repeats: int) -> tuple[int, list[int]]:
    """A seed for tuning, and one for each repetition, which do not depend on the number of repetitions."""
    tuning, *others = np.random.SeedSequence(seed).generate_state(repeats + 1).tolist()
    return tuning, others
