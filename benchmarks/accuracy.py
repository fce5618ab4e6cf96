"""Accuracy: the largest relative error of a prediction against the same recursion in 50 digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath import mp, mpf

from benchmarks.data import Array, level
from benchmarks.report import Cell, Report, Table
from driftline.base.registry import regressors
from tests.reference import precise

D = 4
ROWS = 200
DTYPES = ("float64", "float32")
OF_THE_INTERFACE = ("intercept", "dtype", "missing")


def measure(quick: bool) -> Report:
    del quick  # the streams are short
    streams = {"well-conditioned": level(ROWS, D), "scales 1e-8 .. 1e8": _scaled(), "nearly collinear": _collinear()}
    rows = [
        (name, *(_error(name, learner, X, y, dtype) for X, y in streams.values() for dtype in DTYPES))
        for name, learner in regressors().items()
    ]
    header = ("learner", *(f"{stream}, {dtype}" for stream in streams for dtype in DTYPES))
    note = (
        f"d = {D}, {ROWS} rows. Error of a prediction over the larger of the precise prediction and the root "
        "mean square of all of them; the precise recursion starts from the inputs as rounded to the dtype."
    )
    return Report([Table("Accuracy", header, rows, note)])


def _scaled() -> tuple[Array, Array]:
    """The labels depend on the features before they are scaled."""
    X, y = level(ROWS, D, seed=5)
    return X * (1e-8, 1.0, 1.0, 1e8), y


def _collinear() -> tuple[Array, Array]:
    X, y = level(ROWS, D, seed=6)
    X[:, -1] = X[:, 0] + 1e-6 * X[:, -1]
    return X, y


def _error(name: str, learner: Any, X: Array, y: Array, dtype: str) -> Cell:
    X, y = X.astype(dtype), y.astype(dtype)
    model = learner(intercept=False, dtype=dtype, **_stable(name, X))
    parameters = {key: value for key, value in model.get_params().items() if key not in OF_THE_INTERFACE}
    if name == "second_order":
        exact = precise.replay(X, y, start=model.start, noise=model.noise).predictions
    elif name in precise.TABLE or name in precise.FIRST_ORDER:
        exact = precise.run(name, X, y, **parameters).predictions
    else:
        return "no reference"
    made = model.run(X, y).predictions
    with mp.workdps(precise.DIGITS):
        usual = mp.sqrt(sum(one**2 for one in exact) / len(exact))
        return max(
            float(abs(mpf(float(one)) - other) / max(abs(other), usual)) for one, other in zip(made, exact, strict=True)
        )


def _stable(name: str, X: Array) -> dict[str, float]:
    """Parameters without which exact arithmetic itself diverges, or refuses, on inputs of this size."""
    longest = float(np.square(X, dtype=np.float64).sum(axis=1).max())
    match name:
        case "wemm":
            return {"ridge": 2 * longest + 1}
        case "lms" | "gd" | "eg":
            return {"rate": 0.1 / longest}
        case _:
            return {}
