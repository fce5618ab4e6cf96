"""Bounds for learners that compete with fixed weights: AAR, AROWR and the network's top layer; the thesis's table."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.ensembles.network_bound import NETWORK_CONDITION, is_network_top, network_terms
from driftline.linear import AAR, ARCOR, AROWR
from driftline.regret.bound import Bound
from driftline.regret.comparators import best_fixed
from driftline.regret.rows import (
    Played,
    as_fixed,
    as_rows,
    at_most,
    label_limit,
    largest_label,
    largest_norm,
    log_det,
    losses_of,
    played,
    replay,
)
from driftline.tables.inputs import Array


def aar(learner: AAR, X: Any, y: Any, u: Any = None, *, label: float | None = None) -> Bound:
    r"""The loss of AAR is at most :math:`L(u) + b|u|^2 + Y^2 \log\det(I + \sum x x^\top / b)` for any u.

    Args:
        learner: only its parameters matter, not what it has learned.
        X: the rows, (T, d).
        y: their labels, (T,).
        u: fixed weights, intercept last; None takes those that minimise the bound.
        label: a bound Y on the labels; None takes the largest.

    References: :cite:`vovk2001`; :cite:`forster1999`; :cite:`moroshko2013`, Table 4.1.

    >>> import driftline as dl
    >>> bound = aar(dl.AAR(ridge=1.0, intercept=False), [[1.0], [1.0]], [1.0, 1.0])
    >>> round(bound.observed, 4), round(bound.value, 4)
    (1.4444, 1.7653)
    """
    at = played(learner, AAR, X, y, "aar")
    fixed = _fixed(u, at, learner.ridge, "aar")
    Y, conditions = label_limit(at.labels, label, "aar", learner.clip)
    terms = {
        "ridge |u|^2": learner.ridge * float(fixed @ fixed),
        "Y^2 log det": Y * Y * log_det(at.rows, learner.ridge),
    }
    return at.bound("loss of AAR", fixed, terms, conditions)


def arowr(learner: AROWR, X: Any, y: Any, u: Any = None) -> Bound:
    r"""The loss of AROWR is at most :math:`L(u) + r b|u|^2 + A \log\det(I + \sum x x^\top / (r b))` for any u.

    A is the learner's largest loss on one row. The theorem has no conditions.

    Args:
        learner: only its parameters matter, not what it has learned.
        X: the rows, (T, d).
        y: their labels, (T,).
        u: fixed weights, intercept last; None takes those that minimise the bound.

    References: :cite:`crammer2012`; :cite:`moroshko2013`, Table 4.1, where :math:`|x| \le 1`.

    >>> import driftline as dl
    >>> bound = arowr(dl.AROWR(noise=1.0, intercept=False), [[1.0], [1.0]], [1.0, 1.0])
    >>> round(bound.observed, 4), round(bound.value, 4)
    (1.25, 1.7653)
    """
    at = played(learner, AROWR, X, y, "arowr")
    ridge = learner.noise * learner.ridge
    fixed = _fixed(u, at, ridge, "arowr")
    terms = {
        "noise ridge |u|^2": ridge * float(fixed @ fixed),
        "A log det": float(at.run.losses.max()) * log_det(at.rows, ridge),
    }
    return at.bound("loss of AROWR", fixed, terms, {})


def network(predictions: Any, y: Any, *, noise: float | None = None, top: Learner | None = None) -> Bound:
    r"""The loss of the network is at most :math:`\min_c L_c + r + A \log\det(I + \sum p p^\top / r)`.

    p is the vector of the copies' predictions, :math:`L_c` the loss of copy c, A the largest loss of the network on one row.

    Args:
        predictions: the copies' predictions, (T, C).
        y: the labels, (T,).
        noise: r of the top learner; None takes that of ``top``, or 1 without one.
        top: the top learner, if not ARCOR with radius 1 and no resets; AROWR with ridge 1 works too.

    References: :cite:`vaits2011`, Theorem 2, here with its constant.

    >>> import numpy as np
    >>> copies = np.array([[0.0, 1.0], [0.5, 1.0], [0.7, 1.0]])
    >>> bound = network(copies, [1.0, 1.0, 1.0])
    >>> round(bound.observed, 4), round(bound.value, 4), bound.terms["loss of the best copy"]
    (1.3161, 2.7084, 0.0)
    """
    copies, labels = as_rows(predictions, y, "network")
    if noise is None:
        noise = float(getattr(top, "noise", 1.0))
    if top is None:
        top = ARCOR(noise=noise, radius=1.0, schedule=None, intercept=False)
    run = replay(top, copies, labels)
    return Bound(
        statement="loss of the network, ARCOR's Theorem 2",
        terms=network_terms(
            float(np.square(labels[:, None] - copies).sum(axis=0).min()),
            float(noise),
            float(run.losses.max()),
            log_det(copies, noise),
        ),
        conditions={NETWORK_CONDITION: is_network_top(top, noise)},
        observed=float(run.losses.sum()),
    )


def table_4_1(X: Any, y: Any, u: Any, *, ridge: float = 2.0, noise: float = 1.0) -> dict[str, Bound]:
    r"""The bounds on the regret to u that the thesis compares, for inputs in the unit ball, by the number of rows.

    X is used as it is, without an intercept. The row of Theorem 6 has the 1 that the printed table omits.

    Args:
        X: the rows, (T, d).
        y: their labels, (T,).
        u: fixed weights.
        ridge: b, above 1.
        noise: r of AROWR.

    References: :cite:`moroshko2013`, Table 4.1.
    """
    rows, labels = as_rows(X, y, "table_4_1")
    fixed = as_fixed(u, rows, "table_4_1")
    (T, d), b, r = rows.shape, ridge, noise
    losses = losses_of(fixed, rows, labels)
    L, S, Y, square = float(losses.sum()), float(losses.max()), largest_label(labels), float(fixed @ fixed)
    A = float(replay(AROWR(noise=r, ridge=b, intercept=False), rows, labels).losses.max())
    range2 = (math.sqrt(square) + Y) ** 2
    grown = b / (b - 1) if b > 1 else math.inf
    each = {
        "Vovk, Forster: AAR": (b * square, d * Y * Y * math.log1p(T / (d * b))),
        "Crammer et al.: AROWR": (r * b * square, d * A * math.log1p(T / (d * r * b))),
        "Orabona et al.": (2 * square, d * range2 * math.log1p((2 * square + L) / (d * range2)) if range2 else 0.0),
        "Theorem 5: WEMM": (b * square, S * d * grown * math.log1p(T / (d * (b - 1))) if S and b > 1 else 0.0),
        "Theorem 6: WEMM": (b * square, S * d * grown * (1 + math.log1p(L / (S * d))) if S else 0.0),
    }
    conditions = {"no input's norm exceeds 1": at_most(largest_norm(rows), 1.0)}
    above = {f"ridge > 1: {b:g}": b > 1}
    return {
        name: Bound(
            statement=f"regret to u, {name}",
            terms={"penalty of u": penalty, "logarithm": logarithm},
            conditions=conditions | (above if "WEMM" in name else {}),
        )
        for name, (penalty, logarithm) in each.items()
    }


def _fixed(u: Any, at: Played, ridge: float, where: str) -> Array:
    return best_fixed(at.rows, at.labels, ridge).weights if u is None else as_fixed(u, at.rows, where)
