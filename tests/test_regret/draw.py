"""Random streams for property tests: Hypothesis draws sizes, scales, drift and noise; a seeded generator draws the rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import settings
from hypothesis import strategies as st

Array = npt.NDArray[np.float64]

some = settings(max_examples=50)


@dataclass(frozen=True)
class Stream:
    """Rows, labels, their true weights, and a generator for further numbers."""

    X: Array
    y: Array
    weights: Array
    rng: np.random.Generator

    @property
    def shape(self) -> tuple[int, int]:
        T, d = self.X.shape
        return T, d


def powers(low: float, high: float) -> st.SearchStrategy[float]:
    """10^low to 10^high, uniform in the exponent."""
    return st.floats(low, high).map(lambda power: float(10.0**power))


@st.composite
def streams(draw: Any, *, unit: bool = False, rows: int = 50, columns: int = 5) -> Stream:
    """Drifting or fixed weights, labels with or without noise, inputs of one scale; with `unit`, within the unit ball."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    T, d = draw(st.integers(1, rows)), draw(st.integers(1, columns))
    X = rng.normal(size=(T, d)) * draw(powers(-1, 1))
    if unit:
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        if draw(st.booleans()):
            X *= rng.uniform(0.1, 1.0, size=(T, 1))
    steps = rng.normal(size=(T, d)) * draw(st.sampled_from([0.0, 0.01, 0.3]))
    weights = rng.normal(size=d) * draw(powers(-1, 1)) + np.cumsum(steps, axis=0)
    y = np.einsum("td,td->t", X, weights) + rng.normal(size=T) * draw(powers(-3, 1))
    if draw(st.booleans()):
        y = np.sign(y) * draw(powers(-1, 1))
    return Stream(X, y, weights, rng)


def within(path: Array, radius: float, T: int) -> Array:
    """The sequence with each member scaled into the ball."""
    full = np.broadcast_to(path, (T, path.shape[-1]))
    norms = np.linalg.norm(full, axis=1, keepdims=True)
    inside: Array = full * np.minimum(1.0, radius / np.maximum(norms, 1e-300))
    return inside
