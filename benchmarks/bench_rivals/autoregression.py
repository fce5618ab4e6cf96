"""Autoregression with the features as additional inputs, by statsmodels, refitted periodically."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np

from benchmarks.bench_rivals.refitted import FIRST_FITS, WINDOW
from benchmarks.bench_rivals.task import Task
from benchmarks.data import Array

ORDER = 24


def run(task: Task, every: int) -> Array:
    """The predictions. Until there are twice as many rows as weights, the newest known label is the prediction.

    A row beyond the first unknown one is predicted through the rows in between, whose features are known by then.
    """
    from statsmodels.tools.sm_exceptions import SingularMatrixWarning
    from statsmodels.tsa.ar_model import AutoReg

    X, y, known = task.X, task.y, task.known
    out = np.where(known > 0, y[known - 1], 0.0)
    fits = sorted({count for count in FIRST_FITS if count < every} | set(range(every, int(known[-1]) + 1, every)))
    for count, following in pairwise([*fits, len(y) + 1]):
        since = max(count - WINDOW, 0)
        order = min(ORDER, (count - since) // 4)
        if count - since < 2 * (1 + order + X.shape[1]):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingularMatrixWarning)  # some columns are constant for a long time
            fitted = AutoReg(y[since:count], order, exog=X[since:count]).fit().params
        constant, of_lags, of_features = fitted[0], fitted[1 : 1 + order], fitted[1 + order :]
        rows = np.flatnonzero((known >= count) & (known < following))
        past = np.stack([y[k - order : k][::-1] for k in known[rows]]) if len(rows) else np.empty((0, order))
        for step in range(task.delay + 1):
            said = constant + past @ of_lags + X[np.minimum(known[rows] + step, len(y) - 1)] @ of_features
            past = np.column_stack([said, past[:, :-1]])
        out[rows] = past[:, 0]
    return task.cut(out)
