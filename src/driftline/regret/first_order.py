"""Bounds of the lecture on Widrow-Hoff: the loss of LMS, and the risk of its averaged weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftline.errors import DivergenceError
from driftline.linear import LMS
from driftline.regret.bound import Bound
from driftline.regret.comparators import best_fixed
from driftline.regret.rows import as_fixed, as_rows, at_most, expect, largest_norm, losses_of, replay
from driftline.tables.inputs import Array


def lms(learner: LMS, X: Any, y: Any, u: Any = None, *, norm: float | None = None) -> Bound:
    r"""The loss of LMS is at most :math:`L(u) / (1 - \eta X^2) + |u|^2/\eta` for any u, where :math:`\eta X^2 < 1`.

    Args:
        learner: only its parameters matter, not what it has learned.
        X: the rows, (T, d).
        y: their labels, (T,).
        u: fixed weights, intercept last; None takes those that minimise the bound.
        norm: a bound X on the norms of the inputs, including the constant feature; None takes the largest.

    References: :cite:`schapire2018`, Theorem 1, which has X = 1.

    >>> import driftline as dl
    >>> bound = lms(dl.LMS(rate=0.1, intercept=False), [[1.0], [1.0], [1.0]], [1.0, 1.0, 1.0], u=[1.0])
    >>> round(bound.observed, 4), bound.value, bound.applies
    (2.4661, 10.0, True)
    """
    expect(learner, LMS, "lms")
    rows, labels = as_rows(X, y, "lms", learner.intercept)
    rate, share, conditions = _rate_conditions(learner, rows, norm)
    fixed = _best(rows, labels, rate, share, 1.0) if u is None else as_fixed(u, rows, "lms")
    try:
        observed = float(replay(learner, X, y)[1].losses.sum())
    except DivergenceError:  # only if a condition fails
        observed = math.inf
    return Bound(
        statement="loss of LMS, lecture's Theorem 1",
        terms={
            "loss of u / (1 - rate X^2)": _inflated(float(losses_of(fixed, rows, labels).sum()), share),
            "|u|^2 / rate": float(fixed @ fixed) / rate,
        },
        conditions=conditions,
        observed=observed,
    )


def online_to_batch(
    learner: LMS,
    X: Any,
    y: Any,
    u: Any = None,
    *,
    holdout: tuple[Any, Any] | None = None,
    norm: float | None = None,
) -> Bound:
    r"""The risk of the mean of LMS's weights is at most :math:`R(u) / (1 - \eta X^2) + |u|^2/(\eta m)` in expectation.

    Args:
        learner: only its parameters matter, not what it has learned.
        X: the sample, m rows in random order.
        y: their labels, (m,).
        u: fixed weights, intercept last; None takes those that minimise the bound.
        holdout: other rows and labels from the same distribution, for the risks of u and the mean weights. Without them
            the risk of u is its mean loss on the sample, and the risk of the mean weights is unknown.
        norm: a bound X on the norms of the inputs, including the constant feature; None takes the largest.

    References: :cite:`schapire2018`, Theorem 2.
    """
    expect(learner, LMS, "online_to_batch")
    rows, labels = as_rows(X, y, "online_to_batch", learner.intercept)
    judged, truths = rows, labels
    if holdout is not None:
        judged, truths = as_rows(*holdout, "online_to_batch", learner.intercept)
    rate, share, conditions = _rate_conditions(learner, np.vstack([rows, judged]), norm)
    m = len(labels)
    ratio = len(truths) / m
    fixed = _best(judged, truths, rate, share, ratio) if u is None else as_fixed(u, rows, "online_to_batch")
    observed = None
    if holdout is not None:
        try:
            _, run = replay(learner, X, y, weights_every=1)
            assert run.weights is not None
            mean = run.weights[:-1].sum(axis=0) / m  # of the weights that predicted: the last never did
            observed = float(losses_of(mean, judged, truths).mean())
        except DivergenceError:
            observed = math.inf
    return Bound(
        statement="expected risk of the averaged weights of LMS, lecture's Theorem 2",
        terms={
            "risk of u / (1 - rate X^2)": _inflated(float(losses_of(fixed, judged, truths).mean()), share),
            "|u|^2 / (rate m)": float(fixed @ fixed) / (rate * m),
        },
        conditions=conditions,
        observed=observed,
        assumptions=(
            "the rows are drawn independently from one distribution",
            "the bound is on the expectation over samples; one sample may exceed it",
            "the risks are means over the rows given",
        ),
    )


def _rate_conditions(learner: LMS, rows: Array, norm: float | None) -> tuple[float, float, dict[str, bool]]:
    largest = largest_norm(rows)
    X = largest if norm is None else float(norm)
    share = 1 - learner.rate * X * X
    conditions = {
        f"rate * X^2 < 1: {learner.rate:g} * {X * X:g}": share > 0,
        "the update is the plain one, not implicit": not learner.implicit,
    }
    if norm is not None:
        conditions[f"every input's norm is at most {X:g}"] = at_most(largest, X)
    return learner.rate, share, conditions


def _best(rows: Array, labels: Array, rate: float, share: float, ratio: float) -> Array:
    return best_fixed(rows, labels, ridge=max(share, 0.0) * ratio / rate).weights


def _inflated(loss: float, share: float) -> float:
    return loss / share if share > 0 else math.inf
