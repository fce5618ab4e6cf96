"""Dynamic weighted majority, Kolter and Maloof (2007), with naive Bayes experts.

Every ``period`` rows the weights of wrong experts are multiplied by ``shrink``, the largest weight is scaled to 1, experts
below ``least`` are removed, and a new expert joins if the vote was wrong. All experts learn all rows. The paper's
pseudo-code lowers a weight before the vote that it is part of. Here the vote comes first, so that a prediction does not
depend on its own label. At most ``most`` experts are kept; the weakest is replaced.
"""

from __future__ import annotations

import numpy as np

from benchmarks.data import Array
from benchmarks.rivals import naive_bayes
from benchmarks.rivals.compiled import compiled

SHRINK, LEAST, PERIOD, MOST = 0.5, 0.01, 50, 100
_log_odds, _learn = naive_bayes.log_odds, naive_bayes.learn


def predictions(X: Array, y: Array, seed: int) -> Array:
    return with_tests(X, y, np.empty((0, 0, X.shape[1])), 1)[0]


def with_tests(X: Array, y: Array, tests: Array, every: int, period: int = PERIOD) -> tuple[Array, Array]:
    """Labels predicted before they are learned, and those of ``tests[i]`` after (i + 1) * every rows."""
    binary = naive_bayes.binary_columns(X)
    return _run(X, y, binary, tests, every, SHRINK, LEAST, period, MOST)


@compiled
def _vote(held, weight, count, mean, square, binary, x, said):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(held):
        said[k] = 1.0 if _log_odds(count[k], mean[k], square[k], binary, x) >= 0 else -1.0
        total += weight[k] * said[k]
    return 1.0 if total >= 0 else -1.0


@compiled
def _run(X, y, binary, tests, every, shrink, least, period, most):  # type: ignore[no-untyped-def]
    T, d = X.shape
    weight, count = np.zeros(most), np.zeros((most, 2))
    mean, square = np.zeros((most, 2, d)), np.zeros((most, 2, d))
    weight[0], held = 1.0, 1
    said = np.zeros(most)
    found, tested = np.zeros(T), np.zeros(tests.shape[:2])
    for t in range(T):
        found[t] = _vote(held, weight, count, mean, square, binary, X[t], said)
        if (t + 1) % period == 0:
            largest = 0.0
            for k in range(held):
                if said[k] != y[t]:
                    weight[k] *= shrink
                largest = max(largest, weight[k])
            kept = 0
            for k in range(held):
                weight[k] /= largest
                if weight[k] >= least:
                    if kept != k:
                        weight[kept], count[kept], mean[kept], square[kept] = weight[k], count[k], mean[k], square[k]
                    kept += 1
            held = kept
            if found[t] != y[t]:
                place = held
                if held == most:
                    place = np.argmin(weight)
                else:
                    held += 1
                weight[place] = 1.0
                count[place], mean[place], square[place] = 0.0, 0.0, 0.0
        label = 1 if y[t] > 0 else 0
        for k in range(held):
            _learn(count[k], mean[k], square[k], X[t], label)
        if (t + 1) % every == 0 and (t + 1) // every <= tests.shape[0]:
            i = (t + 1) // every - 1
            for j in range(tests.shape[1]):
                tested[i, j] = _vote(held, weight, count, mean, square, binary, tests[i, j], said)
    return found, tested
