"""Learners made of others, from the references of their parts."""

import numpy as np

from .drifting import rls
from .first_order import lms
from .outcome import Array, Outcome
from .resetting import arcor


def network(X: Array, y: Array) -> Outcome:
    """ARCOR without resets and with q = 1, 2, 3, 4; on top ARCOR without resets, in the unit ball."""
    copies = [arcor(X, y, noise=1.0, radius=None, schedule=q) for q in (None, 1.0, 2.0, 3.0, 4.0)]
    top = arcor(np.column_stack([copy.predictions for copy in copies]), y, noise=1.0, radius=1.0, schedule=None)
    weights = sum(top.weights[:, c, None] * copy.weights for c, copy in enumerate(copies))
    return Outcome(predictions=top.predictions, weights=np.asarray(weights))


def averaged(X: Array, y: Array) -> Outcome:
    """The lecture's Theorem 2: the mean of the weights with which LMS predicted; at the start, its first."""
    after = lms(X, y, rate=0.01).weights
    used = np.vstack([np.zeros(X.shape[1]), after[:-1]])
    means = np.array([used[:m].mean(axis=0) for m in range(1, len(y) + 1)])
    before = np.vstack([used[:1], means[:-1]])
    return Outcome(predictions=np.array([w @ x for w, x in zip(before, X, strict=True)]), weights=means)


def pipeline(X: Array, y: Array, intercept: bool) -> Outcome:
    """RLS on rows less the mean, over the deviation, of all rows up to and with their own; 0 where that is 0."""
    Z = np.zeros_like(X)
    for t, x in enumerate(X):
        deviation = X[: t + 1].std(axis=0)
        np.divide(x - X[: t + 1].mean(axis=0), deviation, out=Z[t], where=deviation > 0)
    return rls(np.column_stack([Z, np.ones(len(Z))]) if intercept else Z, y, forgetting=0.99, ridge=1.0)
