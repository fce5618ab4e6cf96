"""Some rows on their way into a model: arrays, frames, sparse matrices and the columns of files as one kind of block."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from driftline.tables import cells, frames, inputs, kinds, sparse
from driftline.tables.categories import CATEGORIES
from driftline.tables.cells import Given
from driftline.tables.inputs import Array, Name
from driftline.tables.numbers import all_finite
from driftline.tables.times import Times

NUMBERS, FRAME, COLUMNS, SPARSE, MAPPINGS = "numbers", "frame", "columns", "sparse", "mappings"
_FLOATS = (np.float64, np.float32)


class RowBlock:
    """Rows of numbers, or columns of numbers, text and times as they came.

    Args:
        values: a two-dimensional array; a frame as narwhals sees it; columns by name; a CSR matrix; or a list of mappings.
        kind: which of these.
        names: the names of the columns; None if they have none.
        where: the caller's name, for messages.
        rows: the number of rows, if ``values`` does not tell.
        limit: how many texts of a column get their own feature.
        begins: for columns of a stream, whose blocks may lack columns or have new ones: the first row with a value of those
            that had none before. None if all columns are there from the start, as in a frame.

    Attributes:
        read: reads rows as numbers, if the model that is about to take them encodes or hashes them, or takes sparse rows.
        source: the rows as they came, then.
        most: how many rows to read at once.
        encoded: whether the model's columns read the rows.
        is_sparse: whether a core takes the rows as a sparse matrix, rather than made dense.
        times: the times of the rows, if they have any.
        kept: what models read of the rows, if several take them in turn; None if they do not.
        labels: their labels, if they travel with the rows.
        start: the number of the first row in the stream that the block is a part of.
    """

    read: Callable[[RowBlock, int, int], Any] | None = None
    source: RowBlock | None = None
    most = sys.maxsize
    encoded = is_sparse = False
    kept: dict[Any, Any] | None = None
    labels: Any = None
    start = 0
    times: Times | None = None

    def __init__(
        self, values: Any, kind: str = NUMBERS, names: list[Name] | None = None, where: str = "rows", *,
        rows: int | None = None, limit: int = CATEGORIES, begins: Mapping[Name, int] | None = None,
    ) -> None:  # fmt: skip
        self.values, self.kind, self.names, self.where, self.limit = values, kind, names, where, limit
        self.open, self.begins = begins is not None, begins or {}
        if kind in (NUMBERS, SPARSE):
            self.rows, self.columns = map(int, values.shape)
        else:
            self.rows, self.columns = len(values) if rows is None else rows, len(names or ())

    def require_values(self) -> RowBlock:
        """The block; raises ValueError if it has no rows or no columns."""
        if self.rows < 1:
            shape = f"(shape=({self.rows}, {self.columns}))"
            raise ValueError(f"{self.where}: X has 0 sample(s) {shape} while a minimum of 1 is required.")
        if self.columns < 1:
            raise ValueError(f"{self.where}: X has 0 feature(s) (shape=({self.rows}, 0)) while a minimum of 1 is required.")
        return self

    def by(self, read: Callable[[RowBlock, int, int], Any], columns: int | None = None, most: int = sys.maxsize) -> RowBlock:
        """The same rows as a model reads them, ``most`` at a time; ``columns`` is the width of what it reads, if known."""
        found = RowBlock.__new__(RowBlock)
        found.__dict__.update(self.__dict__)
        found.source, found.read, found.most = self, read, most
        found.columns = self.columns if columns is None else columns
        return found

    # What it holds.

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return self.rows, self.columns

    def __len__(self) -> int:
        return self.rows

    @property
    def as_given(self) -> RowBlock:
        """The rows as they came, not as a model reads them."""
        return self if self.source is None else self.source

    @property
    def raw(self) -> Any:
        """The rows as other libraries take them: an array, a frame, a sparse matrix, or a list of mappings."""
        return self.values.to_native() if self.kind == FRAME else self if self.kind == COLUMNS else self.values

    @property
    def library(self) -> str | None:
        """The library of the frame that holds the rows, if driftline can make its frames too."""
        return inputs.library_of(self.values) if self.kind == FRAME else None

    @cached_property
    def special(self) -> list[Name]:
        """The columns that hold text or times or, in a block of columns, have no value yet."""
        if self.kind == COLUMNS:
            return [name for name, given in self.values.items() if given.kind != kinds.NUMBER]
        if self.kind != FRAME:
            return []
        columns = zip(self.values.columns, frames.columns(self.values), strict=True)
        return [label for label, column in columns if frames.kind_of(column) not in (kinds.NUMBER, None)]

    @cached_property
    def whole(self) -> frozenset[Name]:
        """The columns of numbers that are known to be finite without a look at each row."""
        if self.kind != COLUMNS:
            return frozenset()
        numbers = ((name, values) for name, (kind, values) in self.values.items() if kind == kinds.NUMBER)
        return frozenset(name for name, values in numbers if all_finite(values))

    # Its rows.

    def block(self, start: int, stop: int) -> Any:
        """Rows ``start`` to ``stop`` as numbers, or as sparse rows of the core."""
        if self.read is not None:
            return self.read(self, start, stop)
        if self.kind == NUMBERS:
            return inputs.as_numbers(np.asarray(self.values[start:stop]), self.where, "X", start)
        if self.kind == SPARSE:
            return inputs.as_numbers(self.values[start:stop].toarray(), self.where, "X", start)
        if self.kind == FRAME:
            return self._frame_block(start, stop)
        if self.special:
            raise ValueError(f"{self.where}: text and times need columns with names")
        return np.stack([given.values[start:stop] for given in self.values.values()], axis=1)

    def _frame_block(self, start: int, stop: int) -> Array:
        found = None if self.kept is None else self.kept.get((FRAME, start, stop))
        if found is None:
            columns = zip(self.values.columns, self.raw_columns(start, stop), strict=True)
            numbers = [inputs.as_numbers(values, self.where, f"column {label!r}", start) for label, values in columns]
            found = np.stack([np.asarray(column, dtype=np.float64) for column in numbers], axis=1)
            if self.kept is not None:
                self.kept[FRAME, start, stop] = found
        return found

    def blocks(self, at_most: int | None = None) -> Iterator[tuple[int, Any]]:
        """All rows: an array of floats at once, anything that needs conversion in pieces."""
        at_once = self.read is None and self.kind == NUMBERS and self.values.dtype in _FLOATS
        step = self.rows if at_once and at_most is None else min(at_most or inputs.rows_to_convert(self.columns), self.most)
        if self.is_sparse:  # whose rows take less time
            step = inputs.BLOCK_ROWS if at_most is None else at_most * max(1, inputs.BLOCK_ROWS // at_most)
        for start in range(0, self.rows, step):
            yield start, self.block(start, min(start + step, self.rows))

    def raw_columns(self, start: int, stop: int) -> list[Array]:
        """Rows ``start`` to ``stop`` of a frame by column, not converted."""
        return [np.asarray(column.to_numpy()) for column in frames.columns(self.values[start:stop])]

    def given(self, start: int, stop: int, where: str) -> dict[Name, Given]:
        """Rows ``start`` to ``stop`` by column; columns without names are named by their index."""
        if self.source is not None:
            return self.source.given(start, stop, where)
        if self.kind == COLUMNS:
            whole, rows = start == 0 and stop == self.rows, slice(start, stop)
            return {name: given if whole else given.take(rows) for name, given in self.values.items()}
        names = self.names or [str(j) for j in range(self.columns)]
        if self.kind == FRAME:
            return cells.of_frame(self.values[start:stop], names, start, where)
        block = np.asarray(self.block(start, stop), dtype=np.float64)
        return {name: Given(kinds.NUMBER, np.ascontiguousarray(column)) for name, column in zip(names, block.T, strict=True)}

    def __getitem__(self, rows: slice | Array) -> RowBlock:
        """Some of the rows as they came: a slice, or indices in ascending order."""
        if self.source is not None:
            return self.source[rows]
        values, begins = self.values, None
        numbers = range(self.rows)[rows] if isinstance(rows, slice) else rows.tolist()
        if self.kind == COLUMNS:
            values = {name: given.take(rows) for name, given in values.items()}
            firsts = {name: bisect_left(numbers, begin) for name, begin in self.begins.items()}
            begins = {name: first for name, first in firsts.items() if first} if self.open else None
        elif self.kind == MAPPINGS:
            values = [values[row] for row in numbers]
        else:
            values = values[rows if isinstance(rows, slice) or self.kind != FRAME else numbers]
        found = RowBlock(values, self.kind, self.names, self.where, rows=len(numbers), limit=self.limit, begins=begins)
        if self.times is not None:
            found.times = self.times.take(rows)
        if "whole" in self.__dict__:
            found.__dict__["whole"] = self.whole
        if self.labels is not None:
            found.labels, found.start = self.labels[rows], self.start + (numbers[0] if len(numbers) else 0)
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.block(0, self.rows), dtype=dtype)

    def mappings(self) -> list[dict[Name, Any]]:
        """The rows of a frame or of columns as a loop would have them, or the mappings that the block holds."""
        if self.kind == MAPPINGS:
            return list(self.values)
        if self.kind == FRAME:
            return list(self.values.iter_rows(named=True))
        return [cells.as_python(cells.row_of(self.values, place, True)) for place in range(self.rows)]


def of_columns(
    given: Mapping[Name, Given],
    rows: int,
    limit: int = CATEGORIES,
    begins: Mapping[Name, int] | None = None,
    whole: frozenset[Name] | None = None,
) -> RowBlock:
    """A block of columns of numbers, text and times; ``whole`` names those known to hold finite numbers alone."""
    found = RowBlock(given, COLUMNS, list(given), rows=rows, limit=limit, begins=begins)
    if whole is not None:
        found.__dict__["whole"] = whole
    return found


def is_block(x: Any) -> bool:
    """Whether this holds rows rather than being one row. A sparse matrix holds rows."""
    if isinstance(x, list | tuple):
        return any(isinstance(first, Mapping) or np.ndim(first) > 0 for first in x[:1])
    return isinstance(x, RowBlock) or (not isinstance(x, Mapping) and len(getattr(x, "shape", ())) > 1)


def as_block(X: Any, where: str) -> RowBlock:
    """A block of an array, a frame, a sparse matrix that is made dense, or anything that NumPy can read."""
    if isinstance(X, RowBlock):
        return X
    if type(X) is not np.ndarray:
        if inputs.is_sparse(X):
            if X.ndim != 2:
                raise ValueError(f"{where}: X must have two dimensions, got {X.ndim}")
            return RowBlock(inputs.to_be_dense(X, where, "X"), SPARSE, where=where).require_values()
        if hasattr(type(X), "columns") or hasattr(type(X), "column_names"):
            return _of_frame(X, where).require_values()
        if isinstance(X, Mapping) or (isinstance(X, list | tuple) and any(isinstance(x, Mapping) for x in X[:1])):
            what = "a mapping" if isinstance(X, Mapping) else "a list of mappings"
            raise ValueError(f"{where}: X must be an array or a frame, got {what}; pandas.DataFrame(X) makes a frame of it")
        X = inputs.as_array(X, where, "X")
    if X.ndim != 2:
        shape = ": X[None, :] for one row, X[:, None] for one feature" if X.ndim == 1 else " to one row for each label"
        raise ValueError(f"{where}: X must have two dimensions, got {X.ndim}. Reshape your data{shape}.")
    found = RowBlock(X, where=where)
    return found if X.size else found.require_values()


def _of_frame(X: Any, where: str) -> RowBlock:
    """A frame's labels are names if all are text, or if a column holds text or times: such columns need names."""
    import narwhals

    try:
        frame = narwhals.from_native(X, eager_only=True)
        names: list[Name] = list(frame.columns)
    except Exception as error:  # an object that looks like a frame may raise anything
        raise inputs.kind_of_error(error)(f"{where}: X cannot be read as a frame: {error}") from error
    found = RowBlock(frame, FRAME, names, where, rows=len(frame))
    if not all(isinstance(label, str) for label in names) and not found.special:
        found.names = None
    return found


def as_sparse_block(X: Any, where: str) -> RowBlock:
    """The rows of a sparse matrix, for a core that takes them as they are."""
    matrix = sparse.compressed(X, where, "X")
    if matrix.ndim != 2:
        raise ValueError(f"{where}: X must have two dimensions, got {matrix.ndim}")
    found = RowBlock(matrix, SPARSE, where=where).require_values()
    rows = sparse.as_sparse_rows(matrix, where, "X")
    found = found.by(lambda _, start, stop: rows[start:stop])
    found.is_sparse = True
    return found
