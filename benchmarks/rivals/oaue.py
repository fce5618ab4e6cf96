"""OAUE, the on-line accuracy updated ensemble of Brzezinski and Stefanowski (2014), for regression.

Members are extreme learning machines. A member's weight is 1 / (base + error), where error is its mean squared error on the
last ``block`` rows and base that of a prediction without inputs. For classes the base is the error of guessing by the
classes' shares; for numbers it is the variance of the block's labels. After each block a machine that has learned the block
replaces the worst member. A new member counts as perfect on the rows before it joined. All members learn all rows.
"""

from __future__ import annotations

import numpy as np

from benchmarks.data import Array
from benchmarks.rivals import elm
from benchmarks.rivals.compiled import compiled

MEMBERS = 10
_hidden, _learn = elm.hidden, elm.learn


def block_of(rows: int) -> int:
    """500 rows, as in the paper; 100 on short data sets."""
    return 500 if rows >= 10_000 else 100


def predictions(X: Array, y: Array, seed: int) -> Array:
    rows = elm.inputs(X)
    return _run(rows, y, elm.drawn(MEMBERS + 1, rows.shape[1], seed), block_of(len(y)), elm.RIDGE)


@compiled
def _run(X, y, nodes, block, ridge):  # type: ignore[no-untyped-def]
    """The candidate learns the current block. It votes while it is alone, and after it has joined."""
    slots, size = nodes.shape[:2]
    S, weights, h = np.zeros((slots, size, size)), np.zeros((slots, size)), np.zeros((slots, size))
    for m in range(slots):
        S[m] = np.eye(size) / ridge
    squared, says = np.zeros((slots, block)), np.zeros(slots)
    member = np.zeros(slots, dtype=np.bool_)
    candidate, held, base, tiny = 0, 0, 0.0, 1e-12
    found = np.zeros(len(y))
    for t in range(len(y)):
        total = 0.0
        for m in range(slots):
            if not (member[m] or m == candidate):
                continue
            _hidden(nodes[m], X[t], h[m])
            says[m] = weights[m] @ h[m]
            if member[m]:
                vote = 1.0 / (base + squared[m].mean() + tiny)
                found[t] += vote * says[m]
                total += vote
        found[t] = found[t] / total if held > 0 else says[candidate]
        for m in range(slots):
            if member[m] or m == candidate:
                squared[m, t % block] = (says[m] - y[t]) ** 2
                _learn(S[m], weights[m], h[m], y[t], 1.0)
        if (t + 1) % block:
            continue
        base = y[t + 1 - block : t + 1].var()
        member[candidate], squared[candidate] = True, 0.0
        held += 1
        worst, place = -1.0, -1
        for m in range(slots):
            if not member[m]:
                place = m
        if place < 0:
            for m in range(slots):
                if squared[m].mean() > worst:
                    worst, place = squared[m].mean(), m
            member[place] = False
            held -= 1
        candidate = place
        S[candidate], weights[candidate] = np.eye(size) / ridge, 0.0
    return found
