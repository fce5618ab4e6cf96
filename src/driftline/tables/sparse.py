"""Sparse matrices (scipy.sparse CSR) as rows of numbers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from driftline._core import SparseRows
from driftline.tables import inputs
from driftline.tables.inputs import Table

WIDEST = 2**52 + 1  # the number of columns is kept as a float64, and the last one is 2^52


def compressed(X: Any, where: str, what: str) -> Any:
    """A SciPy sparse matrix of any format, converted to CSR."""
    scipy = sys.modules.get("scipy.sparse")
    if scipy is None or not scipy.issparse(X):
        raise TypeError(f"{where}: {what} must be a sparse matrix of SciPy, got {type(X).__name__}")
    return X.tocsr()


def as_sparse_rows(X: Any, where: str, what: str) -> SparseRows:
    """Rows of float64 or float32 with strictly ascending columns; copied only if necessary."""
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
        raise ValueError(f"{where}: {what} is not a valid sparse matrix: {error}") from None


class SparseTable(Table):
    """Compressed rows, handed out in blocks without a copy."""

    def __init__(self, X: Any, where: str) -> None:
        rows = compressed(X, where, "X")
        if rows.ndim != 2:
            raise ValueError(f"{where}: X must have two dimensions, got {rows.ndim}")
        super().__init__(rows, rows.shape[0], rows.shape[1], None, where)
        self._values = as_sparse_rows(rows, where, "X")

    def blocks(self, at_most: int | None = None) -> Iterator[tuple[int, Any]]:
        """All rows, in pieces that may be several times as long as those of dense rows."""
        step = inputs.BLOCK_ROWS if at_most is None else at_most * max(1, inputs.BLOCK_ROWS // at_most)
        for start in range(0, self.rows, step):
            yield start, self._values[start : start + step]
