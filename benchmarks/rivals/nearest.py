"""1NN-win: the label of the nearest row of a window, :class:`papers.dfop_rivals.NearestInWindow` compiled."""

from __future__ import annotations

import numpy as np

from benchmarks.data import Array
from benchmarks.rivals.compiled import compiled
from papers.dfop_contest import WINDOW


def predictions(X: Array, y: Array, seed: int) -> Array:
    return _run(X, y, WINDOW)


@compiled
def _run(X, y, window):  # type: ignore[no-untyped-def]
    T, d = X.shape
    found = np.ones(T)
    for t in range(1, T):
        least = np.inf
        for i in range(max(0, t - window), t):
            distance = 0.0
            for j in range(d):
                distance += (X[i, j] - X[t, j]) ** 2
            if distance < least:
                least, found[t] = distance, y[i]
    return found
