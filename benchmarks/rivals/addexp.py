"""AddExp.C, additive experts for continuous labels, Kolter and Maloof (2005), of extreme learning machines.

The prediction is the weighted mean of the experts. An expert's weight is multiplied by SHRINK to the power of its error,
relative to the range of the labels so far. If the prediction is off by JOINS or more, a new expert joins with SHARE times
the weighted error of all. There are at most MOST experts; a new one replaces the weakest. All experts learn all rows.
"""

from __future__ import annotations

import numpy as np

from benchmarks.data import Array
from benchmarks.rivals import elm
from benchmarks.rivals.compiled import compiled

SHRINK, SHARE, JOINS, MOST = 0.5, 0.1, 0.05, 10
_hidden, _learn = elm.hidden, elm.learn


def predictions(X: Array, y: Array, seed: int) -> Array:
    rows = elm.inputs(X)
    return _run(rows, y, elm.drawn(MOST, rows.shape[1], seed), SHRINK, SHARE, JOINS, elm.RIDGE)


@compiled
def _run(X, y, nodes, shrink, share, joins, ridge):  # type: ignore[no-untyped-def]
    most, size = nodes.shape[:2]
    S, weights, h = np.zeros((most, size, size)), np.zeros((most, size)), np.zeros((most, size))
    S[0] = np.eye(size) / ridge
    trust, says, held = np.zeros(most), np.zeros(most), 1
    trust[0] = 1.0
    low, high = y[0], y[0]
    found = np.zeros(len(y))
    for t in range(len(y)):
        total = 0.0
        for m in range(held):
            _hidden(nodes[m], X[t], h[m])
            says[m] = weights[m] @ h[m]
            total += trust[m]
            found[t] += trust[m] * says[m]
        found[t] /= total
        low, high = min(low, y[t]), max(high, y[t])
        unit = max(high - low, 1e-12)
        mistrust = 0.0
        for m in range(held):
            error = min(1.0, abs(says[m] - y[t]) / unit)
            mistrust += trust[m] * error
            trust[m] *= shrink**error
        if abs(found[t] - y[t]) / unit >= joins and t > 0:
            place = held
            if held == most:
                place = np.argmin(trust)
            else:
                held += 1
            S[place], weights[place], trust[place] = np.eye(size) / ridge, 0.0, share * mistrust
            _hidden(nodes[place], X[t], h[place])
        for m in range(held):
            _learn(S[m], weights[m], h[m], y[t], 1.0)
        trust /= trust.max()
    return found
