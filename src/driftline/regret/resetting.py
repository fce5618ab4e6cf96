"""Bounds for ARCOR, which resets in order to compete with a sequence of weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftline.linear import ARCOR, Below
from driftline.regret.bound import Bound, times
from driftline.regret.comparators import path_length
from driftline.regret.rows import as_path, as_rows, at_most, expect, largest_label, largest_norm, log_det, losses_of, replay
from driftline.tables.inputs import Array

_MANY = 10_000_000


@dataclass(frozen=True)
class _Replay:
    """The quantities in ARCOR's theorems."""

    rows: Array
    labels: Array
    path: Array
    loss: float
    resets: Array
    thresholds: Array  # thresholds of intervals 1 ... n

    @property
    def intervals(self) -> int:
        return len(self.resets) + 1

    @property
    def inverse(self) -> Array:
        with np.errstate(divide="ignore"):
            inverse: Array = 1 / self.thresholds
        return inverse


def arcor_theorem_1(learner: ARCOR, X: Any, y: Any, u: Any, *, repaired: bool = False) -> Bound:
    r"""The loss of ARCOR against any sequence within the ball, from the intervals between resets.

    .. math::
        L(u) + 2 (R^2 + Y^2) \sum_i \log\det (\Sigma^i)^{-1} + r\, u_T^\top \Sigma_T^{-1} u_T
        + 2 R r \sum_t |u_t - u_{t-1}| / \Lambda_{i(t)}

    :math:`\Sigma^i` is the matrix at the end of interval i, after its last row and before the reset. The paper's proof has
    a gap at resets: its step (18) needs a matrix that does not grow. With ``repaired=True`` the last two terms are
    :math:`r |u_1|^2 + 4 R r \sum_t |u_t - u_{t-1}| / \Lambda_{i(t)}`, which the same proof gives without that step.

    Args:
        learner: only its parameters matter, not what it has learned.
        X: the rows, (T, d).
        y: their labels, (T,).
        u: fixed weights or a sequence, (T, d), intercept last.
        repaired: use the terms for which the proof is complete.

    References: :cite:`vaits2011`, Theorem 1.
    """
    at, conditions = _prepare(learner, X, y, u, "arcor_theorem_1")
    ends = np.append(at.resets + 1, len(at.labels))
    starts = np.append(0, at.resets + 1)
    logarithms = sum(log_det(at.rows[a:b], learner.noise) for a, b in zip(starts, ends, strict=True) if b > a)
    steps = np.linalg.norm(np.diff(at.path, axis=0), axis=1)
    interval = np.searchsorted(at.resets, np.arange(1, len(at.labels)), side="left")  # resets before each row but the first
    moved = sum(times(cost, step) for cost, step in zip(at.inverse[interval].tolist(), steps.tolist(), strict=True))
    factor, first = (4.0, at.path[0]) if repaired else (2.0, at.path[-1])
    since = at.rows[:0] if repaired else at.rows[starts[-1] :]
    radius = _radius(learner)
    return Bound(
        statement="loss of ARCOR, Theorem 1" + (", repaired" if repaired else ""),
        terms={
            "loss of u": float(losses_of(at.path, at.rows, at.labels).sum()),
            "2 (R^2 + Y^2) sum log det": times(_range2(at, radius), logarithms),
            "noise |u_1|^2" if repaired else "noise u_T' S_T^-1 u_T": _metric(learner, since, first),
            f"{factor:g} R noise sum |step| / threshold": times(factor * radius * learner.noise, moved),
        },
        conditions=conditions,
        observed=at.loss,
    )


def arcor_corollary_1(learner: ARCOR, X: Any, y: Any, u: Any) -> Bound:
    r"""Theorem 1 in terms of the number n of intervals, which is the number of resets plus 1.

    .. math::
        L(u) + 2 (R^2 + Y^2)\, d n \log(1 + T/(n r d)) + r\, u_T^\top \Sigma_T^{-1} u_T + 2 R r V' / \Lambda_n

    Args:
        learner: only its parameters matter, not what it has learned.
        X: the rows, (T, d).
        y: their labels, (T,).
        u: fixed weights or a sequence, (T, d), intercept last.

    References: :cite:`vaits2011`, Corollary 1.
    """
    at, conditions = _prepare(learner, X, y, u, "arcor_corollary_1")
    return _by_intervals(learner, at, conditions, at.intervals, float(at.inverse[-1]), "Corollary 1")


def arcor_corollary_2(learner: ARCOR, X: Any, y: Any, u: Any) -> Bound:
    r"""Theorem 1 for :math:`1/\Lambda_i = i^{q-1} + 1` by the number of rows only: :math:`n \le m = 1 + (q T/r)^{1/q}`.

    .. math::
        L(u) + 2 (R^2 + Y^2)\, d m \log(1 + T/(m r d)) + r\, u_T^\top \Sigma_T^{-1} u_T + 2 R r (m^{q-1} + 1) V'

    The paper prints :math:`(q (T+1) + 1)^{1/q}` for m, which n can exceed.

    Args:
        learner: only its parameters matter, not what it has learned. Its schedule must be a power.
        X: the rows, (T, d).
        y: their labels, (T,).
        u: fixed weights or a sequence, (T, d), intercept last.

    References: :cite:`vaits2011`, Corollary 2.
    """
    at, conditions = _prepare(learner, X, y, u, "arcor_corollary_2")
    q = learner.schedule
    power = isinstance(q, (int, float)) and not isinstance(q, bool)
    conditions["the schedule is a power"] = power
    if not power:
        return _by_intervals(learner, at, conditions, math.inf, math.inf, "Corollary 2")
    q = float(q)  # type: ignore[arg-type]
    most = 1 + (q * len(at.labels) / learner.noise) ** (1 / q)
    return _by_intervals(learner, at, conditions, most, most ** (q - 1) + 1, "Corollary 2")


