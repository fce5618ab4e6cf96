"""Naive Bayes for two classes, learned row by row: the base learner of DWM and of Learn++.NSE.

Columns of zeros and ones have a Bernoulli distribution in each class with Laplace's correction; the others are Gaussian. A
class's variance has one more term, the variance over both classes, so that it is never 0 and has the input's unit.

The state of several models is three arrays: ``count`` (models, 2), ``mean`` and ``square`` (models, 2, inputs), the last
being sums of squared deviations from the mean.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.data import Array
from benchmarks.rivals.compiled import compiled


def binary_columns(X: Array) -> Array:
    """Which inputs are binary."""
    return np.all((X == 0) | (X == 1), axis=0)


@compiled
def learn(count: Array, mean: Array, square: Array, x: Array, label: int) -> None:
    """Welford's update of one model by a row of class 0 or 1."""
    count[label] += 1.0
    for j in range(x.size):
        off = x[j] - mean[label, j]
        mean[label, j] += off / count[label]
        square[label, j] += off * (x[j] - mean[label, j])


@compiled
def log_odds(count: Array, mean: Array, square: Array, binary: Array, x: Array) -> float:
    """The logarithm of P(1 | x) / P(0 | x); 0 for a model without rows."""
    n0, n1 = count[0], count[1]
    n = n0 + n1
    if n == 0:
        return 0.0
    odds = math.log((n1 + 1.0) / (n0 + 1.0))
    if n0 == 0 or n1 == 0:
        return odds
    for j in range(x.size):
        if binary[j]:
            p0 = (n0 * mean[0, j] + 1.0) / (n0 + 2.0)
            p1 = (n1 * mean[1, j] + 1.0) / (n1 + 2.0)
            odds += math.log(p1 / p0) if x[j] == 1.0 else math.log((1.0 - p1) / (1.0 - p0))
            continue
        apart = mean[1, j] - mean[0, j]
        both = (square[0, j] + square[1, j] + n0 * n1 / n * apart * apart) / n
        if both == 0.0:
            continue
        v0 = (square[0, j] + both) / (n0 + 1.0)
        v1 = (square[1, j] + both) / (n1 + 1.0)
        e0, e1 = x[j] - mean[0, j], x[j] - mean[1, j]
        odds += 0.5 * (math.log(v0 / v1) + e0 * e0 / v0 - e1 * e1 / v1)
    return odds
