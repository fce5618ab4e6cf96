"""RLS in numba: plain loops over the full symmetric matrix, the fastest of several simple versions.

The update is k k' with k scaled by a square root, so that S stays exactly symmetric: an asymmetric part would grow as
forgetting^-t and destroy S after some ten thousand rows.

The replay loop is compiled twice: ``fastmath`` may reorder sums, which vectorises the product and wins from about
d = 20 on; ``strict`` wins at d = 5. A replay is compared with the faster of the two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from benchmarks.data import Array


@njit(fastmath=True)
def predict_row(w: Array, x: Array) -> float:
    f = 0.0
    for i in range(w.size):
        f += w[i] * x[i]
    return f


@njit(fastmath=True)
def learn_row(w: Array, S: Array, k: Array, x: Array, y: float, forgetting: float) -> None:
    d = w.size
    f = 0.0
    s = 0.0
    for i in range(d):
        total = 0.0
        for j in range(d):
            total += S[i, j] * x[j]
        k[i] = total
        s += total * x[i]
        f += w[i] * x[i]
    scale = 1.0 / (forgetting + s)
    step = (y - f) * scale
    growth = 1.0 / forgetting
    root = np.sqrt(scale)
    for i in range(d):
        w[i] += k[i] * step
        k[i] *= root
    for i in range(d):
        for j in range(d):
            S[i, j] = (S[i, j] - k[i] * k[j]) * growth


def _replay(w: Array, S: Array, X: Array, y: Array, forgetting: float, predictions: Array) -> None:
    d = w.size
    k = np.empty(d)
    growth = 1.0 / forgetting
    for t in range(X.shape[0]):
        f = 0.0
        s = 0.0
        for i in range(d):
            total = 0.0
            for j in range(d):
                total += S[i, j] * X[t, j]
            k[i] = total
            s += total * X[t, i]
            f += w[i] * X[t, i]
        predictions[t] = f
        scale = 1.0 / (forgetting + s)
        step = (y[t] - f) * scale
        root = np.sqrt(scale)
        for i in range(d):
            w[i] += k[i] * step
            k[i] *= root
        for i in range(d):
            for j in range(d):
                S[i, j] = (S[i, j] - k[i] * k[j]) * growth


REPLAYS: dict[str, Any] = {
    "numba loop, strict": njit(_replay),
    "numba loop, fastmath": njit(fastmath=True)(_replay),
}


def replay(label: str, d: int, forgetting: float, ridge: float) -> Callable[[Array, Array], Array]:
    """A function of (X, y) that starts afresh and predicts, then learns, row by row, in memory allocated once."""
    w, S = np.empty(d), np.empty((d, d))
    kernel = REPLAYS[label]

    def run(X: Array, y: Array) -> Array:
        w.fill(0.0)
        S.fill(0.0)
        np.fill_diagonal(S, 1.0 / ridge)
        predictions = np.empty(len(y))
        kernel(w, S, X, y, forgetting, predictions)
        return predictions

    return run
