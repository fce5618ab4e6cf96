"""AdaBoost.OL, Beygelzimer, Kale and Luo (2015), Algorithm 2, with linear weak learners.

Weak learner i weights the row by the logistic loss of the ``i - 1`` learners before it. Each vote alpha_i takes gradient
steps of 4 / sqrt(t) within [-2, 2]. The prediction is one of the partial sums, drawn with the probabilities of
multiplicative weights. Weak learners are linear and take normalised gradient steps on the logistic loss. Inputs are scaled
by the mean and standard deviation of the rows so far.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.data import Array
from benchmarks.hindsight import online
from benchmarks.rivals.compiled import compiled

LEARNERS, RATE = 20, 1.0


def predictions(X: Array, y: Array, seed: int) -> Array:
    drawn = np.random.default_rng(seed).random(len(y))
    return _run(np.column_stack([online(X), np.ones(len(y))]), y, drawn, LEARNERS, RATE)


@compiled
def drawn_index(share: float, weights: Array) -> int:
    """The index that a number in [0, 1) selects, with probabilities given by the weights."""
    left = share * weights.sum()
    for i in range(weights.size - 1):
        left -= weights[i]
        if left < 0.0:
            return i
    return weights.size - 1


@compiled
def _run(X, y, drawn, learners, rate):  # type: ignore[no-untyped-def]
    T, d = X.shape
    W, alpha, trust = np.zeros((learners, d)), np.zeros(learners), np.ones(learners)
    says, partial = np.zeros(learners), np.zeros(learners)
    found = np.zeros(T)
    for t in range(T):
        x = X[t]
        total = 0.0
        for i in range(learners):
            says[i] = 1.0 if W[i] @ x >= 0 else -1.0
            total += alpha[i] * says[i]
            partial[i] = 1.0 if total >= 0 else -1.0
        found[t] = partial[drawn_index(drawn[t], trust)]
        margin, step = 0.0, 4.0 / math.sqrt(t + 1.0)
        for i in range(learners):
            weight = 1.0 / (1.0 + math.exp(margin))
            right = y[t] * says[i]
            margin += alpha[i] * right
            alpha[i] = min(2.0, max(-2.0, alpha[i] + step * right / (1.0 + math.exp(margin))))
            if partial[i] != y[t]:
                trust[i] *= math.exp(-1.0)
            slope = 1.0 / (1.0 + math.exp(min(50.0, y[t] * (W[i] @ x))))
            W[i] += rate * weight * slope * y[t] / (x @ x) * x
        trust /= trust.max()
    return found
