"""Bounds for WEMM: its loss against weighted and unweighted losses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftline.linear import WEMM
from driftline.regret.bound import Bound, times
from driftline.regret.comparators import best_fixed
from driftline.regret.rows import as_fixed, largest_norm, losses_of, replay, rows_for
from driftline.tables.inputs import Array


@dataclass(frozen=True)
class _Replay:
    """The quantities in WEMM's theorems. ``row_weights`` is None if a row has no positive weight."""

    ridge: float
    rows: Array
    losses: Array  # losses of u
    u: Array
    row_weights: Array | None
    loss: float | None


def wemm_weights(rows: Array, ridge: float) -> Array | None:
    """WEMM's row weights, a = 1 / (1 - x'A^-1 x); None if a row has no positive weight."""
    A = ridge * np.eye(rows.shape[1])
    weights = np.empty(len(rows))
    for t, x in enumerate(rows):
        s = float(x @ np.linalg.solve(A, x))
        if not s < 1:
            return None
        weights[t] = 1 / (1 - s)
        A += weights[t] * np.outer(x, x)
    return weights


def wemm_theorem_4(learner: WEMM, X: Any, y: Any, u: Any = None) -> Bound:
    r"""The loss of WEMM is at most :math:`b|u|^2 + \sum_t a_t (y_t - u \cdot x_t)^2` for any u, equal for the best.

    Args:
        learner: only its parameters matter, not what it has learned.
        X: the rows, (T, d).
        y: their labels, (T,).
        u: fixed weights, intercept last; None takes those that minimise the bound.

    References: :cite:`moroshko2013`, Theorem 4.

    >>> import driftline as dl
    >>> bound = wemm_theorem_4(dl.WEMM(ridge=4.0, intercept=False), [[1.0], [1.0]], [1.0, 2.0])
    >>> round(bound.observed, 9), round(bound.value, 9)
    (4.0625, 4.0625)
    """
    at = _prepare(learner, X, y, u, "wemm_theorem_4")
    weighted = math.inf if at.row_weights is None else float(at.row_weights @ at.losses)
    return Bound(
        statement="loss of WEMM, Theorem 4",
        terms={"weighted loss of u": weighted, "ridge |u|^2": at.ridge * float(at.u @ at.u)},
        conditions={"x'Sx < 1 on every row": at.row_weights is not None},
        observed=at.loss,
    )


def wemm_theorem_5(learner: WEMM, X: Any, y: Any, u: Any = None) -> Bound:
    r"""The loss of WEMM is at most :math:`L(u) + b|u|^2 + \frac{b}{b - X^2}\, S \log\det(A_T/b)` for any u.

    S is the largest loss of u on one row, :math:`X^2` the largest :math:`|x|^2`, :math:`A_T = bI + \sum a_t x_t x_t^\top`.

    Args:
        learner: only its parameters matter, not what it has learned.
        X: the rows, (T, d).
        y: their labels, (T,).
        u: fixed weights, intercept last; None takes the best of Theorem 4.

    References: :cite:`moroshko2013`, Theorem 5, which has X = 1; other X follow by scaling.
    """
    at = _prepare(learner, X, y, u, "wemm_theorem_5")
    factor, conditions = _factor(at)
    grown = math.inf if at.row_weights is None else float(np.log(at.row_weights).sum())  # |A_t| = a_t |A_t-1|
    return _plain(at, "Theorem 5", "b / (b - X^2) S log det", times(factor * at.losses.max(), grown), conditions)


def wemm_theorem_6(learner: WEMM, X: Any, y: Any, u: Any = None) -> Bound:
    r"""The loss of WEMM is at most :math:`L(u) + b|u|^2 + \frac{b}{b - X^2}\, S d\,(1 + \log(1 + L(u)/(S d)))` for any u.

    S is the largest loss of u on one row, :math:`X^2` the largest :math:`|x|^2`.

    Args:
        learner: only its parameters matter, not what it has learned.
        X: the rows, (T, d).
        y: their labels, (T,).
        u: fixed weights, intercept last; None takes the best of Theorem 4.

    References: :cite:`moroshko2013`, Theorem 6, which has X = 1; other X follow by scaling.
    """
    at = _prepare(learner, X, y, u, "wemm_theorem_6")
    factor, conditions = _factor(at)
    S, d = float(at.losses.max()), at.rows.shape[1]
    logarithm = d * (1 + math.log1p(float(at.losses.sum()) / (S * d))) if S > 0 else 0.0
    return _plain(at, "Theorem 6", "b / (b - X^2) S d (1 + log)", times(factor * S, logarithm), conditions)


def _prepare(learner: WEMM, X: Any, y: Any, u: Any, where: str) -> _Replay:
    rows, labels = rows_for(learner, WEMM, X, y, where)
    fresh = type(learner)(**learner.get_params(deep=False))
    fresh.set_ridge(rows[0])
    weights = wemm_weights(rows, fresh.ridge_)
    loss = None if weights is None else float(replay(learner, X, y).losses.sum())
    best = best_fixed(rows, labels, fresh.ridge_, sample_weight=weights) if u is None else u
    fixed = as_fixed(best, rows, where)
    return _Replay(fresh.ridge_, rows, losses_of(fixed, rows, labels), fixed, weights, loss)


def _factor(at: _Replay) -> tuple[float, dict[str, bool]]:
    """The factor b / (b - X^2), and the condition for it."""
    X2 = largest_norm(at.rows) ** 2
    fits = at.ridge > X2
    return at.ridge / (at.ridge - X2) if fits else math.inf, {f"every |x|^2 is below ridge: {X2:g} < {at.ridge:g}": fits}


def _plain(at: _Replay, name: str, words: str, extra: float, conditions: dict[str, bool]) -> Bound:
    return Bound(
        statement=f"loss of WEMM, {name}",
        terms={"loss of u": float(at.losses.sum()), "ridge |u|^2": at.ridge * float(at.u @ at.u), words: extra},
        conditions=conditions,
        observed=at.loss,
    )
