"""EOS-ELM, Lan, Soh and Huang (2009), and on-line bagging, Oza and Russell (2001), of extreme learning machines.

Both predict the mean of their machines. EOS-ELM's machines differ in their nodes. In on-line bagging, each
machine also learns a row a random number of times, drawn from a Poisson distribution of mean 1.
"""

from __future__ import annotations

import numpy as np

from benchmarks.data import Array
from benchmarks.rivals import elm
from benchmarks.rivals.compiled import compiled

MACHINES = 10
_hidden, _learn = elm.hidden, elm.learn


def eos_elm(X: Array, y: Array, seed: int) -> Array:
    rows = elm.inputs(X)
    times = np.ones((len(y), MACHINES))
    return _run(rows, y, elm.drawn(MACHINES, rows.shape[1], seed), times, elm.RIDGE)


def online_bagging(X: Array, y: Array, seed: int) -> Array:
    rows = elm.inputs(X)
    times = np.random.default_rng(seed + 1).poisson(1.0, (len(y), MACHINES)).astype(float)
    return _run(rows, y, elm.drawn(MACHINES, rows.shape[1], seed), times, elm.RIDGE)


@compiled
def _run(X, y, nodes, times, ridge):  # type: ignore[no-untyped-def]
    machines, size = nodes.shape[:2]
    S, weights, h = np.zeros((machines, size, size)), np.zeros((machines, size)), np.zeros((machines, size))
    for m in range(machines):
        S[m] = np.eye(size) / ridge
    found = np.zeros(len(y))
    for t in range(len(y)):
        for m in range(machines):
            _hidden(nodes[m], X[t], h[m])
            found[t] += weights[m] @ h[m] / machines
        for m in range(machines):
            if times[t, m] > 0:
                _learn(S[m], weights[m], h[m], y[t], times[t, m])
    return found
