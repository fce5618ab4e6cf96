"""Rows that are more than numbers: text, times, and missing values that are filled in.

A learner that meets such rows gets an :class:`Intake`, which turns columns into features for the core and learns as it
goes. Rows of plain numbers bypass it, unless missing values are filled in: then every row contributes to the means.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from driftline.base.batch import numbered
from driftline.base.door import Door, different_names
from driftline.errors import ModelFileError
from driftline.tables import cells, inputs, kinds
from driftline.tables.cells import Filled, Given, Row
from driftline.tables.columns import CATEGORIES, MEAN, SKIP, VALUE, Categories, Numbers, Unknown
from driftline.tables.encoder import ColumnEncoder, Growth
from driftline.tables.inputs import Array, Name, Table
from driftline.tables.row_plan import RowPlan

if TYPE_CHECKING:
    from driftline.base.learner import Learner

FILL = "fill"
_UNKNOWN = Unknown("")


class Intake(ColumnEncoder):
    """What a learner knows about the columns of its rows.

    Args:
        fill: replace a missing number by the running mean, and add a feature that marks it as missing.
        named: whether columns have names; array columns are named by their index.
    """

    def __init__(self, fill: bool, named: bool = True) -> None:
        super().__init__(CATEGORIES, lambda name: MEAN if fill else SKIP)
        self.fill, self.named = fill, named
        self._plan: RowPlan | None = None

    def copy(self) -> Self:
        """A copy that learns independently."""
        other = super().copy()
        other._plan = None  # whose columns are not the copy's
        return other

    def plan(self, largest: float) -> RowPlan:
        """The plan for single rows that bring nothing new."""
        if self._plan is None or self._plan.names is not self.names:
            self._plan = RowPlan(self, float(largest), self.fill)
        return self._plan

    def know_numbers(self, names: Iterable[Name]) -> None:
        """Adds columns of numbers whose features the learner already has."""
        for name in names:
            self.add(name, kinds.NUMBER).met = True
            self.features.append((name, VALUE))
            self.names.append(name)

    def enter(self, columns: Mapping[Name, Given], where: str, what: str, learned: Array) -> dict[Name, Any]:
        """Values by column, in the form that each column's encoder takes.

        Args:
            columns: the columns of some rows.
            where: the caller's name, for messages.
            what: how messages refer to a column: a format string that takes its name.
            learned: which rows are learned from; these may bring new columns.
        """
        direct = self._direct(columns)
        new = inputs.as_names(columns, where) if learned.any() else ()
        for name, given in ((name, columns[name]) for name in new):
            if name not in direct and isinstance(self.columns.get(name, _UNKNOWN), Unknown):
                met = given.kind is not None and bool((learned & ~cells.missing_in(given)).any())
                self.add(name, given.kind if met and given.kind else Unknown.kind)
        known = [name for name in self.columns if name in columns]
        return {name: cells.for_column(self.columns[name], columns[name], where, what.format(repr(name))) for name in known}

    def _direct(self, columns: Mapping[Name, Given]) -> set[Name]:
        """The names of features, rather than columns: their values are used as they are."""
        return (set(self.names) - set(self.columns)) & set(columns)

    def table(self, columns: Mapping[Name, Given], where: str, learned: Array | None) -> tuple[Array, Growth]:
        """Rows as numbers, and the new features of the rows that are learned; ``learned=None`` learns nothing."""
        count = next(iter(columns.values())).rows
        learned = np.zeros(count, dtype=bool) if learned is None else learned
        return self.rows(self.enter(columns, where, "column {}", learned), count, learned)

    def row(self, given: Row, where: str, *, grow: bool) -> dict[Name, float]:
        """The features of one row; with ``grow`` the intake learns from it."""
        columns = cells.of_row(given)
        for name, column in self.columns.items():
            if name not in columns and isinstance(column, Numbers) and column.met:
                columns[name] = Given(kinds.NUMBER, [0.0])  # a missing key is 0
        learned = np.array([grow])
        X, _ = self.rows(self.enter(columns, where, "x[{}]", learned), 1, learned)
        found: dict[Name, float] = dict(zip(self.names, X[0].tolist(), strict=True))
        found |= {name: given[column].value for column, name in self._numbers() if isinstance(given.get(column), Filled)}
        for name in self._direct(columns):
            value = given[name]
            if not isinstance(value, float):
                raise ValueError(f"{where}: x[{name!r}] must be a number, got {value!r}")
            found[name] = value
        return found

    def keep_filled(self, given: Row, found: Mapping[Name, float]) -> Row:
        """A row with the values that replaced missing numbers, kept until its label arrives."""
        filled = {column: Filled(found[name]) for column, name in self._numbers() if given.get(column, 0.0) is None}
        return Row({**given, **filled}, given.named)

    def _numbers(self) -> list[tuple[Name, Name]]:
        """The columns of numbers that have had a value, and their features."""
        return [(column, name) for (column, key), name in zip(self.features, self.names, strict=True) if key == VALUE]

    def plain(self) -> dict[str, Any]:
        """What is known, as plain values."""
        return {**self.state(), "named": self.named}


def read(state: Any, names: list[Name] | None, fill: bool) -> Intake:
    """The intake of an exported state; raises ValueError if it disagrees with the model's features."""
    intake = Intake(fill, bool(state["named"]))
    try:
        intake.restore(state)
        sound = intake.state() == {name: state[name] for name in ("columns", "features")}
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        sound = False
    if not sound or intake.names != names or not _agrees(intake):
        raise ModelFileError("the columns do not agree with the features")
    return intake


