"""Features by the hash of their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from driftline import _core
from driftline.base import params
from driftline.features.transformer import Transformer
from driftline.tables import inputs
from driftline.tables.inputs import Array, Name, Table
from driftline.tables.sparse import compressed

_ELEMENTS = 2**18  # of dense rows at a time

Entries = tuple[Array, Array, Array]  # rows, places and values, those of a row in the order of its features


class Hashing(Transformer):
    r"""Hashes feature names into ``n`` columns, with signs: any number of names, in fixed memory.

    .. math:: z_i = \sum_{j:\, h(j) = i} \pm x_j

    Features in the same column are added, with signs that make their products vanish on average. A text value becomes the
    feature ``name=text`` with the value 1. Unnamed features are named by their number. Columns and signs are those of
    scikit-learn's ``FeatureHasher``, and the same in every process.

    In a pipeline it must come first, and names may come and go. There a row costs O(n), because the learner sees dense rows.
    :meth:`transform` returns scipy.sparse rows, whose cost for first-order learners depends only on the non-zero entries.

    Args:
        n: the number of columns.

    References: :cite:`weinberger2009`.

    >>> Hashing(8).transform_one({"size": 3.0, "colour": "red"})
    {1: 1.0, 6: -3.0}
    """

    n: int = params.integer(default=1024, ge=1, le=2**31 - 1, kw_only=False)

    _learns = False

    def _stage(self, width: int) -> Any:
        raise ValueError("Hashing can only be used alone or as the first step of a pipeline")

    # By itself.

    def learn_one(self, x: Any, y: Any = None) -> None:
        """There is nothing to learn; x is checked."""
        self.transform_one(x)

    def transform_one(self, x: Any) -> Any:
        """A mapping from column to value for a mapping, an array of ``n`` numbers for an array-like."""
        where = f"{type(self).__name__}.transform_one"
        row = self.row(x, where)
        self._door.refuse_bad(row, where)
        if not isinstance(inputs.named(x), Mapping):
            return row
        return {int(place): float(row[place]) for place in np.flatnonzero(row)}

    def transform(self, X: Any) -> Any:
        """Rows as a scipy.sparse CSR array, from an array, a frame, scipy.sparse rows or a list of mappings."""
        from scipy.sparse import csr_array

        where = f"{type(self).__name__}.transform"
        table = self.table(X, where)
        rows, places, values = table.entries(0, table.rows)
        hashed = csr_array((values, (rows, places)), shape=(table.rows, self.n))
        bad = np.flatnonzero(~np.isfinite(hashed.data))
        if bad.size:
            row = int(np.searchsorted(hashed.indptr, bad[0], side="right")) - 1
            raise ValueError(f"{where}: X has {inputs.spell(float(hashed.data[bad[0]]))} in row {row}")
        return hashed

    def _run(self, X: Any, y: Any, where: str) -> Any:
        return self.transform(X)

    def _learning(self) -> AbstractContextManager[Any]:
        return nullcontext()  # no state is shared between threads

    # At the door of a pipeline.

    def row(self, x: Any, where: str) -> Array:
        """One dense row."""
        x = inputs.named(x)
        if isinstance(x, Mapping):
            rows, places, values = self._of_mappings([x], where)
        else:
            plain = inputs.as_row(x, where)
            rows, places, values = _of_columns(self.places([str(j) for j in range(plain.size)]), plain[None, :])
        dense: Array = _dense(rows, places, values, 1, self.n)[0]
        return dense

    def unhashed(self, x: Any) -> Any:
        """A copy of a valid row, in numbers that have the same hashes: a text becomes a feature of its own."""
        x = inputs.named(x)
        if not isinstance(x, Mapping):
            return np.array(inputs.as_row(x, ""))
        numbers: dict[Name, float] = {}
        for name, value in x.items():
            key, number = (f"{name}={value}", 1.0) if isinstance(value, str) else (name, inputs.as_number(value, "", ""))
            numbers[key] = numbers.get(key, 0.0) + number
        return numbers

    def table(self, X: Any, where: str) -> HashedTable:
        """Many rows, hashed block by block."""
        return HashedTable(self, X, where)

    def places(self, names: Sequence[str]) -> tuple[Array, Array]:
        """The columns of names, and their signs."""
        hashes = np.array([_core.murmur3(name.encode("utf-8", "surrogatepass")) for name in names], dtype=np.int64)
        return np.abs(hashes) % self.n, np.where(hashes >= 0, 1.0, -1.0)

    def _of_mappings(self, rows: Sequence[Any], where: str) -> Entries:
        lines: list[int] = []
        names: list[str] = []
        values: list[float] = []
        for line, x in enumerate(rows):
            if not isinstance(x, Mapping):
                raise TypeError(f"{where}: row {line} must be a mapping, got {type(x).__name__}")
            texts = {name: value for name, value in x.items() if isinstance(value, str)}
            numbers = inputs.as_items({name: value for name, value in x.items() if name not in texts}, where)
            for name in x:
                lines.append(line)
                names.append(f"{name}={texts[name]}" if name in texts else str(name))
                values.append(1.0 if name in texts else numbers[name])
        places, signs = self.places(names)
        return np.array(lines, dtype=np.int64), places, signs * np.array(values, dtype=np.float64)


class HashedTable(Table):
    """Rows of any width as dense rows of ``n`` columns."""

    def __init__(self, hashing: Hashing, X: Any, where: str) -> None:
        self._hashing, self._source = hashing, X
        self._plain: Table | None = None
        if isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], Mapping):
            rows = len(X)
        elif inputs.is_sparse(X):
            self._source = compressed(X, where, "X")
            rows = self._source.shape[0]
        else:
            self._plain = inputs.as_table(X, where)
            rows = self._plain.rows
        super().__init__(None, rows, hashing.n, None, where)

    def entries(self, start: int, stop: int) -> Entries:
        """The non-zero entries of some rows."""
        if self._plain is not None:
            return self._of_table(self._plain, start, stop)
        if inputs.is_sparse(self._source):
            piece = self._source[start:stop].tocoo()
            columns, back = np.unique(piece.col, return_inverse=True)
            places, signs = self._hashing.places([str(column) for column in columns])
            values = inputs.as_numbers(np.asarray(piece.data), self._where, "X")
            return np.asarray(piece.row, dtype=np.int64), places[back], signs[back] * values
        return self._hashing._of_mappings(self._source[start:stop], self._where)

    def _of_table(self, table: Table, start: int, stop: int) -> Entries:
        names: list[Name] = list(range(table.columns)) if table.names is None else table.names
        columns = table.columns_of(start, stop) if isinstance(table, inputs.FrameTable) else None
        if columns is None or all(column.dtype.kind in "biuf" for column in columns):
            return _of_columns(self._hashing.places(list(map(str, names))), table.block(start, stop))
        parts = [self._of_column(str(name), column) for name, column in zip(names, columns, strict=True)]
        rows, places, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        return rows, places, values

    def _of_column(self, name: str, column: Array) -> Entries:
        if column.dtype.kind not in "OUT":
            places, signs = self._hashing.places([name])
            numbers = inputs.as_numbers(column, self._where, f"column {name!r}")
            return np.arange(len(column)), np.repeat(places, len(column)), signs * numbers
        cells = column.astype(object)
        texts = np.array([isinstance(cell, str) for cell in cells], dtype=bool)
        places, signs = self._hashing.places([f"{name}={cell}" if isinstance(cell, str) else name for cell in cells])
        cells[texts] = 1.0
        return np.arange(len(cells)), places, signs * inputs.as_numbers(cells, self._where, f"column {name!r}")

    def block(self, start: int, stop: int) -> Array:
        """Rows ``start`` to ``stop``, dense."""
        return _dense(*self.entries(start, stop), min(stop, self.rows) - start, self.columns)

    def blocks(self, at_most: int | None = None) -> Iterator[tuple[int, Array]]:
        """All rows, in blocks that fit into memory."""
        step = max(1, min(at_most or inputs.BLOCK_ROWS, _ELEMENTS // self.columns))
        for start in range(0, self.rows, step):
            yield start, self.block(start, min(start + step, self.rows))


def _of_columns(found: tuple[Array, Array], block: Array) -> Entries:
    places, signs = found
    rows = np.repeat(np.arange(len(block)), block.shape[1])
    return rows, np.tile(places, len(block)), (signs * block.astype(np.float64)).ravel()


def _dense(rows: Array, places: Array, values: Array, count: int, width: int) -> Array:
    out = np.zeros((count, width))
    with np.errstate(over="ignore", invalid="ignore"):  # a sum beyond the range is infinite, and rejected as such
        np.add.at(out, (rows, places), values)
    return out
