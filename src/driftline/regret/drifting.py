"""Bounds for LASER and WeightedLASER, which compete with a sequence of weights whose drift has a cost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftline.linear import LASER, WeightedLASER
from driftline.regret.bound import Bound, times
from driftline.regret.comparators import best_sequence, drift
from driftline.regret.rows import Played, as_path, label_limit, losses_of, norm_limit, played, replay, rows_for
from driftline.tables.inputs import Array


def laser_theorem_12(learner: LASER, X: Any, y: Any, u: Any = None, *, label: float | None = None) -> Bound:
    r"""The loss of LASER is at most :math:`L(u) + c V + b|u_1|^2 + Y^2 \sum_t x_t^\top D_t^{-1} x_t` for any sequence u.

    Args:
        learner: only its parameters matter, not what it has learned.
        X: the rows, (T, d).
        y: their labels, (T,).
        u: fixed weights or a sequence, (T, d), intercept last; None takes the best sequence.
        label: a bound Y on the labels; None takes the largest.

    References: :cite:`moroshko2013`, Theorem 12.

    >>> import driftline as dl
    >>> learner = dl.LASER(ridge=1.0, drift_cost=2.0, intercept=False)
    >>> bound = laser_theorem_12(learner, [[1.0], [1.0]], [1.0, 2.0])
    >>> round(bound.observed, 4), round(bound.value, 4)
    (4.0625, 5.625)
    """
    at, Y, conditions = _prepare(learner, X, y, label, "laser_theorem_12")
    gains, _, _ = information(at.rows, learner.ridge, learner.drift_cost)
    terms = {"Y^2 sum x'D^-1 x": Y * Y * float(gains.sum())}
    return _loss_bound(learner, at, _path(learner, at, u, "LASER's Theorem 12"), "Theorem 12", terms, conditions)


def laser_lemma_13(learner: LASER, X: Any, y: Any) -> Bound:
    r"""For LASER, :math:`\sum_t x_t^\top D_t^{-1} x_t \le \log\det(D_T/b) + \frac{1}{c} \sum_t \mathrm{tr}\, D_{t-1}`.

    Args:
        learner: only its parameters matter, not what it has learned.
        X: the rows, (T, d).
        y: their labels, (T,).

    References: :cite:`moroshko2013`, Lemma 13.
    """
    rows, _ = rows_for(learner, LASER, X, y, "laser_lemma_13")
    gains, traces, log_det = information(rows, learner.ridge, learner.drift_cost)
    return Bound(
        statement="sum of x'D^-1 x of LASER, Lemma 13",
        terms={"log det(D_T / b)": log_det, "sum of traces / c": float(traces.sum()) / learner.drift_cost},
        conditions=_in_order(learner),
        observed=float(gains.sum()),
    )


def laser_corollary_16(
    learner: LASER,
    X: Any,
    y: Any,
    u: Any = None,
    *,
    tuned: bool = False,
    norm: float | None = None,
    label: float | None = None,
) -> Bound:
    r"""The loss of LASER against any sequence u, in terms of bounds on the norms and the labels.

    .. math::
        L(u) + c V + b|u_1|^2 + Y^2 \left( \log\det(D_T/b) + \frac{1}{c} \mathrm{tr}\, D_0 + \frac{T d}{c} M \right), \quad
        M = \max\left( \tfrac{1}{2} (3 X^2 + \sqrt{X^4 + 4 X^2 c}),\; b + X^2 \right)

    With ``tuned=True`` it is the second part, for :math:`c = (\sqrt 2\, T Y^2 d X / V)^{2/3}`, Eq. (6.8) as in its proof:

    .. math::
        L(u) + b|u_1|^2 + 3 (\sqrt 2\, T Y^2 d X)^{2/3} V^{1/3} + \frac{b}{c - b} Y^2 d + Y^2 \log\det(D_T/b)

    Args:
        learner: only its parameters matter, not what it has learned.
        X: the rows, (T, d).
        y: their labels, (T,).
        u: fixed weights or a sequence, (T, d), intercept last; None takes the best sequence.
        tuned: use the second part, Eq. (6.9).
        norm: a bound X on the norms of the inputs, including the constant feature; None takes the largest.
        label: a bound Y on the labels; None takes the largest.

    References: :cite:`moroshko2013`, Corollary 16, Eqs. (6.7) and (6.9).
    """
    where = "laser_corollary_16"
    at, Y, conditions = _prepare(learner, X, y, label, where)
    bound, limited = norm_limit(at.rows, norm, where)
    conditions |= limited
    b, c, (T, d) = learner.ridge, learner.drift_cost, at.rows.shape
    _, _, log_det = information(at.rows, b, c)
    path = _path(learner, at, u, where)
    terms = {"Y^2 log det(D_T / b)": Y * Y * log_det, "Y^2 tr(D_0) / c": Y * Y * d * b / (c - b)}
    if not tuned:
        terms["Y^2 T d M / c"] = Y * Y * T * d * _largest_information(b, c, bound * bound)
        return _loss_bound(learner, at, path, "Corollary 16, Eq. (6.7)", terms, conditions)
    V, scale = drift(path), math.sqrt(2) * T * Y * Y * d * bound
    least = max(9 / 8 * bound**2, (b + bound**2) ** 2 / (8 * bound**2)) if bound > 0 else math.inf
    conditions[f"drift_cost is that of Eq. (6.8): {c:g}"] = V > 0 and math.isclose(c, (scale / V) ** (2 / 3), rel_tol=1e-9)
    conditions[f"the drift is slow enough: {least:g} <= drift_cost"] = least <= c
    terms["3 (sqrt(2) T Y^2 d X)^(2/3) V^(1/3)"] = 3 * scale ** (2 / 3) * V ** (1 / 3)
    return _loss_bound(learner, at, path, "Corollary 16, Eq. (6.9)", terms, conditions, moved=False)


def weighted_laser(learner: WeightedLASER, X: Any, y: Any, u: Any = None, *, label: float | None = None) -> Bound:
    r"""The loss of WeightedLASER against any sequence u, in terms of u's unweighted loss.

    .. math::
        L(u) + c V + b|u_1|^2 + S \sum_t (a_t - 1) + Y^2 \sum_t \left( 1 - \frac{1}{\rho_t + s_t} \right)

    S is the largest loss of u on one row, where LASER's Theorem 12 has :math:`Y^2`. The last sum is over the rows with
    :math:`s_t > 1 - 1/A`; the others contribute 0.

    Args:
        learner: only its parameters matter, not what it has learned.
        X: the rows, (T, d).
        y: their labels, (T,).
        u: fixed weights or a sequence, (T, d), intercept last; None takes the sequence with the smallest weighted cost.
        label: a bound Y on the labels; None takes the largest.

    References: :doc:`/mathematics`.

    >>> import driftline as dl
    >>> learner = dl.WeightedLASER(ridge=4.0, drift_cost=8.0, intercept=False)
    >>> bound = weighted_laser(learner, [[1.0], [1.0]], [1.0, 2.0])
    >>> round(bound.observed, 4), round(bound.value, 4)
    (4.0625, 4.4857)
    """
    rows, labels = rows_for(learner, WeightedLASER, X, y, "weighted_laser")
    Y, conditions = label_limit(labels, label, "weighted_laser")
    weights, shrunk, _ = weighted_information(rows, learner)
    fits = bool(np.isfinite(weights).all())
    if math.isinf(learner.max_weight):
        conditions["x'Sx < 1 on every row"] = fits
    b, c = learner.ridge, learner.drift_cost
    used = weights if fits else np.ones(len(labels))
    path = best_sequence(rows, labels, b, c, sample_weight=used).weights if u is None else as_path(u, rows, "weighted_laser")
    losses = losses_of(path, rows, labels)
    terms = {
        "loss of u": float(losses.sum()),
        "ridge |u_1|^2": b * float(path[0] @ path[0]),
        "drift_cost V": times(c, drift(path)),
        "S sum (a - 1)": float(losses.max() * np.sum(weights - 1)) if fits else math.inf,
        "Y^2 sum of the shrinkage": Y * Y * float(shrunk.sum()),
    }
    observed = float(replay(learner, X, y).losses.sum()) if fits else None
    return Bound("loss of WeightedLASER", terms, _in_order(learner) | conditions, observed)


def weighted_information(rows: Array, learner: WeightedLASER) -> tuple[Array, Array, Array]:
    """The weight a_t of each row, infinite if it has none; 1 - 1 / (rho_t + s_t); and D after the last row."""
    b, c, A = learner.ridge, learner.drift_cost, learner.max_weight
    T, d = rows.shape
    identity = np.eye(d)
    D = identity * (b if math.isinf(c) else b / ((c - b) / c))
    weights, shrunk = np.full(T, math.inf), np.zeros(T)
    for t, x in enumerate(rows):
        faded = D if math.isinf(c) else np.linalg.solve(identity + D / c, D)
        faded = (faded + faded.T) / 2
        s = float(x @ np.linalg.solve(faded, x))
        rho = max(1 - s, 1 / A)
        if not rho > 0:
            break
        weights[t], shrunk[t] = 1 / rho, max(0.0, 1 - 1 / (rho + s))
        D = faded + np.outer(x, x) / rho
    return weights, shrunk, D


def information(rows: Array, b: float, c: float) -> tuple[Array, Array, float]:
    """x'D_t^-1 x and tr D_t-1 for each row, and log det(D_T / b), where D_t = (D_t-1^-1 + I/c)^-1 + x x'."""
    T, d = rows.shape
    identity = np.eye(d)
    D = identity * (b if math.isinf(c) else b / ((c - b) / c))
    gains, traces = np.empty(T), np.empty(T)
    for t, x in enumerate(rows):
        traces[t] = np.trace(D)
        faded = D if math.isinf(c) else np.linalg.solve(identity + D / c, D)
        D = (faded + faded.T) / 2 + np.outer(x, x)
        gains[t] = x @ np.linalg.solve(D, x)
    scale = np.sqrt(np.diag(D))
    return gains, traces, float(np.linalg.slogdet(D / np.outer(scale, scale))[1] + np.sum(np.log(scale**2 / b)))


def _prepare(learner: LASER, X: Any, y: Any, label: float | None, where: str) -> tuple[Played, float, dict[str, bool]]:
    at = played(learner, LASER, X, y, where)
    Y, conditions = label_limit(at.labels, label, where, learner.clip)
    return at, Y, _in_order(learner) | conditions


def _in_order(learner: LASER | WeightedLASER) -> dict[str, bool]:
    b, c = learner.ridge, learner.drift_cost
    return {f"ridge < drift_cost: {b:g} < {c:g}": b < c}


def _path(learner: LASER, at: Played, u: Any, where: str) -> Array:
    if u is None:
        return best_sequence(at.rows, at.labels, learner.ridge, learner.drift_cost).weights
    return as_path(u, at.rows, where)


def _loss_bound(
    learner: LASER,
    at: Played,
    path: Array,
    name: str,
    terms: dict[str, float],
    conditions: dict[str, bool],
    moved: bool = True,
) -> Bound:
    costs = {"ridge |u_1|^2": learner.ridge * float(path[0] @ path[0])}
    if moved:
        costs["drift_cost V"] = times(learner.drift_cost, drift(path))
    return at.bound(f"loss of LASER, {name}", path, costs | terms, conditions)


def _largest_information(b: float, c: float, X2: float) -> float:
    """Lemma 15: a bound on the eigenvalues of D / c, where D = S^-1 and no |x|^2 exceeds X2."""
    return 0.0 if math.isinf(c) else max((3 * X2 + math.sqrt(X2 * X2 + 4 * X2 * c)) / 2, b + X2) / c