def _agrees(intake: Intake) -> bool:
    owned = [(name, key) for name, column in intake.columns.items() for key in column.known_keys()]
    sums = all(
        column.count >= 0 and np.isfinite(column.total) and column.policy == intake.policy(name)
        for name, column in intake.columns.items()
        if isinstance(column, Numbers)
    )
    bounded = all(len(each.values) <= each.limit for each in intake.columns.values() if isinstance(each, Categories))
    return sums and bounded and len(owned) == len(intake.features) and set(owned) == set(intake.features)


# One row.


class Entered(NamedTuple):
    """A row that has been encoded.

    Attributes:
        x: the row as the door reads it.
        intake: the intake after this row is learned; None if it learns nothing.
        cells: the row by columns; None if it holds only numbers.
    """

    x: Any
    intake: Intake | None = None
    cells: Row | None = None


def known_row(learner: Learner, x: Any, *, learned: bool) -> list[float] | None:
    """The features of a row that brings nothing new; None if the row must be read with care, or has no need of an intake."""
    intake = learner._intake
    if intake is None or learner._core is None:
        return None
    kind = type(x)
    if kind is dict:
        return intake.plan(learner._largest).of_mapping(x.items(), learned) if intake.named else None
    if not intake.fill:  # arrays hold features, not columns
        return None
    if kind is np.ndarray and x.ndim == 1 and x.dtype.kind == "f":
        return intake.plan(learner._largest).of_sequence(x.tolist(), learned)
    return intake.plan(learner._largest).of_sequence(x, learned) if kind in (list, tuple) else None


def enter(learner: Learner, x: Any, where: str, *, grow: bool) -> Entered:
    """Encodes the text, times and missing values of a row. The learner does not change.

    Without ``grow``, columns that were never learned are ignored, unless no row was learned yet.
    """
    x = inputs.named(x)
    given = _cells(learner, x, where)
    if given is None:
        return Entered(x)
    lost = _refuse_bad(learner, given, where)
    known = learner._intake
    intake = (known or begin(learner, where, given.named)).copy()
    learns = (grow or learner._core is None) and not lost
    found = intake.row(given, where, grow=learns)
    if lost:
        found[next(iter(intake.names or given))] = np.nan
    if intake.fill:
        given = intake.keep_filled(given, found)
    return Entered(found, intake if learns else None, given)


def _cells(learner: Learner, x: Any, where: str) -> Row | None:
    """The row by columns; None if the core takes the row as it is."""
    if isinstance(x, Row):
        return x
    fill = learner.missing == FILL
    if not learner._encodes:
        return None
    if isinstance(x, Mapping):
        if learner._intake is not None and not learner._intake.named:
            Door(type(learner).__name__, 1, None).known_names(where)  # raises
        plain = learner._intake is None and not fill and not cells.has_special_values(x)
        return None if plain else cells.of_mapping(x, where)
    if not fill:
        return None
    row = inputs.as_row(x, where)
    names = _columns_of_arrays(learner, row.size, where)
    values = [None if value != value else value for value in row.tolist()]
    return Row(zip(names, values, strict=True), named=False)


