"""The other libraries ("peers"), used as their documentation recommends: RLS with the same forgetting, ridge and start.

A one-row peer is a loop over (row, label) that predicts, then learns, and returns the predictions. Its rows (arrays,
mappings, matrices of one row) are prepared before timing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import padasip
from bayesianbandits import ExponentialForgetting, NormalRegressor
from filterpy.kalman import KalmanFilter
from river import linear_model
from sklearn.linear_model import SGDRegressor

from benchmarks.data import Array
from benchmarks.numba_rls import learn_row, predict_row

FORGETTING = 0.999
RIDGE = 1.0

Loop = Callable[[Sequence[Any], Sequence[float]], list[float]]


@dataclass(frozen=True)
class Peer:
    label: str
    make: Callable[[], Loop]
    rows: Callable[[Array], list[Any]]
    is_rls: bool


def array_rows(X: Array) -> list[Array]:
    return list(X)


def mapping_rows(X: Array) -> list[dict[str, float]]:
    names = [f"feature_{j}" for j in range(X.shape[1])]
    return [dict(zip(names, row, strict=True)) for row in X.tolist()]


def matrix_rows(X: Array) -> list[Array]:
    return [X[i : i + 1] for i in range(len(X))]


def one_row_peers(d: int) -> list[Peer]:
    return [
        Peer("NumPy loop", partial(numpy_rls, d), array_rows, True),
        Peer("numba functions", partial(numba_rls, d), array_rows, True),
        Peer("padasip FilterRLS", partial(padasip_rls, d), array_rows, True),
        Peer("filterpy KalmanFilter", partial(filterpy_rls, d), matrix_rows, True),
        Peer("bayesianbandits NormalRegressor", bayesian_bandits, matrix_rows, True),
        Peer("River BayesianLinearRegression", river_bayesian, mapping_rows, True),
        Peer("River LinearRegression (first order)", river_linear, mapping_rows, False),
        Peer("scikit-learn SGDRegressor (first order)", partial(sklearn_sgd, d), matrix_rows, False),
    ]


def numpy_rls(d: int) -> Loop:
    w, S = np.zeros(d), np.eye(d) / RIDGE

    def loop(xs: Sequence[Array], ys: Sequence[float]) -> list[float]:
        predictions = []
        for x, y in zip(xs, ys, strict=True):
            f = w @ x
            predictions.append(float(f))
            k = S @ x
            scale = FORGETTING + k @ x
            np.add(w, k * ((y - f) / scale), out=w)
            k /= np.sqrt(scale)
            np.subtract(S, k[:, None] * k, out=S)
            np.divide(S, FORGETTING, out=S)
        return predictions

    return loop


def numba_rls(d: int) -> Loop:
    w, S, k = np.zeros(d), np.eye(d) / RIDGE, np.empty(d)

    def loop(xs: Sequence[Array], ys: Sequence[float]) -> list[float]:
        predictions = []
        for x, y in zip(xs, ys, strict=True):
            predictions.append(predict_row(w, x))
            learn_row(w, S, k, x, y, FORGETTING)
        return predictions

    return loop


def padasip_rls(d: int) -> Loop:
    model = padasip.filters.FilterRLS(n=d, mu=FORGETTING, eps=RIDGE, w="zeros")

    def loop(xs: Sequence[Array], ys: Sequence[float]) -> list[float]:
        predictions = []
        for x, y in zip(xs, ys, strict=True):
            predictions.append(model.predict(x))
            model.adapt(y, x)
        return predictions

    return loop


def filterpy_rls(d: int) -> Loop:
    """A constant state (F = I, Q = 0) observed through H = x, with fading memory alpha² = 1 / forgetting."""
    model = KalmanFilter(dim_x=d, dim_z=1)
    model.P /= RIDGE
    model.Q[:] = 0.0
    model.alpha = FORGETTING**-0.5

    def loop(xs: Sequence[Array], ys: Sequence[float]) -> list[float]:
        predictions = []
        for x, y in zip(xs, ys, strict=True):
            model.H = x
            model.predict()
            predictions.append((x @ model.x).item())
            model.update(y)
        return predictions

    return loop


def bayesian_bandits() -> Loop:
    model = NormalRegressor(alpha=RIDGE, beta=1.0, forgetting=ExponentialForgetting(FORGETTING))

    def loop(xs: Sequence[Array], ys: Sequence[float]) -> list[float]:
        predictions = []
        for x, y in zip(xs, ys, strict=True):
            predictions.append(float(model.predict(x)[0]))
            model.partial_fit(x, np.array([y]))
        return predictions

    return loop


def river_bayesian() -> Loop:
    """Smoothing weights a row by 1 - smoothing, so the same ridge is alpha = 1 / ((1 - smoothing) ridge)."""
    return one_by_one(linear_model.BayesianLinearRegression(alpha=1 / ((1 - FORGETTING) * RIDGE), smoothing=FORGETTING))


def river_linear() -> Loop:
    return one_by_one(linear_model.LinearRegression())


def one_by_one(model: Any) -> Loop:
    """Predicts and learns row by row, with the methods that River and driftline share."""

    def loop(xs: Sequence[dict[str, float]], ys: Sequence[float]) -> list[float]:
        predictions = []
        for x, y in zip(xs, ys, strict=True):
            predictions.append(model.predict_one(x))
            model.learn_one(x, y)
        return predictions

    return loop


def sklearn_sgd(d: int) -> Loop:
    model = SGDRegressor().partial_fit(np.zeros((1, d)), [0.0])

    def loop(xs: Sequence[Array], ys: Sequence[float]) -> list[float]:
        predictions = []
        for x, y in zip(xs, ys, strict=True):
            predictions.append(model.predict(x).item())
            model.partial_fit(x, [y])
        return predictions

    return loop
