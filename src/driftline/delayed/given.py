"""Rows of a forecaster that hold text or times, by columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.base.rules import COUNT
from driftline.delayed.known import Known, is_featureless
from driftline.tables import cells, inputs, kinds, missing
from driftline.tables.block import COLUMNS, FRAME, RowBlock, as_block, of_columns
from driftline.tables.categories import Categories
from driftline.tables.cells import Given, Row
from driftline.tables.inputs import Array, Name
from driftline.tables.missing import FILLS, RAISE
from driftline.tables.numbers import Numbers


def other_names(where: str, known: list[Name] | None, given: list[Name]) -> str:
    """How the feature names of a row differ from those of the first row, None if that had none."""
    if known is None:
        return f"{where}: the features have names, unlike those of the first row"
    parts = []
    for what, names in (("missing", set(known) - set(given)), ("new", set(given) - set(known))):
        if names:
            parts.append(f"{what} {', '.join(sorted(map(repr, names))[:5])}{', ...' if len(names) > 5 else ''}")
    return f"{where}: the feature names differ from those of the first row: {'; '.join(parts)}"


def by_columns(x: Any, encoded: bool, where: str) -> RowBlock | None:
    """A row or a table by columns; None if it should be read as numbers.

    Args:
        x: a mapping or a table, or anything else.
        encoded: whether earlier rows came by columns.
        where: the caller's name, for messages.
    """
    given = inputs.named(x)
    if isinstance(given, RowBlock) and given.kind == COLUMNS:
        return given
    if isinstance(given, Mapping):
        if not encoded and not any(map(kinds.is_special, given.values())):
            return None
        return _one_row(cells.of_mapping(given, where))
    if is_featureless(x) and not encoded:
        return None
    if not (hasattr(type(x), "columns") or hasattr(type(x), "column_names")):
        if encoded:
            raise ValueError(f"{where}: rows must have feature names: earlier rows held text or times")
        return None
    table = as_block(x, where)
    if table.kind != FRAME or not (encoded or table.special):
        return None
    return of_columns(table.given(0, table.rows, where), table.rows)


def _one_row(row: Row) -> RowBlock:
    found = cells.joined([row], {name: Given(None, np.empty(0)) for name in row})
    assert found is not None
    return of_columns(found, 1)


def of_numbers(row: Array, names: Sequence[Name]) -> Row:
    """A row of numbers by columns."""
    return Row((name, None if value != value else value) for name, value in zip(names, row.tolist(), strict=True))


def known_columns(known: Sequence[Any] | None, table: RowBlock, where: str) -> list[Name] | None:
    """The columns that are known ahead, by name; None for all. A file's columns may come later."""
    if table.open or known is None:
        return None if known is None else list(known)
    places = Known(known)
    places.check(table.columns, table.names, where)
    return places.named(table.names)


def times_in(table: RowBlock) -> list[Name]:
    """The columns that hold times."""
    return [name for name, values in table.values.items() if values.kind in (kinds.DATE, kinds.CLOCK, kinds.TIMESTAMP)]


def with_times(X: Any, name: Name, times: Given, where: str) -> RowBlock:
    """Rows by columns, with their times in front."""
    if is_featureless(X):
        return of_columns({name: times}, times.rows)
    table = as_block(X, where)
    if table.names is None:
        raise ValueError(f"{where}: features must have names if the rows' times are one of them: pass a frame")
    if name in table.names:
        raise ValueError(f"{where}: the feature {name!r} has the name of the rows' times")
    return of_columns({name: times, **table.given(0, table.rows, where)}, table.rows)


def names_of(known: list[Name] | None, table: RowBlock, where: str) -> list[Name]:
    """The columns so far; raises ValueError if a table has others, unless it comes from a file."""
    if known is None:
        return list(table.values)
    if not table.open and set(known) != set(table.values):
        raise ValueError(other_names(where, known, list(table.values)))
    return [*dict.fromkeys([*known, *table.values])]


