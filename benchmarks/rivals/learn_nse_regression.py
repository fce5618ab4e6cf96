"""Learn++.NSE for regression, with extreme learning machines: :mod:`benchmarks.rivals.learn_nse` on losses.

The loss of a row is its absolute error over the range of the batch's labels, at most 1. For classes, a correct row has
weight E and a wrong one 1; here a row has weight E + (1 - E) loss. Votes are the same, and the prediction is the mean
weighted by votes. The DFOP paper does not say how it adapted the method to regression.
"""

from __future__ import annotations

import numpy as np

from benchmarks.data import Array
from benchmarks.rivals import elm, learn_nse
from benchmarks.rivals.compiled import compiled

_hidden, _learn, _vote = elm.hidden, elm.learn, learn_nse.vote


def predictions(X: Array, y: Array, seed: int) -> Array:
    rows, batch = elm.inputs(X), learn_nse.batch_of(len(y))
    nodes = elm.drawn(len(y) // batch, rows.shape[1], seed)
    return _run(rows, y, nodes, batch, learn_nse.SLOPE, learn_nse.CROSSING, elm.RIDGE)


@compiled
def _run(X, y, nodes, batch, slope, crossing, ridge):  # type: ignore[no-untyped-def]
    most, size = nodes.shape[:2]
    weights, h = np.zeros((most, size)), np.zeros(size)
    betas, votes, says = np.zeros((most, most)), np.zeros(most), np.zeros((most, batch))
    found, loss = np.zeros(len(y)), np.zeros(batch)
    held, seen = 0, 0.0
    for t in range(len(y)):
        at = t % batch
        if held == 0:
            found[t] = seen / t if t > 0 else 0.0
            seen += y[t]
        else:
            total = 0.0
            for m in range(held):
                _hidden(nodes[m], X[t], h)
                says[m, at] = weights[m] @ h
                found[t] += votes[m] * says[m, at]
                total += votes[m]
            found[t] /= total
        if at + 1 < batch:
            continue
        first = t + 1 - batch
        own = y[first : t + 1]
        unit = max(own.max() - own.min(), 1e-12)
        S = np.eye(size) / ridge
        for i in range(batch):
            _hidden(nodes[held], X[first + i], h)
            _learn(S, weights[held], h, own[i], 1.0)
        for i in range(batch):
            _hidden(nodes[held], X[first + i], h)
            says[held, i] = weights[held] @ h
            loss[i] = min(1.0, abs(found[first + i] - own[i]) / unit)
        error = loss.mean() if held > 0 else 1.0
        held += 1
        for m in range(held):
            wrong, whole = 0.0, 0.0
            for i in range(batch):
                weight = error + (1.0 - error) * loss[i]
                wrong += weight * min(1.0, abs(says[m, i] - own[i]) / unit)
                whole += weight
            share = min(0.5, wrong / whole) if whole > 0 else 0.0
            betas[m, held - 1] = share / (1.0 - share)
            votes[m] = max(1e-12, _vote(betas[m, m:held], slope, crossing))
    return found
