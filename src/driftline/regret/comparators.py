"""The best weights in hindsight, fixed or changing from row to row, and the path length of a sequence of weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftline.base.rules import NOT_NEGATIVE, choice, number
from driftline.regret.rows import as_rows, row_weights
from driftline.tables.inputs import Array

_CHUNK = 512


@dataclass(frozen=True, eq=False)
class BestFixed:
    """The fixed weights with the smallest penalised loss.

    Attributes:
        weights: u, (d,), intercept last.
        loss: sum of squared errors, without sample weights and penalty.
        value: what u minimises: the weighted loss plus the penalty.
    """

    weights: Array
    loss: float
    value: float


@dataclass(frozen=True, eq=False)
class BestSequence:
    """The sequence of weights with the smallest penalised loss.

    Attributes:
        weights: u_1 ... u_T, (T, d), intercept last.
        loss: sum of squared errors, without sample weights and penalties.
        value: the minimum: the weighted loss plus penalties.
        drift: V, the sum of squared steps.
        path_length: V', the sum of the steps' norms.
        start: u_0 if the ridge applies to it, else None. V and V' then include the step from u_0 to u_1.
    """

    weights: Array
    loss: float
    value: float
    drift: float
    path_length: float
    start: Array | None = field(default=None)


def drift(weights: Any) -> float:
    """V, the sum of the squared steps of a sequence of weights, (T, d).

    >>> drift([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0]])
    25.0
    """
    return float(np.sum(np.square(_steps(weights, "drift"))))


def path_length(weights: Any) -> float:
    """V', the sum of the norms of the steps of a sequence of weights, (T, d).

    >>> path_length([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0]])
    5.0
    """
    return float(np.sum(np.linalg.norm(_steps(weights, "path_length"), axis=1)))


def _steps(weights: Any, where: str) -> Array:
    path = np.asarray(weights, dtype=np.float64)
    if path.ndim != 2:
        raise ValueError(f"{where}: weights must have two dimensions, got {path.ndim}")
    return np.diff(path, axis=0)


def best_fixed(X: Any, y: Any, ridge: float, *, intercept: bool = False, sample_weight: Any = None) -> BestFixed:
    r"""The weights that minimise :math:`b|u|^2 + \sum_t a_t (y_t - u \cdot x_t)^2`, by an orthogonal factorisation.

    Args:
        X: the rows, (T, d).
        y: their labels, (T,).
        ridge: b, the cost of :math:`|u|^2`, at least 0.
        intercept: append a constant feature 1, last, as the learners do.
        sample_weight: :math:`a_t`, (T,); None gives all rows weight 1.

    >>> best = best_fixed([[1.0], [2.0]], [1.0, 3.0], ridge=1.0)
    >>> best.weights.round(4), round(best.loss, 4), round(best.value, 4)
    (array([1.1667]), 0.4722, 1.8333)
    """
    NOT_NEGATIVE.require("best_fixed", "ridge", ridge)
    rows, labels = as_rows(X, y, "best_fixed", intercept)
    roots = None if sample_weight is None else np.sqrt(row_weights(sample_weight, len(labels), "best_fixed"))
    table = np.column_stack([rows, labels])
    if roots is not None:
        table *= roots[:, None]
    u = _solve_stack(table, math.sqrt(ridge))
    errors = labels - rows @ u
    loss = float(errors @ errors)
    weighted = loss if roots is None else float(np.sum(np.square(roots * errors)))
    return BestFixed(weights=u, loss=loss, value=float(ridge * (u @ u)) + weighted)


def _solve_stack(table: Array, root: float) -> Array:
    """Least squares of [A, b] over [root I, 0], with columns equally scaled, so that units do not matter."""
    small = np.linalg.qr(table, mode="r")
    d = table.shape[1] - 1
    stack = np.vstack([small, np.column_stack([root * np.eye(d), np.zeros(d)])])
    scale = np.linalg.norm(stack[:, :d], axis=0)
    scale[scale == 0] = 1.0
    solution: Array = np.linalg.lstsq(stack[:, :d] / scale, stack[:, d], rcond=None)[0] / scale
    return solution


def best_sequence(
    X: Any,
    y: Any,
    ridge: float,
    drift_cost: float,
    *,
    intercept: bool = False,
    ridge_at: int = 1,
    sample_weight: Any = None,
) -> BestSequence:
    r"""The sequence that minimises :math:`b|u_1|^2 + c \sum_t |u_{t+1} - u_t|^2 + \sum_t a_t (y_t - u_t \cdot x_t)^2`.

    An exact square-root information smoother: O(T d³) time and O(T d²) memory. It works with orthogonal factors of the
    information, never with the normal equations, so costs of very different sizes can be combined.

    Args:
        X: the rows, (T, d).
        y: their labels, (T,).
        ridge: b, the cost of :math:`|u_1|^2`, at least 0.
        drift_cost: c, the cost of a squared step, positive; infinity forbids steps.
        intercept: append a constant feature 1, last, as the learners do.
        ridge_at: 1, or 0 to put the ridge on a :math:`u_0` one step before the first row, as Kalman does.
        sample_weight: :math:`a_t`, (T,); None gives all rows weight 1.

    >>> best = best_sequence([[1.0], [1.0]], [0.0, 3.0], ridge=1.0, drift_cost=1.0)
    >>> best.weights[:, 0].round(4), round(best.value, 4), round(best.drift, 4)
    (array([0.6, 1.8]), 3.6, 1.44)
    """
    NOT_NEGATIVE.require("best_sequence", "ridge", ridge)
    number(gt=0, le=math.inf).require("best_sequence", "drift_cost", drift_cost)
    choice((0, 1)).require("best_sequence", "ridge_at", ridge_at)
    rows, labels = as_rows(X, y, "best_sequence", intercept)
    weights = np.ones(len(labels)) if sample_weight is None else row_weights(sample_weight, len(labels), "best_sequence")
    roots = np.sqrt(weights)
    step = 1 / math.sqrt(drift_cost)
    share = ridge * step * step if ridge_at == 0 else 0.0  # u_0 = u_1 / (1 + share)
    u, noise = _smooth(rows * roots[:, None], labels * roots, math.sqrt(ridge / (1 + share)), step)
    start = None
    if ridge_at == 0:
        start = u[0] / (1 + share)
        noise = np.vstack([start * (ridge * step), noise])  # (u_1 - u_0) / step
    first = u[0] if start is None else start
    errors = labels - np.einsum("td,td->t", rows, u)
    loss, moved = float(errors @ errors), float(np.sum(np.square(noise)))
    return BestSequence(
        weights=u,
        loss=loss,
        value=float(ridge * (first @ first)) + moved + float(weights @ np.square(errors)),
        drift=moved * step * step,
        path_length=float(np.sum(np.linalg.norm(noise, axis=1))) * step,
        start=start,
    )


def _smooth(rows: Array, labels: Array, root: float, step: float) -> tuple[Array, Array]:
    """The best sequence u and its steps (u_t+1 - u_t) / step, in units in which they cost their squared norm.

    The information of rows 1 to t about u_t is R u_t = z. With u_t = u_t+1 - step n, the rows [I, 0 | 0], [-step R, R | z],
    [-step x, x | y] in (n, u_t+1) are made triangular: the first d of them give n from u_t+1 in the backward pass, the next
    d are the information of rows 1 to t about u_t+1.
    """
    T, d = rows.shape
    known = np.column_stack([root * np.eye(d), np.zeros(d)])
    back = np.empty((T - 1, d, d + 1))
    work = np.zeros((2 * d + 1, 2 * d + 1))
    chunk = np.empty((min(_CHUNK, T), d, 2 * d + 1))
    for start in range(0, T - 1, _CHUNK):
        stop = min(start + _CHUNK, T - 1)
        for t in range(start, stop):
            work[:d, :d], work[:d, d:] = np.eye(d), 0.0
            work[d : 2 * d, d:], work[2 * d, d:-1], work[2 * d, -1] = known, rows[t], labels[t]
            np.multiply(work[d:, d:-1], -step, out=work[d:, :d])
            triangle = np.asarray(np.linalg.qr(work, mode="r"))
            chunk[t - start], known = triangle[:d], triangle[d : 2 * d, d:]
        done = chunk[: stop - start]
        back[start:stop] = np.linalg.solve(done[:, :, :d], done[:, :, d:])
    u, noise = np.empty((T, d)), np.empty((T - 1, d))
    u[-1] = _solve_stack(np.vstack([known, np.append(rows[-1], labels[-1])]), 0.0)
    for t in range(T - 2, -1, -1):
        noise[t] = back[t, :, -1] - back[t, :, :-1] @ u[t + 1]
        u[t] = u[t + 1] - step * noise[t]
    return u, noise
