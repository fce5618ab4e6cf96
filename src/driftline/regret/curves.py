"""Regret over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftline.base.run import Run
from driftline.regret.rows import as_path, losses_of
from driftline.tables import inputs
from driftline.tables.block import as_block
from driftline.tables.inputs import Array


def curve(run: Any, X: Any, y: Any, comparator: Any) -> Array:
    """Cumulative regret after each row, (T,): the losses of the predictions minus those of the comparator.

    Args:
        run: a :class:`~driftline.Run`, or predictions, (T,). Rows whose prediction is NaN are ignored.
        X: the rows, (T, d).
        y: their labels, (T,).
        comparator: fixed weights or a sequence of them, or what :func:`best_fixed` and :func:`best_sequence` return. With
            one weight more than X has columns, the last is the intercept.

    >>> curve([0.0, 1.0, 2.0], [[1.0], [1.0], [1.0]], [1.0, 2.0, 3.0], [2.0]).tolist()
    [0.0, 1.0, 1.0]
    """
    table = as_block(X, "curve")
    rows = np.asarray(table.block(0, table.rows), dtype=np.float64)
    labels = inputs.as_vector(y, table.rows, "curve", "y")
    made = run.predictions if isinstance(run, Run) else run
    predictions = inputs.as_vector(made, table.rows, "curve", "predictions")
    weights = np.asarray(getattr(comparator, "weights", comparator), dtype=np.float64)
    if weights.ndim and weights.shape[-1] == rows.shape[1] + 1:
        rows = np.column_stack([rows, np.ones(len(rows))])
    regrets = np.square(labels - predictions) - losses_of(as_path(weights, rows, "curve"), rows, labels)
    return np.cumsum(np.where(np.isnan(predictions), 0.0, regrets))
