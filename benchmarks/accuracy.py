"""Accuracy: the largest relative error of a prediction against the same recursion in 50 digits."""

from __future__ import annotations

from typing import Any

from mpmath import mp, mpf

from benchmarks.data import Array, level
from benchmarks.report import Cell, Report, Table
from driftline.base.registry import regressors
from tests.reference import DIGITS
from tests.reference.learners import REFERENCES

D = 4
ROWS = 200
DTYPES = ("float64", "float32")


def measure(quick: bool) -> Report:
    del quick  # the streams are short
    streams = {"well-conditioned": level(ROWS, D), "scales 1e-8 .. 1e8": _scaled(), "nearly collinear": _collinear()}
    rows = [
        (name, *(_error(name, learner, X, y, dtype) for X, y in streams.values() for dtype in DTYPES))
        for name, learner in regressors().items()
    ]
    header = ("learner", *(f"{stream}, {dtype}" for stream in streams for dtype in DTYPES))
    note = (
        f"d = {D}, {ROWS} rows. Error of a prediction relative to the larger of the exact prediction and the root mean "
        "square of all exact ones; the exact recursion starts from the inputs rounded to the dtype."
    )
    return Report([Table("Accuracy", header, rows, note)])


def _scaled() -> tuple[Array, Array]:
    """Scaled features; the labels depend on the features before scaling."""
    X, y = level(ROWS, D, seed=5)
    return X * (1e-8, 1.0, 1.0, 1e8), y


def _collinear() -> tuple[Array, Array]:
    X, y = level(ROWS, D, seed=6)
    X[:, -1] = X[:, 0] + 1e-6 * X[:, -1]
    return X, y


def _error(name: str, learner: Any, X: Array, y: Array, dtype: str) -> Cell:
    reference = REFERENCES.get(name)
    if reference is None or reference.precise is None:
        return "no reference"
    X, y = X.astype(dtype), y.astype(dtype)
    model = learner(intercept=False, dtype=dtype, **reference.accuracy(X))
    exact = reference.in_50_digits(X, y, **{key: getattr(model, key) for key in reference.defaults}).predictions
    made = model.run(X, y).predictions
    with mp.workdps(DIGITS):
        usual = mp.sqrt(sum(one**2 for one in exact) / len(exact))
        return max(
            float(abs(mpf(float(one)) - other) / max(abs(other), usual)) for one, other in zip(made, exact, strict=True)
        )
