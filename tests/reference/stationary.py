"""Ridge, AAR, AROWR and WEMM: Table 3.1 of Moroshko's thesis (2013).

Each from its optimisation problem or its figure, with explicit inverses.
"""

import numpy as np
from numpy.linalg import inv

from .outcome import Array, Outcome, outcome


def _ridge_covariance(X: Array, ridge: float) -> Array:
    """(b I + sum x x')^-1 over all rows of X."""
    return inv(ridge * np.eye(X.shape[1]) + X.T @ X)


def ridge(X: Array, y: Array, *, ridge: float) -> Outcome:
    """Thesis, section 3.4: w_t = argmin sum_(i<=t) (y_i - w.x_i)^2 + ridge |w|^2."""
    sigma = _ridge_covariance(X[:0], ridge)
    w = np.zeros(X.shape[1])
    predictions, weights = [], []
    for t in range(len(y)):
        predictions.append(w @ X[t])
        sigma = _ridge_covariance(X[: t + 1], ridge)
        w = sigma @ X[: t + 1].T @ y[: t + 1]
        weights.append(w)
    return outcome(X, predictions, weights, sigma)


def aar(X: Array, y: Array, *, ridge: float, clip: float | None = None) -> Outcome:
    """Vovk 2001, Forster 1999: ridge regression with the extra pair (x_t, 0).

    Thesis, section 3.4. The weights that Outcome holds are those without the extra pair
    (the column of Table 3.1), which is what remains after the row. Clip is Forster's Y.
    """
    sigma = _ridge_covariance(X[:0], ridge)
    predictions, weights = [], []
    for t in range(len(y)):
        with_zero = np.append(y[:t], 0.0)
        sigma = _ridge_covariance(X[: t + 1], ridge)
        prediction = X[t] @ (sigma @ X[: t + 1].T @ with_zero)
        if clip is not None:
            prediction = min(max(prediction, -clip), clip)
        predictions.append(prediction)
        weights.append(sigma @ X[: t + 1].T @ y[: t + 1])
    return outcome(X, predictions, weights, sigma)


def arowr(X: Array, y: Array, *, noise: float, ridge: float) -> Outcome:
    """Vaits & Crammer 2011, Eqs. (3) and (4); thesis, Table 3.1, first column."""
    d = X.shape[1]
    precision = ridge * np.eye(d)
    w = np.zeros(d)
    predictions, weights = [], []
    for x, label in zip(X, y, strict=True):
        sigma = inv(precision)
        predictions.append(w @ x)
        w = w - (w @ x - label) / (noise + x @ sigma @ x) * (sigma @ x)
        precision = precision + np.outer(x, x) / noise
        weights.append(w)
    return outcome(X, predictions, weights, inv(precision))


def wemm(X: Array, y: Array, *, ridge: float | None = None) -> Outcome:
    """Thesis, Fig. 3.2: the A/b form. Without a ridge it is 2 |x_1|^2 + 1."""
    if ridge is None:
        ridge = 2 * float(X[0] @ X[0]) + 1
    A = ridge * np.eye(X.shape[1])
    b = np.zeros(X.shape[1])
    predictions, weights = [], []
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        predictions.append(b @ inv(A) @ x)
        s = x @ inv(A) @ x
        if s >= 1:
            raise ValueError(f"wemm: x.S.x must be below 1, got {s} at row {t}")
        a = 1 / (1 - s)
        A = A + a * np.outer(x, x)
        b = b + a * label * x
        weights.append(inv(A) @ b)
    return outcome(X, predictions, weights, inv(A))
