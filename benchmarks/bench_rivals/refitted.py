"""Estimators that are refitted periodically on the latest rows, with earlier labels among the inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.bench_rivals.task import Task
from benchmarks.data import Array

WINDOW = 5000
FIRST_FITS = (50, 100, 200)  # the numbers of known labels at the early fits; regular fits follow
FEW, MANY = (1, 2, 24), (*range(1, 9), 12, 24, 48, 96, 144, 168, 336)


@dataclass(frozen=True)
class Form:
    """The inputs and the target of a regressor.

    Attributes:
        lags: the lags of the labels among the inputs.
        row_before: whether the features of the previous row are inputs.
        change: whether the target and the lagged labels are relative to the newest known label.
    """

    name: str
    lags: tuple[int, ...] = ()
    row_before: bool = False
    change: bool = False

    def features(self, task: Task) -> Array:
        """The inputs without the labels."""
        if not self.row_before:
            return task.X
        return np.column_stack([task.X, np.concatenate([task.X[:1], task.X[:-1]])])

    def inputs(self, task: Task) -> Array:
        """All inputs; NaN for labels before the start of the stream."""
        labels = [shifted(task.y, lag) for lag in places(self.lags, task.delay)]
        if self.change:
            labels = [labels[0], *(label - labels[0] for label in labels[1:])]
        return np.column_stack([self.features(task), *labels])


FORMS = (
    Form("features"),
    Form("three lags", FEW),
    Form("many lags", MANY, row_before=True),
    Form("change", MANY, row_before=True, change=True),
)


def places(lags: Sequence[int], delay: int) -> list[int]:
    """The effective lags, as for :class:`driftline.features.Lags`.

    If labels are not known yet, lags 1, 2, ... mean the newest known ones, and other lags become their next multiple.
    """
    return [
        lag if lag > delay else lag + delay if lag == k + 1 else -(-(delay + 1) // lag) * lag for k, lag in enumerate(lags)
    ]


def shifted(values: Array, by: int) -> Array:
    """The values shifted down by a number of rows; NaN before the first."""
    return np.concatenate([np.full(min(by, len(values)), np.nan), values[:-by]])


def run(make: Callable[[], Any], form: Form, task: Task, every: int, stop: int | None = None) -> Array:
    """The predictions of the rows before ``stop``. Until the first fit, the newest known label is the prediction."""
    Z, y, known = form.inputs(task), task.y, task.known
    newest = np.where(known > 0, y[known - 1], 0.0)
    target = y - newest if form.change else y
    out, stop = newest.copy(), len(y) if stop is None else stop
    last = known[stop - 1]
    fits = sorted({count for count in FIRST_FITS if count < every} | set(range(every, int(last) + 1, every)))
    for count, following in pairwise([*fits, len(y) + 1]):
        rows = np.flatnonzero((known >= count) & (known < following) & (np.arange(len(y)) < stop))
        if len(rows):
            since = max(count - WINDOW, 0)
            model = make().fit(Z[since:count], target[since:count])
            out[rows] = model.predict(Z[rows]) + (newest[rows] if form.change else 0.0)
    return task.cut(out)


def best_form(make: Callable[[], Any], task: Task) -> Form:
    """The form with the smallest squared error on the first tenth of the rows, with a fit every 50 rows.

    Only the second half of that tenth counts, because all forms need some rows first.
    """
    stop = max(len(task.y) // 10, task.start if task.delay == 0 else 0)
    scored = slice(stop // 2, stop)

    def error(form: Form) -> float:
        return float(np.mean(np.square(run(make, form, task, FIRST_FITS[0], stop)[scored] - task.y[scored])))

    return min(FORMS, key=error)
