"""Metrics by their definitions, one row at a time, as a reference for the fast sums."""

from __future__ import annotations

import numpy as np


def weights(kind, row, *, window=1000, fading=0.999):
    """The weight of each of the rows up to ``row`` (0-based, included)."""
    ages = np.arange(row, -1, -1)
    if kind == "cumulative":
        return np.ones(row + 1)
    return (ages < window).astype(float) if kind == "window" else fading**ages


def mse(y, p, w):
    return np.average((y - p) ** 2, weights=w)


def rmse(y, p, w):
    return np.sqrt(mse(y, p, w))


def mae(y, p, w):
    return np.average(np.abs(y - p), weights=w)


def r2(y, p, w):
    if np.count_nonzero(w) < 2:
        return np.nan
    return 1 - mse(y, p, w) / np.average((y - np.average(y, weights=w)) ** 2, weights=w)


def accuracy(y, p, w):
    return np.average(np.sign(y) == np.where(p >= 0, 1, -1), weights=w)


METRICS = {"mse": mse, "rmse": rmse, "mae": mae, "r2": r2, "accuracy": accuracy}


def value(metric, kind, y, p, row, **settings):
    w = weights(kind, row, **settings)
    return METRICS[metric](y[: row + 1], p[: row + 1], w)
