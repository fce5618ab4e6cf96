"""Bounds for ARCOR, which resets in order to compete with a sequence of weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from driftline.base.rules import choice
from driftline.linear import ARCOR, Below
from driftline.regret.bound import Bound, times
from driftline.regret.comparators import path_length
from driftline.regret.rows import Played, as_path, at_most, largest_label, largest_norm, log_det, played
from driftline.tables.inputs import Array

_MANY = 10_000_000


@dataclass(frozen=True)
class _Terms:
    """The terms of Theorem 1 for the comparator's size and steps."""

    suffix: str
    penalty: str
    drift: str
    length: float  # of the step, in units of R
    growth: float  # of |u|^2
    reason: str = ""  # why the bound does not apply

    def cost(self, radius: float, step: float, grown: float) -> float:
        """What a step of the comparator costs, before it is divided by the threshold."""
        return self.length * times(radius, step) + self.growth * grown


_TERMS = {
    "repaired": _Terms("", "noise |u_1|^2", "3 sqrt(3)/2 R |step| + 3/4 growth of |u|^2", 1.5 * math.sqrt(3), 0.75),
    "printed": _Terms(
        ", as printed",
        "noise u_T' S_T^-1 u_T",
        "2 R |step|",
        2.0,
        0.0,
        "the terms are proven: those printed are not, and the loss can exceed them",
    ),
}


@dataclass(frozen=True, eq=False)
class _Replay(Played):
    """The quantities in ARCOR's theorems."""

    path: Array
    thresholds: Array  # thresholds of intervals 1 ... n

    @property
    def resets(self) -> Array:
        return self.run.resets

    @property
    def intervals(self) -> int:
        return len(self.resets) + 1

    @property
    def inverse(self) -> Array:
        with np.errstate(over="ignore", divide="ignore"):
            inverse: Array = 1 / self.thresholds
        return inverse


def arcor_theorem_1(learner: ARCOR, X: Any, y: Any, u: Any, *, constant: str = "repaired") -> Bound:
    r"""The loss of ARCOR against any sequence within the ball, from the intervals between resets.

    .. math::
        L(u) + 2 (R^2 + Y^2) \sum_i \log\det (\Sigma^i)^{-1} + r |u_1|^2
        + r \sum_{t > 1} \frac{1}{\Lambda_{i(t)}} \Big( \tfrac{3 \sqrt 3}{2} R\, |u_t - u_{t-1}|
        + \tfrac34 (|u_t|^2 - |u_{t-1}|^2) \Big)

    :math:`\Sigma^i` is the matrix at the end of interval i, after its last row and before the reset. The paper prints
    :math:`r\, u_T^\top \Sigma_T^{-1} u_T + 2 R r \sum_t |u_t - u_{t-1}| / \Lambda_{i(t)}` for the last two terms, which the
    loss can exceed: :doc:`/counterexample` has a stream on which it does, the proof of the terms used here, and the reason
    why no constant below :math:`3 \sqrt 3 / 2` will do.

    Args:
        learner: only its parameters matter, not what it has learned.
        X: the rows, (T, d).
        y: their labels, (T,).
        u: fixed weights or a sequence, (T, d), intercept last.
        constant: "repaired", or "printed" for the paper's terms, which prove nothing.

    References: :cite:`vaits2011`, Theorem 1.
    """
    at, conditions = _prepare(learner, X, y, u, "arcor_theorem_1", constant)
    ends = np.append(at.resets + 1, len(at.labels))
    starts = np.append(0, at.resets + 1)
    logarithms = sum(log_det(at.rows[a:b], learner.noise) for a, b in zip(starts, ends, strict=True) if b > a)
    interval = np.searchsorted(at.resets, np.arange(1, len(at.labels)), side="left")  # resets before each row but the first
    inverse, radius, terms = at.inverse[interval].tolist(), _radius(learner), _TERMS[constant]
    steps = np.linalg.norm(np.diff(at.path, axis=0), axis=1).tolist()
    grown = np.diff(np.sum(np.square(at.path), axis=1)).tolist()
    costs = (terms.cost(radius, step, more) for step, more in zip(steps, grown, strict=True))
    moved = sum(times(charge, cost) for charge, cost in zip(inverse, costs, strict=True))
    return _loss_bound(learner, at, conditions, "Theorem 1", constant, {
        "2 (R^2 + Y^2) sum log det": times(_range2(at, radius), logarithms),
        f"noise sum ({terms.drift}) / threshold": learner.noise * moved,
    })  # fmt: skip


def arcor_corollary_1(learner: ARCOR, X: Any, y: Any, u: Any, *, constant: str = "repaired") -> Bound:
    r"""Theorem 1 in terms of the number n of intervals, which is the number of resets plus 1.

    .. math::
        L(u) + 2 (R^2 + Y^2)\, d n \log(1 + T/(n r d)) + r |u_1|^2
        + \frac{r}{\Lambda_n} \Big( \tfrac{3 \sqrt 3}{2} R V' + \tfrac34 \min(|u_T|^2, 2 R V') \Big)

    The paper prints :math:`r\, u_T^\top \Sigma_T^{-1} u_T + 2 R r V' / \Lambda_n` for the last two terms, which the loss can
    exceed too.

    Args:
        learner: only its parameters matter, not what it has learned.
        X: the rows, (T, d).
        y: their labels, (T,).
        u: fixed weights or a sequence, (T, d), intercept last.
        constant: "repaired" or "printed", as for :func:`arcor_theorem_1`.

    References: :cite:`vaits2011`, Corollary 1.
    """
    at, conditions = _prepare(learner, X, y, u, "arcor_corollary_1", constant)
    return _by_intervals(learner, at, conditions, at.intervals, float(at.inverse[-1]), "Corollary 1", constant)


