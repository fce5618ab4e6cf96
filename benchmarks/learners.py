"""Every registered learner with its defaults: one row at a time, and ``run`` in both dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.data import Array, level
from benchmarks.report import Report, Table
from benchmarks.timing import Case, compare
from driftline.base.registry import regressors

D = 20
ROWS = 20_000
LOOP_ROWS = 2000
BOUNDS: dict[str, dict[str, Any]] = {"kernel": {"budget": 100}}  # without a budget, every row becomes a point


def measure(quick: bool) -> Report:
    X, y = level(ROWS, D)
    X32, y32 = X.astype(np.float32), y.astype(np.float32)
    xs, labels = list(X[:LOOP_ROWS]), y[:LOOP_ROWS].tolist()
    cases = []
    for name, learner in regressors().items():
        bounds = BOUNDS.get(name, {})
        one, double, single = learner(**bounds), learner(**bounds), learner(dtype="float32", **bounds)
        cases += [
            Case(f"{name} loop", partial(_loop, one, xs, labels), LOOP_ROWS),
            Case(f"{name} float64", partial(double.run, X, y), ROWS),
            Case(f"{name} float32", partial(single.run, X32, y32), ROWS),
        ]
    timed = compare(cases, rounds=3 if quick else 9)
    rows = [
        (
            name,
            1e6 * timed.median(f"{name} loop"),
            1e9 * timed.median(f"{name} float64"),
            1e9 * timed.median(f"{name} float32"),
        )
        for name in regressors()
    ]
    header = ("learner", "predict_one + learn_one, us", "run float64, ns a row", "run float32, ns a row")
    note = "Defaults, with intercept; Kernel with a budget of 100; rows scaled to |x|² = 0.9 d."
    return Report([Table(f"Every learner, d = {D}", header, rows, note)])


def _loop(model: Any, xs: Sequence[Array], labels: Sequence[float]) -> None:
    for x, y in zip(xs, labels, strict=True):
        model.predict_one(x)
        model.learn_one(x, y)
