"""DFOP by definition: at every row the weighted least squares of Eq. (3) with the prior, by an explicit inverse."""

import numpy as np


def with_one(X):
    return np.column_stack([X, np.ones(len(X))])


def weights(X, y, mu, prior):
    """The weights before the first row and after each row, as an array of shape (T + 1, d)."""
    d = X.shape[1]
    found = [np.zeros(d)]
    for t in range(1, len(y) + 1):
        discount = (1 - mu) ** np.arange(t - 1, -1, -1)
        scale = mu if mu > 0 else 1.0  # for RLS (mu -> 0) the prior is P_0 itself
        information = (1 - mu) ** t / prior * np.eye(d) + scale * (X[:t].T * discount) @ X[:t]
        found.append(np.linalg.inv(information) @ (scale * X[:t].T @ (discount * y[:t])))
    return np.array(found)


def before(X, y, mu, prior):
    """Predictions of rows before they are learned."""
    return np.einsum("td,td->t", X, weights(X, y, mu, prior)[:-1])


def after(X, y, mu, prior):
    """Predictions of rows after they are learned: line 5 of Algorithm 1."""
    return np.einsum("td,td->t", X, weights(X, y, mu, prior)[1:])


def right(prediction, y):
    """The share of labels whose sign was predicted; a prediction of 0 counts as 1."""
    return float(np.mean(np.where(prediction >= 0, 1.0, -1.0) == y))
