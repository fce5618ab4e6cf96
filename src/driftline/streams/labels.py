"""Labels of two classes."""

from __future__ import annotations

import numpy as np

from driftline.tables.inputs import Array


def noisy(rng: np.random.Generator, positive: Array, share: float) -> Array:
    """1.0 where ``positive``, else -1.0, with a share of them flipped at random.

    >>> noisy(np.random.default_rng(0), np.array([True, False]), 0.0).tolist()
    [1.0, -1.0]
    """
    return np.where(positive ^ (rng.random(len(positive)) < share), 1.0, -1.0)
