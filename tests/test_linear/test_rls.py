"""RLS as the batch solution of all rows so far."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.linalg import inv

from tests.reference import Array, Case, Outcome, Reference, at, outcome
from tests.reference.recursion import restored, second_order


def kept_ridges(factors: Sequence[float], ridge: float) -> list[float]:
    """The ridge after each row if the prior is kept: see :func:`~tests.reference.recursion.restored`."""
    shares, now = [], 1.0
    for factor in factors:
        now = restored(factor * now, factor)
        shares.append(now)
    return [ridge * share for share in shares]


def plain(
    X: Array,
    y: Array,
    *,
    forgetting: float | Sequence[float] | Callable[[int], float] = 0.99,
    ridge: float = 1.0,
    keep_prior: bool = False,
) -> Outcome:
    """The weighted batch solution at every row: Zhao et al., Eq. (2), with a ridge.

    Pair i has the weight forgetting(i+1) ... forgetting(t). Unless the prior is kept, the ridge counts as pair 0: its
    weight is forgetting(1) ... forgetting(t). For a constant this is Hayes 1996, section 9.4.
    """
    T, d = X.shape
    factors = [at(forgetting, t) for t in range(1, T + 1)]
    ridges = kept_ridges(factors, ridge)
    sigma: Array = np.eye(d) / ridge
    w = np.zeros(d)
    predictions, weights = [], []
    for t in range(1, T + 1):
        predictions.append(w @ X[t - 1])
        discounts = [float(np.prod(factors[i:t])) for i in range(t + 1)]
        information = (ridges[t - 1] if keep_prior else discounts[0] * ridge) * np.eye(d)
        moments = np.zeros(d)
        for i in range(1, t + 1):
            information += discounts[i] * np.outer(X[i - 1], X[i - 1])
            moments += discounts[i] * y[i - 1] * X[i - 1]
        sigma = inv(information)
        w = sigma @ moments
        weights.append(w)
    return outcome(X, predictions, weights, sigma)


def precise(rows, labels, *, forgetting, ridge, keep_prior):
    return second_order(rows, labels, start=1 / ridge, divide=forgetting, keep_prior=keep_prior)


CASES = [
    Case(),
    Case(forgetting=0.9, ridge=0.7),
    Case(forgetting=0.999, ridge=3.0),
    Case(forgetting=lambda t: 1 - 0.5 / t, ridge=0.7),
    Case(forgetting=[0.8, 1.0, 0.95], ridge=0.7),
    Case(keep_prior=True),
    Case(forgetting=0.9, ridge=0.7, keep_prior=True),
    Case(forgetting=0.3, ridge=2.0, keep_prior=True),
    Case(forgetting=lambda t: 1 - 0.5 / t, ridge=0.7, keep_prior=True),
    Case(forgetting=[0.8, 1.0, 0.4, 0.95], ridge=0.01, keep_prior=True),
]
REFERENCE = Reference(plain, CASES, precise)
