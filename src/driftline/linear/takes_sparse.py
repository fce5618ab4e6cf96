"""Sparse rows (scipy.sparse CSR) for learners whose cost grows with the number of nonzero entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftline._core import SparseRows
from driftline.base.learner import Learner
from driftline.base.refusals import Target
from driftline.base.undo import Undo
from driftline.tables import inputs
from driftline.tables.inputs import Array, Name, Table
from driftline.tables.sparse import SparseTable, as_sparse_rows, blank_row, compressed


class TakesSparse(Learner):
    """A learner that takes scipy.sparse rows beside all others, at a cost that follows their entries."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _as_table(self, X: Any, where: str) -> Table:
        return SparseTable(X, where) if inputs.is_sparse(X) else super()._as_table(X, where)

    def _first_learned(self, table: Table, y: Array, weight: Array | None) -> Array:
        return blank_row(table.columns)

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
            model._meet(blank_row(row.width), None)
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
            self._meet(blank_row(row.width), None)
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
