"""RLS, LASER, Kalman and DFOP: the learners that forget smoothly."""

from collections.abc import Callable

import numpy as np
from numpy.linalg import inv

from .outcome import Array, Outcome, outcome


def rls(
    X: Array,
    y: Array,
    *,
    forgetting: float | Callable[[int], float],
    ridge: float,
) -> Outcome:
    """The weighted batch solution at every row: Zhao et al., Eq. (2), with a ridge.

    Pair i has the weight forgetting(i+1) ... forgetting(t), and the ridge, as if it were
    pair 0, forgetting(1) ... forgetting(t). For a constant this is Hayes 1996, section 9.4.
    """
    T, d = X.shape
    factors = [forgetting(t) if callable(forgetting) else forgetting for t in range(1, T + 1)]
    sigma: Array = np.eye(d) / ridge
    w = np.zeros(d)
    predictions, weights = [], []
    for t in range(1, T + 1):
        predictions.append(w @ X[t - 1])
        discounts = [float(np.prod(factors[i:t])) for i in range(t + 1)]
        information = discounts[0] * ridge * np.eye(d)
        moments = np.zeros(d)
        for i in range(1, t + 1):
            information += discounts[i] * np.outer(X[i - 1], X[i - 1])
            moments += discounts[i] * y[i - 1] * X[i - 1]
        sigma = inv(information)
        w = sigma @ moments
        weights.append(w)
    return outcome(X, predictions, weights, sigma)


def laser(
    X: Array,
    y: Array,
    *,
    ridge: float,
    drift_cost: float,
    clip: float | None = None,
) -> Outcome:
    """Thesis, Fig. 5.1: the D/e form, ridge is b and drift_cost is c."""
    identity = np.eye(X.shape[1])
    D: Array = ridge * drift_cost / (drift_cost - ridge) * identity
    e = np.zeros(X.shape[1])
    predictions, weights = [], []
    for x, label in zip(X, y, strict=True):
        faded = inv(identity + D / drift_cost) @ e
        D = inv(inv(D) + identity / drift_cost) + np.outer(x, x)
        prediction = x @ inv(D) @ faded
        if clip is not None:
            prediction = min(max(prediction, -clip), clip)
        predictions.append(prediction)
        e = faded + label * x
        weights.append(inv(D) @ e)
    return outcome(X, predictions, weights, inv(D))


def kalman(X: Array, y: Array, *, noise: float, drift: float, ridge: float) -> Outcome:
    """The textbook filter of u_t = u_(t-1) + N(0, drift I), y_t = u_t.x_t + N(0, noise).

    Kalman 1960, with the covariance in Joseph's form; u_0 has covariance I / ridge, and
    time passes before the first row too.
    """
    identity = np.eye(X.shape[1])
    P = identity / ridge
    w = np.zeros(X.shape[1])
    predictions, weights = [], []
    for x, label in zip(X, y, strict=True):
        P = P + drift * identity
        predictions.append(w @ x)
        gain = P @ x / (x @ P @ x + noise)
        w = w + gain * (label - w @ x)
        rest = identity - np.outer(gain, x)
        P = rest @ P @ rest.T + noise * np.outer(gain, gain)
        weights.append(w)
    return outcome(X, predictions, weights, P)


def dfop(X: Array, y: Array, *, forget_rate: float, prior: float) -> Outcome:
    """Zhao et al., Algorithm 1, lines 3 and 4; the prediction is made before them."""
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
