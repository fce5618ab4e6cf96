"""Sparse matrices (scipy.sparse CSR) as rows of numbers."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from driftline._core import SparseRows
from driftline.tables import inputs

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


def read_row(x: Any, where: str) -> SparseRows | None:
    """One row; None if it is not sparse."""
    if isinstance(x, SparseRows):  # of a ticket
        return x
    if not inputs.is_sparse(x):
        return None
    x = compressed(x, where, "x")
    inputs.refuse_rows(x, where)
    row = as_sparse_rows(x if x.ndim == 2 else x.reshape(1, -1), where, "x")
    if not row.width:
        raise ValueError(f"{where}: x is empty")
    return row
