"""Seeded inputs for the benchmarks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def gaussian(rows: int, d: int, seed: int = 1) -> tuple[Array, Array]:
    """Independent standard normal inputs, a fixed unit vector of weights, noise of deviation 0.1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, d))
    w = rng.standard_normal(d)
    return X, X @ (w / np.linalg.norm(w)) + 0.1 * rng.standard_normal(rows)


def level(rows: int, d: int, seed: int = 2) -> tuple[Array, Array]:
    """Gaussian inputs scaled to |x|² = 0.9 d, which every learner takes with its defaults (WEMM refuses longer rows).

    Not to d: 1 + |x|² would be a threshold of ARCOR's schedule, and rounding would decide about a reset.
    """
    X, y = gaussian(rows, d, seed)
    scale = np.sqrt(0.9 * d) / np.linalg.norm(X, axis=1)
    return X * scale[:, None], y * scale


def rotating(rows: int, d: int, seed: int = 3) -> tuple[Array, Array]:
    """The ARCOR paper's inputs, widened to d.

    Five pairs from a Gaussian with deviations 10 and 1, turned by 45 degrees; the other coordinates N(0, variance 2).
    The weights are a unit vector in the first pair that turns by one degree a row.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, d)) * np.sqrt(2)
    turn = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2)
    for first in range(0, 10, 2):
        X[:, first : first + 2] = rng.standard_normal((rows, 2)) * (10.0, 1.0) @ turn.T
    angle = np.deg2rad(np.arange(rows))
    return X, X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle)
