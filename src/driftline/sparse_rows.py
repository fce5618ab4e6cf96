"""Compressed rows (scipy.sparse CSR) for the learners whose cost follows the entries that are not zero."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from driftline import inputs
from driftline._core import SparseRows
from driftline.base import Learner
from driftline.inputs import Array, Name, Table
from driftline.refusals import Target
from driftline.undo import Undo

WIDEST = 2**52 + 1  # the number of columns is kept as a float64, and the last one is 2^52


def compressed(X: Any, where: str, what: str) -> Any:
    """A matrix of SciPy's in compressed rows, from any of its formats."""
    scipy = sys.modules.get("scipy.sparse")
    if scipy is None or not scipy.issparse(X):
        raise TypeError(f"{where}: {what} is no sparse matrix of SciPy's, got {type(X).__name__}")
    return X.tocsr()


def as_sparse_rows(X: Any, where: str, what: str) -> SparseRows:
    """Rows of float64 or float32 whose columns ascend, none of them twice; copied only where they must be."""
    rows = compressed(X, where, what)
    if rows.shape[-1] > WIDEST:
        raise ValueError(f"{where}: {what} has {rows.shape[-1]} columns; their numbers must not exceed 2^52")
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    values = np.ascontiguousarray(inputs.as_numbers(rows.data, where, what))
    kind = np.int32 if rows.indices.dtype == rows.indptr.dtype == np.int32 else np.int64
    columns, starts = (np.ascontiguousarray(part, dtype=kind) for part in (rows.indices, rows.indptr))
    try:
        return SparseRows(values, columns, starts, rows.shape[-1])
    except ValueError as error:
        raise ValueError(f"{where}: {what} is no sound sparse matrix: {error}") from None


def _blank(width: int) -> Array:
    """A row of zeros that takes no memory."""
    return np.broadcast_to(0.0, width)


class SparseTable(Table):
    """Compressed rows, handed out in blocks without a copy."""

    def __init__(self, X: Any, where: str) -> None:
        rows = compressed(X, where, "X")
        if rows.ndim != 2:
            raise ValueError(f"{where}: X must have two dimensions, got {rows.ndim}")
        super().__init__(rows, rows.shape[0], rows.shape[1], None, where)
        self._values = as_sparse_rows(rows, where, "X")

    def blocks(self, at_most: int | None = None) -> Iterator[tuple[int, Any]]:
        """All rows, in pieces that may be longer than those of dense rows: a multiple of these."""
        step = inputs.BLOCK_ROWS if at_most is None else at_most * max(1, inputs.BLOCK_ROWS // at_most)
        for start in range(0, self.rows, step):
            yield start, self._values[start : start + step]


class TakesSparse(Learner):
    """A learner that takes scipy.sparse rows beside all others, at a cost that follows their entries."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _as_table(self, X: Any, where: str) -> Table:
        return SparseTable(X, where) if inputs.is_sparse(X) else super()._as_table(X, where)

    def _first_learned(self, table: Table, y: Array, weight: Array | None) -> Array:
        return _blank(table.columns)

    def _meet(self, row: Array, names: list[Name] | None) -> None:
        if self._core is None and row.size:  # whose width alone decides something
            self._begin(row.size + self.intercept, names)
        else:
            super()._meet(row, names)

    def _predict_any(self, x: Any, target: Target) -> None:
        if not inputs.is_sparse(x):
            super()._predict_any(x, target)
            return
        row = self._one_row(x, target.where)
        model: TakesSparse = self
        if self._core is None:
            model = type(self)(**self.get_params(deep=False))
            model._meet(_blank(row.width), None)
        model._replay_block(row, None, None, target)

    def _learn_any(self, x: Any, y: Any, sample_weight: float | None) -> None:
        if not inputs.is_sparse(x):
            super()._learn_any(x, y, sample_weight)
            return
        where = f"{type(self).__name__}.learn_one"
        row, label = self._one_row(x, where), inputs.as_label(y, where)
        self._learn_row(row, label, inputs.as_weights(sample_weight, 1, where), where)

    def _learn_row(self, row: SparseRows, label: float, weight: Array | None, where: str) -> None:
        """One row that fits the core, or is the first: a step that fails leaves the core as it was."""
        target = Target(where, predictions=np.empty(1))
        if self._core is not None:
            self._skipped += self._replay_block(row, np.array([label]), weight, target)
            return
        with Undo(self):
            self._meet(_blank(row.width), None)
            self._skipped += self._replay_block(row, np.array([label]), weight, target)
            if not self.n_seen_:
                self._restore(None, None)

    def _one_row(self, x: Any, where: str) -> SparseRows:
        x = compressed(x, where, "x")
        if x.ndim == 2 and x.shape[0] != 1:
            raise ValueError(f"{where}: x must be one row, got the shape {x.shape}")
        row = as_sparse_rows(x if x.ndim == 2 else x.reshape(1, -1), where, "x")
        if not row.width:
            raise ValueError(f"{where}: x is empty")
        if self._core is not None:
            self._check_row(row.width, where)
        return row

    def _check_row(self, width: int, where: str) -> None:
        self._require_width(width, where)