def arcor_lemma_1(learner: ARCOR, X: Any, y: Any) -> Bound:
    r"""The number of intervals, resets + 1, is at most the smallest N with :math:`T \le r \sum_{i \le N} (1/\Lambda_i - 1)`.

    Args:
        learner: only its parameters matter, not what it has learned.
        X: the rows, (T, d).
        y: their labels, (T,).

    References: :cite:`vaits2011`, Lemma 1, where n is called the number of restarts.

    >>> import numpy as np
    >>> import driftline as dl
    >>> learner = dl.ARCOR(noise=1.0, radius=1.0, schedule=2.0, intercept=False)
    >>> bound = arcor_lemma_1(learner, np.ones((12, 1)), np.ones(12))
    >>> bound.observed, bound.value
    (4.0, 5.0)
    """
    expect(learner, ARCOR, "arcor_lemma_1")
    rows, labels = as_rows(X, y, "arcor_lemma_1", learner.intercept)
    _, run = replay(learner, X, y)
    at = _Replay(rows, labels, rows[:0], 0.0, run.resets, _thresholds(learner, len(run.resets) + 1))
    return Bound(
        statement="number of ARCOR's intervals, Lemma 1",
        terms={"least N": _least(learner, len(labels))},
        conditions=_conditions(at),
        observed=float(at.intervals),
    )


def _least(learner: ARCOR, T: int) -> float:
    """The least N such that N of the shortest intervals hold at least T rows."""
    if learner.schedule is None:
        return 1.0
    first, total, block = 1, 0.0, 64
    while first < _MANY:
        lengths = total + learner.noise * np.cumsum(1 / Below(learner.schedule).values(first, block) - 1)
        reached = np.flatnonzero(lengths >= T)
        if reached.size:
            return float(first + reached[0])
        if not lengths[-1] > total:
            break
        first, total, block = first + block, float(lengths[-1]), min(2 * block, 65_536)
    return math.inf


def _prepare(learner: ARCOR, X: Any, y: Any, u: Any, where: str) -> tuple[_Replay, dict[str, bool]]:
    expect(learner, ARCOR, where)
    rows, labels = as_rows(X, y, where, learner.intercept)
    path = as_path(u, rows, where)
    _, run = replay(learner, X, y)
    at = _Replay(rows, labels, path, float(run.losses.sum()), run.resets, _thresholds(learner, len(run.resets) + 1))
    radius, norm = _radius(learner), largest_norm(path)
    return at, {
        **_conditions(at),
        "the learner has a radius": math.isfinite(radius),
        f"every |u_t| is at most the radius: {norm:g} <= {radius:g}": at_most(norm, radius),
    }


def _conditions(at: _Replay) -> dict[str, bool]:
    norm = largest_norm(at.rows)
    falling = bool((np.diff(at.thresholds) <= 0).all() and at.thresholds[0] < 1)
    return {
        f"no input's norm exceeds 1: {norm:g}": at_most(norm, 1.0),
        "the thresholds are below 1 and never rise": falling,
    }


def _thresholds(learner: ARCOR, count: int) -> Array:
    if learner.schedule is None:
        return np.zeros(count)
    return Below(learner.schedule).values(1, count)


def _radius(learner: ARCOR) -> float:
    return math.inf if learner.radius is None else float(learner.radius)


def _range2(at: _Replay, radius: float) -> float:
    return 2 * (radius * radius + largest_label(at.labels) ** 2)


def _metric(learner: ARCOR, since: Array, u: Array) -> float:
    """The term noise u' S^-1 u, with S the matrix of the rows since the last reset."""
    return learner.noise * float(u @ u) + float(np.sum(np.square(since @ u)))


def _by_intervals(learner: ARCOR, at: _Replay, conditions: dict[str, bool], n: float, cost: float, name: str) -> Bound:
    T, d = at.rows.shape
    radius, r = _radius(learner), learner.noise
    since = at.rows[at.resets[-1] + 1 if at.resets.size else 0 :]
    logarithms = d * n * math.log1p(T / (n * r * d)) if math.isfinite(n) else T / r
    return Bound(
        statement=f"loss of ARCOR, {name}",
        terms={
            "loss of u": float(losses_of(at.path, at.rows, at.labels).sum()),
            "2 (R^2 + Y^2) d n log(1 + T / (n noise d))": times(_range2(at, radius), logarithms),
            "noise u_T' S_T^-1 u_T": _metric(learner, since, at.path[-1]),
            "2 R noise V' / threshold": times(2 * radius * r * cost, path_length(at.path)),
        },
        conditions=conditions,
        observed=at.loss,
    )
