"""CapyMOA and driftline one row at a time, in microseconds a row; needs CapyMOA's own environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import capymoa.regressor
from capymoa.core import RegressionInstance
from capymoa.stream import Schema

import driftline as dl
from benchmarks.data import Array, gaussian
from benchmarks.report import Report, Table
from benchmarks.timing import Case, compare, rows_for

D, ROWS, SECONDS = 20, 5000, 0.1
OURS = "driftline RLS, NumPy row"
REGRESSORS = (
    "SGDRegressor",
    "PassiveAggressiveRegressor",
    "FIMTDD",
    "KNNRegressor",
    "AdaptiveRandomForestRegressor",
    "SOKNL",
)


def measure(quick: bool) -> Report:
    X, y = gaussian(ROWS, D)
    calls: dict[str, Callable[[int], None]] = {OURS: lambda n: _driftline(X[:n], y[:n])}
    calls |= {f"CapyMOA {name}": lambda n, name=name: _capymoa(name, X[:n], y[:n]) for name in REGRESSORS}  # type: ignore[misc]
    cases = []
    for label, call in calls.items():
        count = rows_for(SECONDS, call, ROWS)
        cases.append(Case(label, lambda call=call, count=count: call(count), count))  # type: ignore[misc]
    timed = compare(cases, 2 if quick else 7)
    rows = [(label, 1e6 * timed.median(label), timed.ratio(label, OURS)) for label in timed.rounds]
    note = (
        f"Median microseconds a row, d = {D}, predicted and then learned, with CapyMOA's defaults. These learners, written "
        "in Java or scikit-learn, differ from RLS: the table compares the cost of a row, not the accuracy."
    )
    return Report([Table("CapyMOA, one row at a time", ("regressor", "us a row", "ratio"), rows, note)])


def _driftline(X: Array, y: Array) -> None:
    model = dl.RLS(forgetting=0.999, intercept=False)
    for x, label in zip(X, y.tolist(), strict=True):
        model.predict_one(x)
        model.learn_one(x, label)


def _capymoa(name: str, X: Array, y: Array) -> None:
    schema: Any = Schema.from_custom([*(f"x{j}" for j in range(D)), "y"], target="y")
    model = getattr(capymoa.regressor, name)(schema=schema)
    for x, label in zip(X, y.tolist(), strict=True):
        instance = RegressionInstance.from_array(schema, x, label)
        model.predict(instance)
        model.train(instance)
