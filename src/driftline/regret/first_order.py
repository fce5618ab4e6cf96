"""Bounds of the lecture on Widrow-Hoff: the loss of LMS, and the risk of its averaged weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftline.base.rules import PROBABILITY
from driftline.errors import DivergenceError
from driftline.linear import LMS
from driftline.regret.bound import Bound
from driftline.regret.comparators import best_fixed
from driftline.regret.rows import as_fixed, as_rows, label_limit, losses_of, norm_limit, replay, rows_for
from driftline.tables.inputs import Array

_MEANS = "the risks are means over the rows given"


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
    rows, labels = rows_for(learner, LMS, X, y, "lms")
    rate, share, conditions = _rate_conditions(learner, rows, norm, "lms")
    fixed = _best(rows, labels, rate, share, 1.0) if u is None else as_fixed(u, rows, "lms")
    try:
        observed = float(replay(learner, X, y).losses.sum())
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
    confidence: float | None = None,
    label: float | None = None,
) -> Bound:
    r"""The risk of the mean of LMS's weights is at most :math:`R(u) / (1 - \eta X^2) + |u|^2/(\eta m)` in expectation.

    With ``confidence``, :math:`\delta`, it is at most the following with probability :math:`1 - \delta`, for all u at once:

    .. math::
        \frac{1}{1 - \eta X^2} \frac 1m \sum_{t \le m} (y_t - u \cdot x_t)^2 + \frac{|u|^2}{\eta m}
        + B \sqrt{\frac{\ln((k+1)(k+2)/\delta)}{2 m}}, \quad B = 4 Y^2 2^k,

    where k is the least whole number for which :math:`(|w_t| X + Y)^2 \le B` for all weights that predict. The differences
    between the risk of :math:`w_t` and its loss are martingale differences in an interval of length B, so that the
    Hoeffding-Azuma inequality applies, once for each k.

    Args:
        learner: only its parameters matter, not what it has learned.
        X: the sample, m rows in random order.
        y: their labels, (m,).
        u: fixed weights, intercept last; None takes those that minimise the bound.
        holdout: other rows and labels from the same distribution, for the risks of u and the mean weights. Without them
            the risk of u is its mean loss on the sample, and the risk of the mean weights is unknown.
        norm: a bound X on the norms of the inputs, including the constant feature; None takes the largest.
        confidence: the probability with which the bound may fail, 0.05 for one that holds with probability 0.95; None for
            the bound on the expectation.
        label: a bound Y on the labels, which only the bound with ``confidence`` needs; None takes the largest.

    References: :cite:`schapire2018`, Theorem 2, and the remark before it; :cite:`cesabianchi2004`.
    """
    where = "online_to_batch"
    rows, labels = rows_for(learner, LMS, X, y, where)
    judged, truths = rows, labels
    if holdout is not None:
        judged, truths = as_rows(*holdout, where, learner.intercept)
    rate, share, conditions = _rate_conditions(learner, np.vstack([rows, judged]), norm, where)
    m = len(labels)
    weights = _predicting(learner, X, y) if holdout is not None or confidence is not None else None
    observed = None
    if holdout is not None:
        observed = math.inf if weights is None else float(losses_of(weights.mean(axis=0), judged, truths).mean())
    if confidence is not None:
        PROBABILITY.require(where, "confidence", confidence)
    on, data = ((judged, truths), "risk") if confidence is None else ((rows, labels), "loss on the sample")
    fixed = _best(*on, rate, share, len(on[1]) / m) if u is None else as_fixed(u, rows, where)
    terms = {
        f"{data} of u / (1 - rate X^2)": _inflated(float(losses_of(fixed, *on).mean()), share),
        "|u|^2 / (rate m)": float(fixed @ fixed) / (rate * m),
    }
    if confidence is None:
        statement = "expected risk of the averaged weights of LMS, lecture's Theorem 2"
        limits: tuple[str, ...] = ("the bound is on the expectation over samples; one sample may exceed it", _MEANS)
    else:
        statement = f"risk of the averaged weights of LMS, with probability {1 - confidence:g}"
        largest, _ = norm_limit(np.vstack([rows, judged]), norm, where)
        Y, limited_labels = label_limit(np.append(labels, truths), label, where)
        conditions |= limited_labels
        terms["deviation"] = math.inf if weights is None else _deviation(weights, largest, Y, m, confidence)
        limited = f"no norm exceeds {largest:g} and no label {Y:g} in that distribution"
        limits = (limited, f"the bound may fail with probability {confidence:g}", _MEANS)
    drawn = "the rows are drawn independently from one distribution"
    return Bound(statement, terms, conditions, observed, assumptions=(drawn, *limits))


def _predicting(learner: LMS, X: Any, y: Any) -> Array | None:
    """The weights that predict the rows, without the last, which never do; None if they diverge."""
    try:
        weights = replay(learner, X, y, weights_every=1).weights
    except DivergenceError:
        return None
    assert weights is not None
    return np.vstack([np.zeros_like(weights[:1]), weights[:-1]])


def _deviation(weights: Array, norm: float, label: float, m: int, confidence: float) -> float:
    """How far the mean risk of the weights may exceed their mean loss."""
    if label == 0:  # then all weights are 0, and so is the risk
        return 0.0
    doubles = 2 * math.log2(float(np.hypot.reduce(weights, axis=1, initial=0.0).max()) * norm / (2 * label) + 0.5)
    if not doubles <= 1000:  # only if a condition fails
        return math.inf
    k = max(0, math.ceil(doubles))
    return 4 * label * label * 2.0**k * math.sqrt(math.log((k + 1) * (k + 2) / confidence) / (2 * m))


def _rate_conditions(learner: LMS, rows: Array, norm: float | None, where: str) -> tuple[float, float, dict[str, bool]]:
    X, limited = norm_limit(rows, norm, where)
    share = 1 - learner.rate * X * X
    conditions = {
        f"rate * X^2 < 1: {learner.rate:g} * {X * X:g}": share > 0,
        "the update is the plain one, not implicit": not learner.implicit,
    }
    return learner.rate, share, conditions | limited


def _best(rows: Array, labels: Array, rate: float, share: float, ratio: float) -> Array:
    return best_fixed(rows, labels, ridge=max(share, 0.0) * ratio / rate).weights


def _inflated(loss: float, share: float) -> float:
    return loss / share if share > 0 else math.inf
