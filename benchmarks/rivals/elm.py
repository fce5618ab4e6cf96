"""Online sequential extreme learning machines: random hidden nodes, and least squares on their outputs.

They are the base models of all regression ensembles of the paper's Table 4 here. The paper names no base model, but its
figures for on-line bagging and for EOS-ELM, which uses these machines by definition, are nearly the same.

The state of several machines is ``nodes`` (machines, NODES, inputs + 1), ``S`` (machines, NODES, NODES) and ``weights``
(machines, NODES). Inputs are scaled by the mean and deviation of the rows so far.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.data import Array
from benchmarks.hindsight import online
from benchmarks.rivals.compiled import compiled

NODES, RIDGE = 20, 1e-3


def inputs(X: Array) -> Array:
    """Scaled rows with a constant appended."""
    return np.column_stack([online(X), np.ones(len(X))])


def drawn(machines: int, d: int, seed: int) -> Array:
    """Weights of hidden nodes: uniform on [-1, 1], divided by the root of the number of inputs to avoid saturation."""
    nodes = np.random.default_rng(seed).uniform(-1, 1, (machines, NODES, d))
    nodes[:, :, :-1] /= math.sqrt(d - 1)
    return nodes


@compiled
def hidden(nodes: Array, x: Array, out: Array) -> None:
    for i in range(out.size):
        out[i] = 1.0 / (1.0 + math.exp(-min(50.0, max(-50.0, nodes[i] @ x))))


@compiled
def learn(S: Array, weights: Array, h: Array, y: float, times: float) -> None:
    """A step of recursive least squares with a row that counts ``times`` times."""
    k = S @ h
    gain = times / (1.0 + times * (h @ k))
    error = y - weights @ h
    for i in range(h.size):
        weights[i] += gain * k[i] * error
        for j in range(i + 1):
            S[i, j] -= gain * k[i] * k[j]
            S[j, i] = S[i, j]
