"""How rows that are more than numbers reach a learner's core: text, times, and missing values that are filled in.

A learner that meets such rows gets :class:`~driftline.tables.encoder.Columns`, which turn them into features for the core
and learn as it goes. Rows of plain numbers bypass them, unless missing values are filled in: then every row passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from driftline.base.batch import numbered
from driftline.base.door import Door, different_names
from driftline.tables import cells, inputs, kinds, missing
from driftline.tables.cells import Given, Row
from driftline.tables.encoder import Columns
from driftline.tables.inputs import Array, Name, Table
from driftline.tables.missing import FILLS, SKIP

if TYPE_CHECKING:
    from driftline.base.learner import Learner

_PLAIN_ROWS = (np.ndarray, list, tuple, dict)

# One row.


class Entered(NamedTuple):
    """A row that has been encoded.

    Attributes:
        x: the row as the door reads it.
        columns: the columns after this row is learned; None if they learn nothing.
        cells: the row by columns; None if it holds only numbers.
    """

    x: Any
    columns: Columns | None = None
    cells: Row | None = None


def known_row(learner: Learner, x: Any, *, learned: bool) -> list[float] | None:
    """The features of a row that brings nothing new; None if the row must be read with care, or is plain."""
    columns = learner._columns
    if columns is None or learner._core is None:
        return None
    kind = type(x)
    if kind is dict:
        return columns.plan(learner._largest).of_mapping(x.items(), learned) if columns.named else None
    if not missing.by_column(columns.missing):  # arrays hold features, not columns
        return None
    if kind is np.ndarray and x.ndim == 1 and x.dtype.kind == "f":
        return columns.plan(learner._largest).of_sequence(x.tolist(), learned)
    return columns.plan(learner._largest).of_sequence(x, learned) if kind in (list, tuple) else None


def known_cells(learner: Learner, x: Any, row: list[float]) -> Row:
    """A known row by columns, with the values that fill it in."""
    columns: Any = learner._columns
    items = x.items() if isinstance(x, dict) else zip(columns.columns, map(float, x), strict=True)
    return columns.plan(learner._largest).as_given(items, row, isinstance(x, dict))  # type: ignore[no-any-return]


def enter(learner: Learner, x: Any, where: str, *, grow: bool) -> Entered:
    """Encodes the text, times and missing values of a row. The learner does not change.

    Without ``grow``, columns that were never learned are ignored, unless no row was learned yet.
    """
    x = x if type(x) in _PLAIN_ROWS else inputs.named(x)
    given = _cells(learner, x, where)
    if given is None:
        return Entered(x)
    lost = _refuse_bad(learner, given, where)
    columns = (learner._columns or begin(learner, where, given.named)).copy()
    learns = (grow or learner._core is None) and not lost
    found = columns.row(given, where, grow=learns)
    if lost:
        found[next(iter(columns.names or given))] = np.nan
    return Entered(found, columns if learns else None, columns.keep_filled(given, found))


def _cells(learner: Learner, x: Any, where: str) -> Row | None:
    """The row by columns; None if the core takes the row as it is."""
    if isinstance(x, Row):
        return x
    every = missing.by_column(learner.missing)
    if not learner._encodes:
        return None
    if isinstance(x, Mapping):
        if learner._columns is not None and not learner._columns.named:
            Door(type(learner).__name__, 1, None).known_names(where)  # raises
        plain = learner._columns is None and not every and not cells.has_special_values(x)
        return None if plain else cells.of_mapping(x, where)
    if not every:
        return None
    row = inputs.as_row(x, where)
    names = _columns_of_arrays(learner, row.size, where)
    values = [None if value != value else value for value in row.tolist()]
    return Row(zip(names, values, strict=True), named=False)


def _columns_of_arrays(learner: Learner, width: int, where: str) -> list[Name]:
    """The column names for the entries of an array."""
    if learner._columns is None:
        learner._door.require_width(width, where)
        return list(learner._names or map(str, range(width)))
    Door(type(learner).__name__, len(learner._columns.columns), None).require_width(width, where)
    return list(learner._columns.columns)


def begin(learner: Learner, where: str, named: bool) -> Columns:
    """New columns: numbers for the features that the learner knows."""
    columns = Columns(learner.missing, named)
    if learner._core is not None:
        columns.know_numbers(learner._door.known_names(where))
    return columns


def _refuse_bad(learner: Learner, given: Row, where: str) -> bool:
    """Refuses bad values; returns whether the row is left out because of one."""
    door, lost = learner._door, False
    for name, value in given.items():
        word = missing.word(learner.missing, name)
        if (value is None and word not in FILLS) or (isinstance(value, float) and not abs(value) <= door.largest):
            if word != SKIP:
                door.refuse_value(np.nan if value is None else value, where, "x", f"feature {name!r}")
            lost = True
    return lost


# Tables.


@dataclass(frozen=True)
class Piece:
    """Some rows of a table.

    Attributes:
        columns: their values.
        lost: rows that will be skipped because a value is missing.
        named: whether the columns have names.
    """

    columns: dict[Name, Given]
    lost: Array
    named: bool

    def row(self, place: int) -> Row:
        """One of the rows."""
        return cells.row_of(self.columns, place, self.named)

    def __len__(self) -> int:
        return len(self.lost)


class EncodedTable(Table):
    """A table that a learner's columns encode."""

    def __init__(self, learner: Learner, table: Table, where: str) -> None:
        self.learner, self.source = learner, table
        columns = table.columns if learner._core is None else learner._core.features
        super().__init__(None, table.rows, max(columns, 1), learner._names, where)
        self.columns = columns
        self._check()

    def _check(self) -> None:
        """Raises ValueError unless the columns are the learner's, in the same order."""
        learner, given = self.learner, self.source.names
        if learner._core is None:
            return
        columns = self.known()
        if given is not None and columns.named and given != list(columns.columns):
            raise ValueError(different_names(self._where, list(columns.columns), given))
        if self.source.columns != len(columns.columns):
            owner, known = type(learner).__name__, len(columns.columns)
            raise ValueError(
                f"{self._where}: X has {self.source.columns} features, but {owner} is expecting {known} features as input"
            )

    def known(self) -> Columns:
        """The learner's columns, or new ones."""
        return self.learner._columns or begin(self.learner, self._where, self.source.names is not None)

    def piece(self, start: int, stop: int) -> Piece:
        """Rows ``start`` to ``stop`` by columns; raises ValueError for the first bad value."""
        learner, largest = self.learner, self.learner._door.largest
        columns = cells.of_table(self.source, start, stop, self._where)
        if learner._columns is not None:  # the columns of an array are the learner's, in order
            columns = dict(zip(learner._columns.columns, columns.values(), strict=True))
        lost = np.zeros(stop - start, dtype=bool)
        refused: list[tuple[int, float, Name]] = []
        for name, given in columns.items():
            absent, word = cells.missing_in(given), missing.word(learner.missing, name)
            bad = np.zeros_like(absent) if word in FILLS else absent
            if given.kind == kinds.NUMBER:
                bad = bad | ~(absent | (np.abs(given.values) <= largest))
            if not bad.any():
                continue
            lost |= bad
            if word != SKIP:
                row = int(bad.argmax())
                refused.append((row, float(given.values[row]) if given.kind == kinds.NUMBER else np.nan, name))
        if refused:
            row, value, name = min(refused, key=lambda item: item[0])
            learner._door.refuse_value(value, self._where, "X", f"{numbered(start + row, after=', ')}feature {name!r}")
        return Piece(columns, lost, self.source.names is not None)

    def block(self, start: int, stop: int) -> Array:
        """Rows ``start`` to ``stop`` as numbers for the core; the columns learn nothing."""
        assert self.learner._core is not None, "there are no features yet"
        piece = self.piece(start, stop)
        X, _ = self.known().copy().table(piece.columns, self._where, None)
        X[piece.lost] = np.nan
        return X

    def blocks(self, at_most: int | None = None) -> Iterator[tuple[int, Array]]:
        """All rows, in pieces."""
        for start, stop in self._pieces(at_most):
            yield start, self.block(start, stop)

    def mappings(self) -> Iterator[Row]:
        """The rows one by one."""
        for start, stop in self._pieces():
            piece = self.piece(start, stop)
            for place in range(len(piece)):
                yield piece.row(place)

    def whole_rows(self) -> Array:
        """Which rows are complete."""
        return ~np.concatenate([self.piece(start, stop).lost for start, stop in self._pieces()])

    def _pieces(self, at_most: int | None = None) -> Iterator[tuple[int, int]]:
        step = at_most or inputs.rows_to_convert(self.source.columns)
        return ((start, min(start + step, self.rows)) for start in range(0, self.rows, step))