def arcor_corollary_2(learner: ARCOR, X: Any, y: Any, u: Any, *, constant: str = "repaired") -> Bound:
    r"""Theorem 1 for :math:`1/\Lambda_i = i^{q-1} + 1` by the number of rows only: :math:`n \le m = 1 + (q T/r)^{1/q}`.

    .. math::
        L(u) + 2 (R^2 + Y^2)\, d m \log(1 + T/(m r d)) + r |u_1|^2
        + r (m^{q-1} + 1) \Big( \tfrac{3 \sqrt 3}{2} R V' + \tfrac34 \min(|u_T|^2, 2 R V') \Big)

    The paper prints :math:`(q (T+1) + 1)^{1/q}` for m, which n can exceed, and the last two terms of its Theorem 1.

    Args:
        learner: only its parameters matter, not what it has learned. Its schedule must be a power.
        X: the rows, (T, d).
        y: their labels, (T,).
        u: fixed weights or a sequence, (T, d), intercept last.
        constant: "repaired" or "printed", as for :func:`arcor_theorem_1`; m is that above in both.

    References: :cite:`vaits2011`, Corollary 2.
    """
    at, conditions = _prepare(learner, X, y, u, "arcor_corollary_2", constant)
    q = learner.schedule
    power = isinstance(q, (int, float)) and not isinstance(q, bool)
    conditions["the schedule is a power"] = power
    if not power:
        return _by_intervals(learner, at, conditions, math.inf, math.inf, "Corollary 2", constant)
    q = float(q)  # type: ignore[arg-type]
    most = 1 + (q * len(at.labels) / learner.noise) ** (1 / q)
    return _by_intervals(learner, at, conditions, most, most ** (q - 1) + 1, "Corollary 2", constant)


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
    at = _replayed(learner, X, y, "arcor_lemma_1")
    return Bound(
        statement="number of ARCOR's intervals, Lemma 1",
        terms={"least N": _least(learner, len(at.labels))},
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


def _prepare(learner: ARCOR, X: Any, y: Any, u: Any, where: str, constant: str) -> tuple[_Replay, dict[str, bool]]:
    choice(_TERMS).require(where, "constant", constant)
    at = _replayed(learner, X, y, where)
    at = replace(at, path=as_path(u, at.rows, where))
    radius, norm = _radius(learner), largest_norm(at.path)
    return at, {
        **_conditions(at),
        "the learner has a radius": math.isfinite(radius),
        f"every |u_t| is at most the radius: {norm:g} <= {radius:g}": at_most(norm, radius),
        **({_TERMS[constant].reason: False} if _TERMS[constant].reason else {}),
    }


def _replayed(learner: ARCOR, X: Any, y: Any, where: str) -> _Replay:
    """The quantities without a comparator."""
    at = played(learner, ARCOR, X, y, where)
    return _Replay(at.rows, at.labels, at.run, at.rows[:0], _thresholds(learner, len(at.run.resets) + 1))


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


def _penalty(learner: ARCOR, at: _Replay, constant: str) -> float:
    """The term noise |u_1|^2, or noise u' S^-1 u with S the matrix of the rows since the last reset."""
    if constant == "repaired":
        return learner.noise * float(at.path[0] @ at.path[0])
    u, since = at.path[-1], at.rows[at.resets[-1] + 1 if at.resets.size else 0 :]
    return learner.noise * float(u @ u) + float(np.sum(np.square(since @ u)))


def _by_intervals(
    learner: ARCOR, at: _Replay, conditions: dict[str, bool], n: float, cost: float, name: str, constant: str
) -> Bound:
    T, d = at.rows.shape
    radius, r, path, terms = _radius(learner), learner.noise, path_length(at.path), _TERMS[constant]
    logarithms = d * n * math.log1p(T / (n * r * d)) if math.isfinite(n) else T / r
    grown = min(float(at.path[-1] @ at.path[-1]), 2 * times(radius, path))
    return _loss_bound(learner, at, conditions, name, constant, {
        "2 (R^2 + Y^2) d n log(1 + T / (n noise d))": times(_range2(at, radius), logarithms),
        f"noise sum ({terms.drift}) / last threshold": r * times(cost, terms.cost(radius, path, grown)),
    })  # fmt: skip


def _loss_bound(
    learner: ARCOR, at: _Replay, conditions: dict[str, bool], name: str, constant: str, terms: dict[str, float]
) -> Bound:
    penalty = {_TERMS[constant].penalty: _penalty(learner, at, constant)}
    return at.bound(f"loss of ARCOR, {name}{_TERMS[constant].suffix}", at.path, penalty | terms, conditions)
