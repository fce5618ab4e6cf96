"""DFOP, from its algorithm."""

from collections.abc import Callable, Sequence
from numbers import Number

import numpy as np
import pytest
from mpmath import mpf

import driftline as dl
from driftline import regret
from tests.reference import Array, Case, Outcome, Reference, at, outcome
from tests.reference.recursion import second_order

Rates = float | Sequence[float] | Callable[[int], float]


def plain(X: Array, y: Array, *, forget_rate: Rates = 0.01, prior: float = 100.0) -> Outcome:
    """Zhao et al., Algorithm 1, lines 3 and 4; the prediction is made before them."""
    if not isinstance(forget_rate, float):
        return scheduled(X, y, forget_rate, prior)
    mu = forget_rate
    P = prior * np.eye(X.shape[1])
    w = np.zeros(X.shape[1])
    predictions, weights = [], []
    for x, label in zip(X, y, strict=True):
        predictions.append(w @ x)
        P = (P - mu * P @ np.outer(x, x) @ P / (1 - mu + mu * x @ P @ x)) / (1 - mu)
        w = w + mu * P @ x * (label - w @ x)
        weights.append(w)
    return outcome(X, predictions, weights, P)


def scheduled(X: Array, y: Array, rates: Sequence[float] | Callable[[int], float], prior: float) -> Outcome:
    """Zhao et al., Eq. (2), solved anew at every row; the prior counts as row 0, in the scale of the first rate."""
    T, d = X.shape
    keep = [1 - at(rates, t) for t in range(1, T + 1)]
    first, P, w = 1 - keep[0], prior * np.eye(d), np.zeros(d)
    predictions, weights = [], []
    for t in range(1, T + 1):
        predictions.append(w @ X[t - 1])
        discounts = np.array([np.prod(keep[i:t]) for i in range(t + 1)])
        rows = X[:t] * (first * discounts[1:])[:, None]
        P = np.linalg.inv(discounts[0] / prior * np.eye(d) + X[:t].T @ rows)
        w = P @ rows.T @ y[:t]
        weights.append(w)
    return outcome(X, predictions, weights, P)


def precise(rows, labels, *, forget_rate, prior):
    if isinstance(forget_rate, Number):
        return second_order(rows, labels, start=prior, divide=1 - forget_rate, noise=1 / forget_rate)
    keep = [1 - mpf(at(forget_rate, t)) for t in range(1, len(rows) + 1)]
    return second_order(rows, labels, start=prior, divide=keep, noise=1 / (1 - keep[0]))


CASES = [
    Case(),
    Case(forget_rate=0.08, prior=20.0),
    Case(forget_rate=0.2, prior=1.0),
    Case(forget_rate=[0.3, 0.1, 0.05], prior=4.0),
    Case(forget_rate=lambda t: 1 / (t + 1), prior=4.0),
]
REFERENCE = Reference(plain, CASES, precise)


def test_a_schedule_of_equal_rates_is_a_constant_rate():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    constant = dl.DFOP(forget_rate=0.1).run(X, y).predictions
    for rates in ([0.1], [0.1] * 7, lambda t: 0.1):
        np.testing.assert_array_equal(dl.DFOP(forget_rate=rates).run(X, y).predictions, constant)


def test_with_a_rate_that_falls_like_1_over_t_row_i_has_the_weight_i_plus_1():
    """The product of 1 - 1/(j + 1) over j > i is (i + 1)/(t + 1); the prior has the weight 1."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    model = dl.DFOP(forget_rate=lambda t: 1 / (t + 1), prior=2.0, intercept=False)
    model.run(X, y)
    best = regret.best_fixed(X, y, 1 / (2.0 * 0.5), sample_weight=np.arange(2.0, 42.0))
    np.testing.assert_allclose(model.coef_, best.weights, rtol=1e-9)


def test_a_schedule_cannot_change_during_learning():
    X, y = np.ones((5, 1)), np.ones(5)
    for before, after in ((0.1, [0.2]), ([0.2], 0.1), ([0.2], [0.3]), (lambda t: 0.1, 0.1)):
        model = dl.DFOP(forget_rate=before)
        model.run(X, y)
        state = model.predict_one([1.0])
        model.set_params(missing="skip")
        with pytest.raises(ValueError, match="DFOP"):
            model.set_params(forget_rate=after)
        assert model.predict_one([1.0]) == state


def test_the_bound_of_theorem_1_needs_a_constant_rate():
    with pytest.raises(ValueError, match=r"dfop_theorem_1: the theorem is about a constant forget_rate, got \[0\.1, 0\.2\]"):
        regret.dfop_theorem_1(dl.DFOP(forget_rate=[0.1, 0.2], intercept=False), np.eye(2), [1.0, 1.0], np.eye(2))