def _columns_of_arrays(learner: Learner, width: int, where: str) -> list[Name]:
    """The column names for the entries of an array."""
    if learner._intake is None:
        learner._door.require_width(width, where)
        return list(learner._names or map(str, range(width)))
    Door(type(learner).__name__, len(learner._intake.columns), None).require_width(width, where)
    return list(learner._intake.columns)


def begin(learner: Learner, where: str, named: bool) -> Intake:
    """A new intake, which takes the features that the learner knows as columns of numbers."""
    intake = Intake(learner.missing == FILL, named)
    if learner._core is not None:
        door = learner._door
        intake.know_numbers(door.known_names(where))
    return intake


def _refuse_bad(learner: Learner, given: Row, where: str) -> bool:
    """Refuses bad values; if incomplete rows are skipped, returns whether a value is missing."""
    if learner.missing == SKIP:
        return None in given.values()
    door = learner._door
    for name, value in given.items():
        missing = value is None and learner.missing != FILL
        if missing or (isinstance(value, float) and not abs(value) <= door.largest):
            door.refuse_value(np.nan if value is None else value, where, "x", f"feature {name!r}")
    return False


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
    """A table that a learner's intake encodes."""

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
        intake = self.intake()
        if given is not None and intake.named and given != list(intake.columns):
            raise ValueError(different_names(self._where, list(intake.columns), given))
        if self.source.columns != len(intake.columns):
            owner, known = type(learner).__name__, len(intake.columns)
            raise ValueError(
                f"{self._where}: X has {self.source.columns} features, but {owner} is expecting {known} features as input"
            )

    def intake(self) -> Intake:
        """The learner's intake, or a new one."""
        return self.learner._intake or begin(self.learner, self._where, self.source.names is not None)

    def piece(self, start: int, stop: int) -> Piece:
        """Rows ``start`` to ``stop`` by columns; raises ValueError for the first bad value."""
        learner, largest = self.learner, self.learner._door.largest
        columns = cells.of_table(self.source, start, stop, self._where)
        if learner._intake is not None:  # the columns of an array are the learner's, in order
            columns = dict(zip(learner._intake.columns, columns.values(), strict=True))
        lost = np.zeros(stop - start, dtype=bool)
        refused: list[tuple[int, float, Name]] = []
        for name, given in columns.items():
            missing = cells.missing_in(given)
            bad = missing if learner.missing != FILL else np.zeros_like(missing)
            if given.kind == kinds.NUMBER:
                bad = bad | ~(missing | (np.abs(given.values) <= largest))
            if bad.any():
                row = int(bad.argmax())
                refused.append((row, float(given.values[row]) if given.kind == kinds.NUMBER else np.nan, name))
                lost |= bad
        if refused and learner.missing != SKIP:
            row, value, name = min(refused, key=lambda item: item[0])
            learner._door.refuse_value(value, self._where, "X", f"{numbered(start + row, after=', ')}feature {name!r}")
        return Piece(columns, lost, self.source.names is not None)

    def block(self, start: int, stop: int) -> Array:
        """Rows ``start`` to ``stop`` as numbers for the core; the intake learns nothing."""
        assert self.learner._core is not None, "there are no features yet"
        piece = self.piece(start, stop)
        X, _ = self.intake().copy().table(piece.columns, self._where, None)
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


def as_table(learner: Learner, X: Any, where: str) -> Table:
    """Rows as a table: an :class:`EncodedTable` if the learner's core cannot take them as they are."""
    table = inputs.as_table(X, where)
    if not learner._encodes or isinstance(table, EncodedTable):
        return table
    if learner.missing != FILL:
        if not isinstance(table, inputs.FrameTable) or table.names is None:
            return table
        if (learner._intake is None or table.names == learner._names) and not cells.has_special(table):
            return table
    return EncodedTable(learner, table, where)


def refuse_changed(before: str, now: str) -> None:
    """Raises ValueError if a learner that has learned would start or stop filling in missing values."""
    if before != now and FILL in (before, now):
        raise ValueError
