"""River's adaptive random forest, each row learned when its label is known."""

from __future__ import annotations

import numpy as np

from benchmarks.bench_rivals.refitted import FORMS
from benchmarks.bench_rivals.task import Task
from benchmarks.data import Array


def run(task: Task) -> Array:
    """The predictions, on the features and three earlier labels; inputs and labels are scaled as they come."""
    from river import forest, preprocessing

    scaled = preprocessing.TargetStandardScaler(regressor=forest.ARFRegressor(seed=1))
    model = preprocessing.StandardScaler() | scaled
    Z = np.nan_to_num(FORMS[1].inputs(task))
    rows = [dict(enumerate(row)) for row in Z.tolist()]
    labels, out = task.y.tolist(), np.zeros(len(task.y))
    told = 0
    for t, known in enumerate(task.known.tolist()):
        while told < known:
            model.learn_one(rows[told], labels[told])
            told += 1
        out[t] = model.predict_one(rows[t]) if told else 0.0
    return task.cut(out)
