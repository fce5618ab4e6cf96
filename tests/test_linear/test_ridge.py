"""Ridge regression, from its optimisation problem."""

import numpy as np
from numpy.linalg import inv

from tests.reference import Array, Case, Outcome, Reference, outcome
from tests.reference.recursion import second_order


def plain(X: Array, y: Array, *, ridge: float = 1.0) -> Outcome:
    """Moroshko's thesis, section 3.4: w_t = argmin sum_(i<=t) (y_i - w.x_i)^2 + ridge |w|^2."""
    w = np.zeros(X.shape[1])
    predictions, weights = [], []
    for t in range(len(y)):
        predictions.append(w @ X[t])
        w = covariance(X[: t + 1], ridge) @ X[: t + 1].T @ y[: t + 1]
        weights.append(w)
    return outcome(X, predictions, weights, covariance(X, ridge))


def covariance(X: Array, ridge: float) -> Array:
    """(ridge I + sum x x')^-1 over all rows of X."""
    return inv(ridge * np.eye(X.shape[1]) + X.T @ X)


def precise(rows, labels, *, ridge):
    return second_order(rows, labels, start=1 / ridge)


REFERENCE = Reference(plain, [Case(), Case(ridge=0.7), Case(ridge=50.0)], precise)
