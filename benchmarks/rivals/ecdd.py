"""ECDD and ECDD-WT, Ross, Adams, Tasoulis and Hand (2012): a control chart of a classifier's mistakes.

Z is an exponentially weighted mean of the mistakes, p their plain mean, and s the deviation of Z if mistakes are
independent. The chart signals a change when Z > p + L s. L is the paper's polynomial in p for weight 0.2 and false signals
400 rows apart on average. After a signal, ECDD starts an empty classifier. ECDD-WT starts one that has learned the rows
since Z last rose above the warning level p + L s / 2.

The classifier is linear discriminant analysis. S, the inverse of the scatter within the classes, takes an update of rank
one for each row.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.data import Array
from benchmarks.rivals.compiled import compiled

WEIGHT, RIDGE, BURN_IN = 0.2, 0.01, 30


def plain(X: Array, y: Array, seed: int) -> Array:
    return _run(X, y, False, WEIGHT, RIDGE, BURN_IN)


def with_warning(X: Array, y: Array, seed: int) -> Array:
    return _run(X, y, True, WEIGHT, RIDGE, BURN_IN)


@compiled
def limit(p: float) -> float:
    """L for the weight 0.2 and 400 rows between false signals."""
    return 3.97 - 6.56 * p + 48.73 * p**3 - 330.13 * p**5 + 848.18 * p**7


@compiled
def spread(p: float, rows: int, weight: float) -> float:
    """The deviation of Z after this many rows."""
    return math.sqrt(p * (1.0 - p) * weight / (2.0 - weight) * (1.0 - (1.0 - weight) ** (2 * rows)))


@compiled
def _learn(count, mean, S, x, label, k):  # type: ignore[no-untyped-def]
    """Updates the mean of the row's class, and the scatter by n / (n + 1) times the squared deviation from it."""
    n = count[label]
    off = x - mean[label]
    mean[label] += off / (n + 1.0)
    count[label] = n + 1.0
    share = n / (n + 1.0)
    if share > 0.0:
        k[:] = S @ off
        gain = share / (1.0 + share * (off @ k))
        for i in range(x.size):
            for j in range(i + 1):
                S[i, j] -= gain * k[i] * k[j]
                S[j, i] = S[i, j]


@compiled
def _predict(count, mean, S, x):  # type: ignore[no-untyped-def]
    n = count[0] + count[1]
    odds = math.log((count[1] + 1.0) / (count[0] + 1.0))
    if count[0] > 0 and count[1] > 0:
        odds += n * ((mean[1] - mean[0]) @ (S @ (x - 0.5 * (mean[0] + mean[1]))))
    return 1.0 if odds >= 0 else -1.0


@compiled
def _run(X, y, warns, weight, ridge, burn_in):  # type: ignore[no-untyped-def]
    T, d = X.shape
    count, mean, S, k = np.zeros(2), np.zeros((2, d)), np.eye(d) / ridge, np.zeros(d)
    found = np.zeros(T)
    rows, p, Z, warned_at = 0, 0.0, 0.0, -1
    for t in range(T):
        found[t] = _predict(count, mean, S, X[t])
        wrong = 1.0 if found[t] != y[t] else 0.0
        rows += 1
        p += (wrong - p) / rows
        Z += weight * (wrong - Z)
        room = limit(p) * spread(p, rows, weight)
        if p + 0.5 * room >= Z:
            warned_at = -1
        elif warned_at < 0:
            warned_at = t
        if rows > burn_in and p + room < Z:
            count[:], mean[:], S[:] = 0.0, 0.0, np.eye(d) / ridge
            if warns and warned_at >= 0:
                for i in range(warned_at, t):
                    _learn(count, mean, S, X[i], 1 if y[i] > 0 else 0, k)
            rows, p, Z, warned_at = 0, 0.0, 0.0, -1
        _learn(count, mean, S, X[t], 1 if y[t] > 0 else 0, k)
    return found
