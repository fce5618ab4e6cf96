"""AAR, the forecaster of Vovk and Forster, from its optimisation problem."""

import numpy as np

import driftline as dl
from tests.reference import Array, Case, Outcome, Reference, outcome
from tests.reference.recursion import second_order
from tests.streams import drifting
from tests.test_linear.test_ridge import covariance


def plain(X: Array, y: Array, *, ridge: float = 1.0, clip: float | None = None) -> Outcome:
    """Vovk 2001, Forster 1999: ridge regression with the extra pair (x_t, 0). Clip is Forster's Y.

    Moroshko's thesis, section 3.4. The weights after a row are those without the extra pair (the column of Table 3.1).
    """
    predictions, weights = [], []
    for t in range(len(y)):
        past = covariance(X[: t + 1], ridge) @ X[: t + 1].T
        prediction = X[t] @ past @ np.append(y[:t], 0.0)
        predictions.append(prediction if clip is None else min(max(prediction, -clip), clip))
        weights.append(past @ y[: t + 1])
    return outcome(X, predictions, weights, covariance(X, ridge))


def precise(rows, labels, *, ridge, clip):
    return second_order(rows, labels, start=1 / ridge, shrink=True, clip=clip)


REFERENCE = Reference(plain, [Case(), Case(ridge=0.7), Case(ridge=5.0, clip=0.5)], precise)


def test_the_case_with_a_clip_clips():
    X, y = drifting(seed=400, rows=40, d=4)
    assert np.abs(dl.AAR(ridge=5.0, clip=0.5).run(X, y).predictions).max() == 0.5