class Rows:
    """Rows by columns as the steps see them.

    Args:
        past: earlier rows.
        table: the rows.
        names: all columns.
        known: those that are known ahead; None for all.
        where: the caller's name, for messages.
    """

    def __init__(
        self, past: list[Row], table: RowBlock, names: list[Name], known: Sequence[Name] | None, where: str
    ) -> None:
        self._past, self._limit, self._begins, self._rows = past, table.limit, table.begins, table.rows
        absent = Given(None, np.empty(table.rows))
        self._given = {name: table.values.get(name, absent) for name in names}
        ahead = set(names if known is None else known)
        self._shifted = [name for name in names if name not in ahead]
        self.leaves_out = bool(self._shifted)
        found = cells.joined(past, {name: self._given[name] for name in self._shifted})
        if found is None:
            raise ValueError(f"{where}: a column holds other values than before")
        self._all = found

    def seen(self, step: int) -> RowBlock:
        """The rows as seen ``step`` rows earlier, with old values for the columns not known ahead."""
        origins = np.maximum(np.arange(self._rows) + len(self._past) - step, 0)
        found = {**self._given, **{name: given.take(origins) for name, given in self._all.items()}}
        begins = {name: min(begin + step * (name in self._all), self._rows) for name, begin in self._begins.items()}
        return of_columns(found, self._rows, self._limit, begins)

    def table(self, seen: Any) -> Any:
        """Rows as a stepper takes them."""
        return seen

    def last(self, count: int) -> list[Row]:
        """The last rows."""
        new = range(max(self._rows - count, 0), self._rows)
        return [*self._past, *(cells.row_of(self._given, place, True) for place in new)][-count:]


def refuse(learner: Learner, table: RowBlock, y: Array, where: str, start: int | None) -> None:
    """Raises ValueError for the first value or label that the learner refuses; a file's rows are refused by place."""
    learner._check_labels(y, where, start)
    if table.open:
        return
    refused: list[tuple[int, Name]] = []
    for name, values in table.values.items():
        absent = cells.missing_in(values)
        if missing.word(learner.missing, name) == RAISE and absent.any():
            refused.append((int(absent.argmax()), name))
    if refused:
        row, name = min(refused, key=itemgetter(0))
        place = "" if start is None else f"row {start + row}, "
        learner._door.refuse_value(np.nan, where, "x", f"{place}feature {name!r}")
    bad = ~(np.abs(y) <= learner._door.largest)
    if bad.any() and not missing.skips_labels(learner.missing):
        row = int(bad.argmax())
        learner._door.refuse_bad_label(y[row], where, "" if start is None else f" in row {start + row}")


def next_rows(
    learner: Learner, last: Row, names: list[Name], known: Sequence[Name] | None, X_next: Any, where: str
) -> list[Row]:
    """The next rows: the values of the columns known ahead, and the last row's values for the others."""
    columns = {} if learner._columns is None else learner._columns.columns
    ahead = None if known is None else set(known)
    wanted = [name for name in names if (ahead is None or name in ahead) and name in columns]
    given = set(wanted)
    for name in names:
        lacks = name not in given and last.get(name) is None and name in columns
        if lacks and missing.word(learner.missing, name) not in FILLS:
            raise ValueError(
                f"{where}: the last row has no value for the feature {name!r}, which is not known ahead; "
                "learn a row that has it first"
            )
    if isinstance(X_next, int | np.integer):
        if wanted:
            raise ValueError(f"{where}: X_next must hold the features that are known ahead, got {X_next}")
        return [last] * int(COUNT.require(where, "X_next", X_next))
    if not wanted:
        return [last] * len(X_next)
    found = []
    for number, row in enumerate(rows_of(X_next, where)):
        for name in wanted:
            if row.get(name) is None and not _may_lack(learner, name):
                raise ValueError(f"{where}: row {number} of X_next has no value for {name!r}, which must be known ahead")
        found.append(Row({**last, **{name: row.get(name) for name in wanted}}))
    return found


def rows_of(X_next: Any, where: str) -> list[Row]:
    """The rows of a frame or a list of mappings."""
    if isinstance(X_next, (list, tuple)) and all(isinstance(inputs.named(x), Mapping) for x in X_next):
        return [cells.of_mapping(inputs.named(x), where) for x in X_next]
    table = as_block(X_next, where)
    if table.names is None:
        raise ValueError(f"{where}: X_next must be a frame or a list of mappings: earlier rows held text or times")
    columns = table.given(0, table.rows, where)
    return [cells.row_of(columns, place, True) for place in range(table.rows)]


def _may_lack(learner: Learner, name: Name) -> bool:
    """Whether a column known ahead may have no value: a number that is filled in, or a text that was missing before."""
    column: Any = None if learner._columns is None else learner._columns.columns.get(name)
    filled = isinstance(column, Numbers) and missing.word(learner.missing, name) in FILLS
    return filled or (isinstance(column, Categories) and column.missed)
