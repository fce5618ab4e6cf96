"""Features by the hash of their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from driftline import _core
from driftline.base import params
from driftline.features.transformer import Transformer
from driftline.tables import inputs
from driftline.tables.block import FRAME, MAPPINGS, SPARSE, RowBlock, as_block
from driftline.tables.inputs import Array, Name
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
        block = _any_rows(X, where)
        rows, places, values = self._entries(block, 0, block.rows)
        hashed = csr_array((values, (rows, places)), shape=(block.rows, self.n))
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

    def block(self, X: Any, where: str) -> RowBlock:
        """Many rows of any width, hashed piece by piece."""
        source = _any_rows(X, where)
        found = source.by(self._read, self.n, max(1, _ELEMENTS // self.n)).require_values()
        found.names = None
        return found

    def _read(self, block: RowBlock, start: int, stop: int) -> Array:
        """Rows ``start`` to ``stop`` of a block that is read hashed."""
        assert block.source is not None
        return _dense(*self._entries(block.source, start, stop), min(stop, block.rows) - start, self.n)

    def _entries(self, block: RowBlock, start: int, stop: int) -> Entries:
        """The non-zero entries of some rows."""
        if block.kind == MAPPINGS:
            return self._of_mappings(block.values[start:stop], block.where)
        if block.kind == SPARSE:
            piece = block.values[start:stop].tocoo()
            columns, back = np.unique(piece.col, return_inverse=True)
            places, signs = self.places([str(column) for column in columns])
            values = inputs.as_numbers(np.asarray(piece.data), block.where, "X")
            return np.asarray(piece.row, dtype=np.int64), places[back], signs[back] * values
        names: list[Name] = list(range(block.columns)) if block.names is None else block.names
        raw = block.raw_columns(start, stop) if block.kind == FRAME else None
        if raw is None or all(column.dtype.kind in "biuf" for column in raw):
            return _of_columns(self.places(list(map(str, names))), block.block(start, stop))
        parts = [self._of_column(str(name), column, block.where) for name, column in zip(names, raw, strict=True)]
        rows, places, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        return rows, places, values

    def _of_column(self, name: str, column: Array, where: str) -> Entries:
        if column.dtype.kind not in "OUT":
            places, signs = self.places([name])
            numbers = inputs.as_numbers(column, where, f"column {name!r}")
            return np.arange(len(column)), np.repeat(places, len(column)), signs * numbers
        cells = column.astype(object)
        texts = np.array([isinstance(cell, str) for cell in cells], dtype=bool)
        places, signs = self.places([f"{name}={cell}" if isinstance(cell, str) else name for cell in cells])
        cells[texts] = 1.0
        return np.arange(len(cells)), places, signs * inputs.as_numbers(cells, where, f"column {name!r}")

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


def _any_rows(X: Any, where: str) -> RowBlock:
    if isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], Mapping):
        return RowBlock(X, MAPPINGS, where=where)
    return RowBlock(compressed(X, where, "X"), SPARSE, where=where) if inputs.is_sparse(X) else as_block(X, where)


def _of_columns(found: tuple[Array, Array], block: Array) -> Entries:
    places, signs = found
    rows = np.repeat(np.arange(len(block)), block.shape[1])
    return rows, np.tile(places, len(block)), (signs * block.astype(np.float64)).ravel()


def _dense(rows: Array, places: Array, values: Array, count: int, width: int) -> Array:
    out = np.zeros((count, width))
    with np.errstate(over="ignore", invalid="ignore"):  # a sum beyond the range is infinite, and rejected as such
        np.add.at(out, (rows, places), values)
    return out
