"""Learn++.NSE, Elwell and Polikar (2011), with naive Bayes members: one for each batch of rows; none is removed.

After a batch, rows that the ensemble predicted correctly have weight E, its error on the batch, and the others 1. A
member's weighted error, at most 1/2, gives beta = error / (1 - error). Its betas are averaged over the batches, with
weights from a sigmoid in its age that favour the latest; log(1 / mean beta) is its vote. Until the first batch is complete,
the prediction is the more frequent class.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.data import Array
from benchmarks.rivals import naive_bayes
from benchmarks.rivals.compiled import compiled

SLOPE, CROSSING = 0.5, 10.0
_log_odds, _learn = naive_bayes.log_odds, naive_bayes.learn


def batch_of(rows: int) -> int:
    """250 rows, as on SEA in the paper; 50 on short data sets."""
    return 250 if rows >= 10_000 else 50


def predictions(X: Array, y: Array, seed: int) -> Array:
    return _run(X, y, naive_bayes.binary_columns(X), batch_of(len(y)), SLOPE, CROSSING)


@compiled
def sigmoid_weights(age: int, slope: float, crossing: float) -> Array:
    """Weights of a member's betas, oldest first; their sum is 1."""
    weights = np.empty(age + 1)
    for i in range(age + 1):
        weights[i] = 1.0 / (1.0 + math.exp(-slope * (i - crossing)))
    return weights / weights.sum()


@compiled
def vote(betas: Array, slope: float, crossing: float) -> float:
    """log(1 / mean beta) from a member's betas, oldest first."""
    return -math.log(max(1e-10, sigmoid_weights(betas.size - 1, slope, crossing) @ betas))


@compiled
def _run(X, y, binary, batch, slope, crossing):  # type: ignore[no-untyped-def]
    T, d = X.shape
    most = T // batch
    count, mean, square = np.zeros((most, 2)), np.zeros((most, 2, d)), np.zeros((most, 2, d))
    betas, votes = np.zeros((most, most)), np.zeros(most)
    found, says = np.zeros(T), np.zeros((most, batch))
    held, ones = 0, 0
    for t in range(T):
        at = t % batch
        if held == 0:
            found[t] = 1.0 if 2 * ones >= t else -1.0
            ones += y[t] > 0
        else:
            total = 0.0
            for k in range(held):
                says[k, at] = 1.0 if _log_odds(count[k], mean[k], square[k], binary, X[t]) >= 0 else -1.0
                total += votes[k] * says[k, at]
            found[t] = 1.0 if total >= 0 else -1.0
        if at + 1 < batch:
            continue
        first = t + 1 - batch
        for i in range(first, t + 1):
            _learn(count[held], mean[held], square[held], X[i], 1 if y[i] > 0 else 0)
        for i in range(batch):
            says[held, i] = 1.0 if _log_odds(count[held], mean[held], square[held], binary, X[first + i]) >= 0 else -1.0
        wrong = 0.0
        for i in range(first, t + 1):
            wrong += found[i] != y[i]
        error = wrong / batch if held > 0 else 1.0
        held += 1
        whole = wrong + (batch - wrong) * error if held > 1 else 1.0 * batch
        for k in range(held):
            own = 0.0
            for i in range(batch):
                if says[k, i] != y[first + i]:
                    own += 1.0 if found[first + i] != y[first + i] or held == 1 else error
            own = min(0.5, own / whole) if whole > 0 else 0.0
            betas[k, held - 1] = own / (1.0 - own)
            votes[k] = vote(betas[k, k:held], slope, crossing)
    return found
