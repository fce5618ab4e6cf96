"""LMS, from the lecture that derives it."""

import numpy as np
import pytest
from mpmath import fdot, mpf

import driftline as dl
from tests.reference import Array, Case, Outcome, Reference, longest, outcome
from tests.reference.descent import additive, first_order


def plain(X: Array, y: Array, *, rate: float = 0.01, implicit: bool = False) -> Outcome:
    """Widrow-Hoff, after Schapire's lecture 18, section 1.

    Plain: w_(t+1) = w_t - rate (w_t.x_t - y_t) x_t. Implicit: the exact minimiser of Motivation 2, Eq. (1),
    rate (w.x_t - y_t)^2 + |w - w_t|^2 (printed there without the square of the norm), from its normal equations.
    """
    w = np.zeros(X.shape[1])
    predictions, weights = [], []
    for x, label in zip(X, y, strict=True):
        predictions.append(w @ x)
        if implicit:
            hessian = np.eye(len(x)) + rate * np.outer(x, x)
            w = np.linalg.solve(hessian, w + rate * label * x)
        else:
            w = w - rate * (w @ x - label) * x
        weights.append(w)
    return outcome(X, predictions, weights)


def precise(rows, labels, *, rate, implicit):
    def update(w, x, label):
        step = rate / (1 + rate * fdot(x, x)) if implicit else rate
        return additive(w, x, step * (fdot(w, x) - label))

    return first_order(rows, labels, mpf(0), update)


REFERENCE = Reference(plain, [Case(), Case(rate=0.3, implicit=True)], precise, accuracy=lambda X: {"rate": 0.1 / longest(X)})


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("weight", [0.25, 3.0])
def test_an_implicit_step_of_a_weighted_row_beyond_the_range_meets_its_label(dtype, weight):
    """w <- w + rate weight (y - w.x) x / (1 + rate weight |x|^2), which for an infinite |x| is the solution of w.x = y."""
    size = 1e200 if dtype == "float64" else 1e30
    X = size * np.array([[1.0, -2.0], [0.5, 1.0]])
    y = np.array([4e5, -2e5]) * (1.0 if dtype == "float64" else 1e5)
    model = dl.LMS(rate=0.1, implicit=True, intercept=False, dtype=dtype)
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label, sample_weight=weight)
        assert model.predict_one(x) == pytest.approx(label, rel=1e-5)
