"""The rows of a sweep, cut into blocks for all learners."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from driftline.base import replay
from driftline.base.learner import Learner
from driftline.ensembles.labels import as_labels
from driftline.tables import inputs
from driftline.tables.block import FRAME, RowBlock, as_block, as_sparse_block
from driftline.tables.inputs import Array

BLOCK_BYTES = 2**20  # of X: fits the cache while one setting after another learns it
FEWEST_ROWS = 64
MOST_ENTRIES = 2**22  # of sparse rows at once: interrupts wait for them


Blocks = Iterator[tuple[int, Any, Any, Array | None]]  # number of the first row, rows, labels, weights


def reader(learner: Learner, X: Any, y: Any, sample_weight: Any, where: str) -> Callable[[], Blocks]:
    """A function that cuts the input of a learner's ``run`` into blocks that ``run`` accepts too."""
    count, numbers, fewest, cut = _cutter(X, where)
    as_vector: Any = as_labels if learner._estimator_type == "classifier" else partial(replay.as_labels, learner)
    labels, weight = as_vector(y, count, where), inputs.as_weights(sample_weight, count, where)
    step = max(FEWEST_ROWS, fewest, BLOCK_BYTES // (8 * numbers))

    def blocks() -> Blocks:
        for start in range(0, count, step):
            rows = slice(start, min(start + step, count))
            yield start, cut(rows), labels[rows], None if weight is None else weight[rows]

    return blocks


def _cutter(X: Any, where: str) -> tuple[int, int, int, Callable[[slice], Any]]:
    """The number of rows, the numbers in a row, the fewest rows to learn at once, and a function that cuts rows."""
    if inputs.is_sparse(X):
        table = as_sparse_block(X, where)
        sparse = table.values
        entries = max(1, sparse.nnz // table.rows)
        # A call costs at least a pass over the learner's weights, so a block should have more entries than that.
        return table.rows, entries, min(4 * table.columns, MOST_ENTRIES) // entries, lambda rows: sparse[rows]
    if isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], Mapping):
        return len(X), max(1, len(X[0])), 0, lambda rows: X[rows]
    table = as_block(X, where)
    if table.kind == FRAME:
        return table.rows, table.columns, 0, lambda rows: _shared(table[rows])
    return table.rows, table.columns, 0, lambda rows: table.block(rows.start, rows.stop)


def _shared(piece: RowBlock) -> RowBlock:
    """A piece of a frame that is converted once for all learners."""
    piece.kept = {}
    return piece
