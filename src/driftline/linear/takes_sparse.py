"""Sparse rows (scipy.sparse CSR) for learners whose cost depends on the number of non-zero entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftline._core import SparseRows
from driftline.base.learner import Learner
from driftline.tables import inputs
from driftline.tables.block import SPARSE, RowBlock, as_sparse_block
from driftline.tables.inputs import Array, Name
from driftline.tables.sparse import as_sparse_rows, compressed


class TakesSparse(Learner):
    """A learner that also takes scipy.sparse rows."""

    def _as_block(self, X: Any, where: str) -> RowBlock:
        X = X.values if isinstance(X, RowBlock) and X.kind == SPARSE else X
        return as_sparse_block(X, where) if inputs.is_sparse(X) else super()._as_block(X, where)

    def _first_learned(self, block: RowBlock, y: Array, weight: Array | None) -> Array:
        return np.broadcast_to(0.0, block.columns)  # only its width matters, and it takes no memory

    def _meet(self, row: Any, names: list[Name] | None) -> None:
        width = row.width if isinstance(row, SparseRows) else row.size
        if self._core is None and width:
            self._set_core(self._make_core(width + bool(self.intercept)), names)
        else:
            super()._meet(row, names)

    def _read(self, x: Any, where: str, *, grow: bool) -> tuple[Any, list[Name] | None]:
        if isinstance(x, SparseRows):  # of a ticket
            self._check_width(x.width, where)
            return x, None
        if not inputs.is_sparse(x):
            return super()._read(x, where, grow=grow)
        x = compressed(x, where, "x")
        inputs.refuse_rows(x, where)
        row = as_sparse_rows(x if x.ndim == 2 else x.reshape(1, -1), where, "x")
        if not row.width:
            raise ValueError(f"{where}: x is empty")
        self._check_width(row.width, where)
        return row, None

    def _check_width(self, width: int, where: str) -> None:
        self._door.require_width(width, where)
