"""LASER's last-step game, Eq. (5.1) of the thesis, with weighted losses, solved by search: no recursion, no formula."""

from collections.abc import Callable

import numpy as np

from .traces import Array


def cost_of_the_comparator(X: Array, y: Array, weights: Array, b: float, c: float) -> float:
    """The minimum of b |u_1|^2 + c sum |u_t+1 - u_t|^2 + sum a_t (y_t - u_t.x_t)^2, by least squares in all T d weights."""
    T, d = X.shape
    rows, targets = [np.sqrt(b) * np.eye(d, T * d)], [np.zeros(d)]
    for t in range(T - 1):
        step = np.zeros((d, T * d))
        step[:, t * d : (t + 1) * d], step[:, (t + 1) * d : (t + 2) * d] = -np.eye(d), np.eye(d)
        rows.append(np.sqrt(c) * step)
        targets.append(np.zeros(d))
    for t in range(T):
        row = np.zeros((1, T * d))
        row[0, t * d : (t + 1) * d] = np.sqrt(weights[t]) * X[t]
        rows.append(row)
        targets.append(np.array([np.sqrt(weights[t]) * y[t]]))
    table, target = np.vstack(rows), np.concatenate(targets)
    u = np.linalg.lstsq(table, target, rcond=None)[0]
    return float(np.sum(np.square(table @ u - target)))


def smallest_weight(cost: Callable[[float, float], float], most: float) -> float:
    """The least weight a >= 1 of the last row for which no label makes the game worth more without limit; at most `most`.

    ``cost(a, y)`` is the comparator's cost. The value of the game is a parabola in y, whose second difference decides.
    """

    def is_open(a: float) -> bool:
        return 2.0 - (cost(a, 1.0) - 2 * cost(a, 0.0) + cost(a, -1.0)) > 0

    if is_open(most):
        return most
    low, high = 1.0, most
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if is_open(middle) else (low, middle)
    return high


def best_answer(cost: Callable[[float], float], limit: float) -> float:
    """The prediction with the smallest max over labels y in [-limit, limit] of (y - prediction)^2 - cost(y), by search."""
    labels = np.linspace(-limit, limit, 41)
    costs = np.array([cost(float(y)) for y in labels])

    def worst(p: float) -> float:
        return float(np.max(np.square(labels - p) - costs))

    low, high = -limit, limit
    for _ in range(200):
        third = (high - low) / 3
        if worst(low + third) < worst(high - third):
            high -= third
        else:
            low += third
    return (low + high) / 2
