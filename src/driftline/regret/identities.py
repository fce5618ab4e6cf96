"""The comparator whose value equals a learner's running sum."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftline._core import Likelihood
from driftline.base.learner import Learner
from driftline.linear import LASER, WEMM, Add, Divide, WeightedLASER
from driftline.linear.policies import Policy
from driftline.linear.recursion import Recursive
from driftline.regret.comparators import BestFixed, BestSequence, best_fixed, best_sequence
from driftline.regret.drifting import weighted_information
from driftline.regret.min_max import wemm_weights
from driftline.regret.rows import as_rows


def comparator(learner: Learner, X: Any, y: Any) -> BestFixed | BestSequence:
    """Solves for a second-order learner's best comparator: its ``value`` is ``learner.certificate().comparator``.

    Fixed weights for Ridge, AAR and AROWR; for RLS and DFOP with discounted rows, for WEMM with its row weights. A sequence
    for LASER, Kalman and, with its row weights, WeightedLASER. A learner that resets or projects has no comparator.

    Args:
        learner: only its parameters matter, not what it has learned.
        X: the rows, (T, d).
        y: their labels, (T,).

    >>> import driftline as dl
    >>> learner = dl.Kalman(noise=1.0, drift=0.5, ridge=1.0, intercept=False)
    >>> run = learner.run([[1.0], [1.0]], [1.0, 3.0])
    >>> round(learner.certificate().comparator, 9), round(comparator(learner, [[1.0], [1.0]], [1.0, 3.0]).value, 9)
    (3.142857143, 3.142857143)
    """
    name = type(learner).__name__
    if not isinstance(learner, Recursive):
        raise TypeError(f"comparator: {name} is not a second-order learner")
    rows, labels = as_rows(X, y, "comparator", learner.intercept)
    if isinstance(learner, LASER):
        return best_sequence(rows, labels, learner.ridge, learner.drift_cost)
    if isinstance(learner, WeightedLASER):
        row_weights, _, _ = weighted_information(rows, learner)
        if not np.isfinite(row_weights).all():
            raise ValueError(f"comparator: {name} has no comparator on these rows")
        return best_sequence(rows, labels, learner.ridge, learner.drift_cost, sample_weight=row_weights)
    if isinstance(learner, WEMM):
        learner = type(learner)(**learner.get_params(deep=False))
        learner.set_ridge(rows[0])
    policy = learner._policy()
    if policy.reset is not None or (policy.radius is not None and math.isfinite(policy.radius)):
        raise ValueError(f"comparator: {name} resets or projects, so the identity does not hold")
    if policy.robustness > 0 or policy.concavity > 0 or policy.likelihood is not Likelihood.NONE:
        raise ValueError(f"comparator: {name} does not minimise a penalised loss")
    if policy.noise is None:
        weights = wemm_weights(rows, 1 / policy.start)
        if policy.time is not None or weights is None:
            raise ValueError(f"comparator: {name} has no comparator on these rows")
        return best_fixed(rows, labels, 1 / policy.start, sample_weight=weights)
    ridge = policy.noise / policy.start
    if isinstance(policy.time, Add):
        cost = policy.noise / policy.time.drift if policy.time.drift > 0 else math.inf
        return best_sequence(rows, labels, ridge, cost, ridge_at=0)
    discounts = _discounts(policy, len(labels))
    return best_fixed(rows, labels, ridge * float(discounts[0]), sample_weight=discounts[1:])


def _discounts(policy: Policy, T: int) -> Any:
    """The discounts of the prior and of each row after the last row."""
    factors = policy.time.values(1, T) if isinstance(policy.time, Divide) else np.ones(T)
    return np.append(np.cumprod(factors[::-1])[::-1], 1.0)
