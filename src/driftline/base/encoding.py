"""How rows that are more than numbers reach a learner's core: text, times, and missing values that are filled in.

A learner that meets such rows gets :class:`~driftline.tables.encoder.Columns`, which turn them into features for the core
and learn as it goes. Rows of plain numbers bypass them, unless missing values are filled in: then every row passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from driftline.base.batch import numbered
from driftline.base.door import LARGEST, Door, different_names
from driftline.tables import cells, inputs, kinds, missing
from driftline.tables.cells import Given, Row, TypedTable
from driftline.tables.columns import CATEGORIES
from driftline.tables.encoder import Columns, Growth
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
    if kind is dict or kind is Row:
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


def begin(learner: Learner, where: str, named: bool, limit: int = CATEGORIES) -> Columns:
    """New columns: numbers for the features that the learner knows."""
    columns = Columns(learner.missing, named, limit)
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

    def row(self, place: int, unmet: Iterable[Name] = ()) -> Row:
        """One of the rows, without missing values of columns that have had none."""
        row = cells.row_of(self.columns, place, self.named)
        for name in unmet:
            if row[name] is None:
                del row[name]
        return row

    def __len__(self) -> int:
        return len(self.lost)


class EncodedTable(Table):
    """A table that a learner's columns encode."""

    def __init__(self, learner: Learner, table: Table, where: str) -> None:
        self.learner, self.source = learner, table
        columns = table.columns if learner._core is None else learner._core.features
        super().__init__(None, table.rows, max(columns, 1), learner._names, where)
        self.columns, self.open = columns, isinstance(table, TypedTable)
        self._check()

    def _check(self) -> None:
        """Raises ValueError unless the columns are the learner's, in the same order."""
        learner, given = self.learner, self.source.names
        if learner._core is None or self.open:
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
        limit = self.source.limit if isinstance(self.source, TypedTable) else CATEGORIES
        return self.learner._columns or begin(self.learner, self._where, self.source.names is not None, limit)

    def piece(self, start: int, stop: int) -> Piece:
        """Rows ``start`` to ``stop`` by columns; raises ValueError for the first bad value."""
        learner, largest, found = self.learner, self.learner._door.largest, self.rows_of(start, stop)
        columns, lost, unmet = found.columns, found.lost, _unmet(learner, self.source)
        refused: list[tuple[int, float, Name]] = []
        whole = self.source.whole if isinstance(self.source, TypedTable) and largest == LARGEST["float64"] else ()
        for name, given in columns.items() if len(whole) < len(columns) else ():
            if name in whole:
                continue
            absent, word = cells.missing_in(given), missing.word(learner.missing, name)
            bad = np.zeros_like(absent) if word in FILLS else absent.copy()
            bad[: max(unmet.get(name, 0) - start, 0)] = False
            if given.kind == kinds.NUMBER:
                bad = bad | ~(absent | (np.abs(given.values) <= largest))
            if not bad.any():
                continue
            lost = lost | bad
            if word != SKIP:
                row = int(bad.argmax())
                refused.append((row, float(given.values[row]) if given.kind == kinds.NUMBER else np.nan, name))
        if refused:
            row, value, name = min(refused, key=lambda item: item[0])
            learner._door.refuse_value(value, self._where, "X", f"{numbered(start + row, after=', ')}feature {name!r}")
        return replace(found, lost=lost)

    def rows_of(self, start: int, stop: int) -> Piece:
        """Rows ``start`` to ``stop`` by columns, which are not checked."""
        columns, known = cells.of_table(self.source, start, stop, self._where), self.known().columns
        if self.open:
            columns |= {name: Given(None, np.empty(stop - start)) for name in known if name not in columns}
        elif self.learner._columns is not None:  # the columns of an array are the learner's, in order
            columns = dict(zip(known, columns.values(), strict=True))
        return Piece(columns, np.zeros(stop - start, dtype=bool), self.source.names is not None)

    def encode(self, piece: Piece, start: int, stop: int, learned: Array) -> tuple[Array, Growth, Columns]:
        """Rows as numbers, the new features that some bring, and the columns once they are learned.

        A table that several learners take in turn keeps this for learners whose columns are still the same.
        """
        kept: Any = self.source.kept if isinstance(self.source, TypedTable) else None
        before = self.learner._columns
        state = (before, self.learner.missing, learned.tobytes(), piece.lost.tobytes())
        found = None if kept is None else kept.get((start, stop))
        if found is not None and found[0][0] is before and found[0][1:] == state[1:]:
            return found[1]  # type: ignore[no-any-return]
        columns = self.known().copy()
        X, growth = columns.table(piece.columns, self._where, learned)
        X[piece.lost] = np.nan
        if kept is not None:
            columns.shared = True
            kept[start, stop] = state, (X, growth, columns)
        return X, growth, columns

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

    def each(self, start: int, stop: int) -> Iterator[Row]:
        """Rows one by one, which are not checked; the learner may learn them meanwhile."""
        rows = self.rows_of(start, stop)
        for place in range(stop - start):
            unmet = _unmet(self.learner, self.source)
            yield rows.row(place, [name for name, begin in unmet.items() if start + place < begin])

    def whole_rows(self) -> Array:
        """Which rows are complete."""
        return ~np.concatenate([self.piece(start, stop).lost for start, stop in self._pieces()])

    def _pieces(self, at_most: int | None = None) -> Iterator[tuple[int, int]]:
        step = at_most or inputs.rows_to_convert(max(self.source.columns, self.columns))
        return ((start, min(start + step, self.rows)) for start in range(0, self.rows, step))


def is_plain(learner: Learner, table: TypedTable) -> bool:
    """Whether a table holds numbers alone, for features that the learner knows or that all begin with the first row."""
    if learner._columns is not None or not table.columns or not table.is_numeric:
        return False
    if learner._core is not None:
        return table.names == learner._names
    return not any(np.isnan(given.values[0]) for given in table.given.values())


def each_row(learner: Learner, table: TypedTable, start: int, stop: int) -> Iterator[Any]:
    """The rows of a table one by one, as the learner takes single rows at that time."""
    if not learner._encodes:
        yield from table[start:stop].mappings()
    elif not missing.by_column(learner.missing) and is_plain(learner, table):
        yield from (dict(zip(table.names or (), row, strict=True)) for row in table.block(start, stop).tolist())
    else:
        yield from EncodedTable(learner, table, "").each(start, stop)


def _unmet(learner: Learner, table: Table) -> dict[Name, int]:
    """Columns whose missing values do not count until the row in which they begin."""
    begins = table.begins if isinstance(table, TypedTable) else {}
    known = {} if learner._columns is None else learner._columns.columns
    new = {name: row for name, row in begins.items() if name not in known or not known[name].met}
    return {name: row for name, row in new.items() if missing.word(learner.missing, name) not in FILLS}
