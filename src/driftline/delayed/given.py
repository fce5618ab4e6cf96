"""Rows of a forecaster that hold text or times, by columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.delayed.known import Known, is_featureless
from driftline.tables import cells, inputs, kinds, missing
from driftline.tables.cells import Given
from driftline.tables.encoder import Columns
from driftline.tables.inputs import Array, FrameTable, Name
from driftline.tables.missing import FILLS, RAISE, SKIP


def other_names(where: str, known: list[Name] | None, given: list[Name]) -> str:
    """How the feature names of a row differ from those of the first row, None if that had none."""
    if known is None:
        return f"{where}: the features have names, unlike those of the first row"
    parts = []
    for what, names in (("missing", set(known) - set(given)), ("new", set(given) - set(known))):
        if names:
            parts.append(f"{what} {', '.join(sorted(map(repr, names))[:5])}{', ...' if len(names) > 5 else ''}")
    return f"{where}: the feature names differ from those of the first row: {'; '.join(parts)}"


def begin(
    features: Sequence[Name], known: Sequence[Any] | None, names: list[Name], where: str
) -> tuple[Columns, list[Name] | None]:
    """The columns of rows that hold text or times, and those that are known ahead; None for all.

    Args:
        features: the features of the rows so far, which were numbers.
        known: columns that are known ahead, by name or place; None for all.
        names: the columns of the rows.
        where: the caller's name, for messages.
    """
    columns = Columns(SKIP)  # missing numbers reach the models, which fill them in
    columns.know_numbers(features)
    places = Known(known)
    places.check(len(names), names, where)
    return columns, places.named(names)


def in_order(columns: Columns, given: Mapping[Name, Given], where: str) -> Mapping[Name, Given]:
    """Rows with the columns in the order of the first row; raises ValueError if they have others."""
    known = list(columns.columns)
    if known and set(known) != set(given):
        raise ValueError(other_names(where, known, list(given)))
    return {name: given[name] for name in known or given}


def next_rows(columns: Columns, known: Known, named: Sequence[Name] | None, X_next: Any, last: Array, where: str) -> Array:
    """The next rows as numbers: the values of the columns known ahead, and the last row's values for the others."""
    wanted = list(columns.columns) if named is None else named
    if not wanted:
        return known.filled(np.zeros((len(X_next), len(last))), last, columns.names, where)
    if isinstance(X_next, (list, tuple)) and all(isinstance(inputs.named(x), Mapping) for x in X_next):
        parts = [cells.of_row(cells.of_mapping(inputs.named(x), where)) for x in X_next]
    else:
        table = inputs.as_table(X_next, where)
        if table.names is None:
            raise ValueError(f"{where}: X_next must be a frame or a list of mappings: earlier rows held text or times")
        parts = [cells.of_table(table, 0, table.rows, where)] if table.rows else []
    blocks = [np.empty((0, len(last)))]
    for number, part in enumerate(parts):
        for name in wanted:
            if name not in part or cells.missing_in(part[name]).any():
                row = f"row {number} of X_next" if len(parts) > 1 else "X_next"
                raise ValueError(f"{where}: {row} has no value for {name!r}, which must be known ahead")
        blocks.append(columns.copy().table({name: part[name] for name in wanted}, where, None)[0])
    return known.filled(np.concatenate(blocks), last, columns.names, where)


def by_columns(x: Any, encoded: bool, where: str) -> dict[Name, Given] | None:
    """A row or a table by columns; None if it should be read as numbers.

    Args:
        x: a mapping or a frame, or anything else.
        encoded: whether earlier rows had columns of text or times.
        where: the caller's name, for messages.
    """
    given = inputs.named(x)
    if isinstance(given, Mapping):
        if not encoded and not any(map(kinds.is_special, given.values())):
            return None
        return cells.of_row(cells.of_mapping(given, where))
    if is_featureless(x) and not encoded:
        return None
    if not (hasattr(type(x), "columns") or hasattr(type(x), "column_names")):
        if encoded:
            raise ValueError(f"{where}: rows must have feature names: earlier rows held text or times")
        return None
    table = inputs.as_table(x, where)
    if not isinstance(table, FrameTable) or not table.rows or not (encoded or cells.has_special(table)):
        return None
    return cells.of_table(table, 0, table.rows, where)


def lost_rows(learner: Learner, given: Mapping[Name, Given], where: str, start: int | None) -> Array:
    """The rows that are left out because a value is missing; raises ValueError for the first that the learner refuses."""
    lost = np.zeros(next(iter(given.values())).rows, dtype=bool)
    refused: list[tuple[int, Name]] = []
    for name, values in given.items():
        word, absent = missing.word(learner.missing, name), cells.missing_in(values)
        if word not in FILLS:
            lost |= absent
            refused += [(int(absent.argmax()), name)] if word == RAISE and absent.any() else []
    if refused:
        row, name = min(refused, key=itemgetter(0))
        place = "" if start is None else f"row {start + row}, "
        learner._door.refuse_value(np.nan, where, "x", f"{place}feature {name!r}")
    return lost
