"""River's regressors; each row is learned when its label is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.bench_rivals.refitted import FORMS
from benchmarks.bench_rivals.task import Task
from benchmarks.data import Array


def forest() -> Any:
    """The adaptive random forest at its defaults."""
    from river.forest import ARFRegressor

    return ARFRegressor(seed=1)


def tree() -> Any:
    """The Hoeffding adaptive tree at its defaults."""
    from river.tree import HoeffdingAdaptiveTreeRegressor

    return HoeffdingAdaptiveTreeRegressor(seed=1)


def run(task: Task, regressor: Any) -> Array:
    """The predictions from the features and three earlier labels; inputs and labels are scaled by the rows so far."""
    from river import preprocessing

    model = preprocessing.StandardScaler() | preprocessing.TargetStandardScaler(regressor=regressor)
    rows = [dict(enumerate(row)) for row in np.nan_to_num(FORMS[1].inputs(task)).tolist()]
    labels, out = task.y.tolist(), np.zeros(len(task.y))
    for t, known in enumerate(task.known.tolist()):
        if known:
            model.learn_one(rows[known - 1], labels[known - 1])
            out[t] = model.predict_one(rows[t])
    return task.cut(out)
