"""How rows that are more than numbers reach a learner's core: text, times, and missing values that are filled in.

A learner that meets such rows gets :class:`~driftline.tables.encoder.Columns`, which turn them into features for the core
and learn as it goes. Rows of plain numbers bypass them, unless missing values are filled in: then every row passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from driftline.base.batch import numbered
from driftline.base.door import LARGEST, Door, different_names
from driftline.tables import cells, inputs, kinds, missing
from driftline.tables.block import COLUMNS, FRAME, NUMBERS, SPARSE, RowBlock
from driftline.tables.categories import CATEGORIES
from driftline.tables.cells import Given, Row
from driftline.tables.columns import Column
from driftline.tables.encoder import Columns, Growth
from driftline.tables.inputs import Array, Name
from driftline.tables.missing import FILLS, RAISE, SKIP
from driftline.tables.row_plan import RowPlan

if TYPE_CHECKING:
    from driftline.base.learner import Learner

_NUMBERS = (np.ndarray, list, tuple)

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
        if not columns.named:
            return None
        plan = columns.plan(learner._largest)
        return plan.of_mapping(plan.completed(x).items() if kind is dict else x.items(), learned)
    if not missing.by_column(columns.missing):  # arrays hold features, not columns
        return None
    if kind is np.ndarray and x.ndim == 1 and x.dtype.kind == "f":
        return columns.plan(learner._largest).of_sequence(x.tolist(), learned)
    return columns.plan(learner._largest).of_sequence(x, learned) if kind in (list, tuple) else None


def known_cells(learner: Learner, x: Any, row: list[float]) -> Row:
    """A known row by columns, with the values that fill it in."""
    columns: Any = learner._columns
    plan: RowPlan = columns.plan(learner._largest)
    if type(x) is dict:
        x = plan.completed(x)
    items = x.items() if isinstance(x, dict) else zip(columns.columns, map(float, x), strict=True)
    return plan.as_given(items, row, isinstance(x, dict))


def enter(learner: Learner, x: Any, where: str, *, grow: bool) -> Entered:
    """Encodes the text, times and missing values of a row. The learner does not change.

    Without ``grow``, columns that were never learned are ignored, unless no row was learned yet.
    """
    kind = type(x)
    if kind in _NUMBERS and learner.missing in (RAISE, SKIP):  # the common case
        return Entered(x)
    x = x if kind is dict else inputs.named(x)
    given = _cells(learner, x, where)
    if given is None:
        return Entered(x)
    lost = _refuse_bad(learner, x, given, where)
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
    if learner._traits.reader is not None:
        return None
    if isinstance(x, Mapping):
        if learner._columns is not None and not learner._columns.named:
            Door(type(learner).__name__, 1, None).known_names(where)  # raises
        if learner._columns is not None:
            x = learner._columns.plan(learner._largest).completed(x)
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
    columns = Columns(learner.missing, named, limit, average=not learner._traits.bends, times=learner._traits.times)
    if learner._core is not None:
        columns.know_numbers(learner._door.known_names(where))
    return columns


def _refuse_bad(learner: Learner, x: Any, given: Row, where: str) -> bool:
    """Refuses bad values of a row; returns whether it is left out because of one."""
    door, lost = learner._door, False
    for name, value in given.items():
        word = missing.word(learner.missing, name)
        if (value is None and word not in FILLS) or (isinstance(value, float) and not abs(value) <= door.largest):
            if word != SKIP and isinstance(x, Mapping) and name not in x:
                door.refuse_absent(where, name)
            if word != SKIP:
                door.refuse_value(np.nan if value is None else value, where, "x", f"feature {name!r}")
            lost = True
    return lost


def columns_of(learner: Learner) -> Mapping[Name, Column | None]:
    """The columns that a learner learned from, by name; None for numbers that are features as they are.

    Empty if they have no names.
    """
    if learner._columns is not None:
        return learner._columns.columns if learner._columns.named else {}
    return dict.fromkeys(learner._names or ())


# Many rows: a block, which :func:`as_encoded` has prepared.


def as_encoded(learner: Learner, block: RowBlock, where: str) -> RowBlock:
    """The block as the core will take it: encoded by the learner's columns, unless it holds plain numbers."""
    plain = learner.missing in (RAISE, SKIP) and block.kind in (NUMBERS, SPARSE)  # the common case
    if plain or block.encoded or not _encodes(learner, block):
        return block
    if not block.rows:
        block.require_values()
    found = block.by(partial(_read, learner))
    found.encoded, found.where = True, where
    _check(learner, found)
    return found


def _encodes(learner: Learner, block: RowBlock) -> bool:
    if not learner._traits.encodes or missing.by_column(learner.missing):
        return learner._traits.encodes
    if block.kind == COLUMNS:
        return not is_plain(learner, block)
    if block.kind != FRAME or block.names is None:
        return False
    return bool(block.special) or (learner._columns is not None and block.names != learner._names)


def is_plain(learner: Learner | None, block: RowBlock) -> bool:
    """Whether columns hold numbers alone, for features that the learner knows or that all begin with the first row."""
    if (learner is not None and learner._columns is not None) or not block.columns or block.special:
        return False
    if learner is not None and learner._core is not None:
        return block.names == learner._names
    return not any(np.isnan(given.values[0]) for given in block.values.values())


def _check(learner: Learner, block: RowBlock) -> None:
    """Raises ValueError unless the columns are the learner's, in the same order."""
    if learner._core is None or block.kind == COLUMNS:
        return
    columns = known(learner, block)
    if block.names is not None and columns.named and block.names != list(columns.columns):
        raise ValueError(different_names(block.where, list(columns.columns), block.names))
    if block.columns != len(columns.columns):
        raise ValueError(
            f"{block.where}: X has {block.columns} features, but {type(learner).__name__} is expecting "
            f"{len(columns.columns)} features as input"
        )


def known(learner: Learner, block: RowBlock) -> Columns:
    """The learner's columns, or new ones."""
    return learner._columns or begin(learner, block.where, block.names is not None, block.limit)


def by_column(learner: Learner, block: RowBlock, start: int, stop: int) -> dict[Name, Given]:
    """Rows ``start`` to ``stop`` by column, which are not checked."""
    found, columns = block.given(start, stop, block.where), known(learner, block).columns
    if block.kind == COLUMNS:
        return found | {name: Given(None, np.empty(stop - start)) for name in columns if name not in found}
    if learner._columns is not None:  # the columns of an array are the learner's, in order
        return dict(zip(columns, found.values(), strict=True))
    return found


def checked(learner: Learner, block: RowBlock, start: int, stop: int) -> tuple[dict[Name, Given], Array]:
    """Rows by column, and which will be skipped for lack of a value; raises ValueError for the first bad value."""
    largest, found = learner._door.largest, by_column(learner, block, start, stop)
    lost, begins = np.zeros(stop - start, dtype=bool), _begins(learner, block)
    refused: list[tuple[int, float, Name]] = []
    whole = block.whole if largest == LARGEST["float64"] else ()
    for name, given in found.items() if len(whole) < len(found) else ():
        if name in whole:
            continue
        absent, word = cells.missing_in(given), missing.word(learner.missing, name)
        bad = np.zeros_like(absent) if word in FILLS else absent.copy()
        bad[: max(begins.get(name, 0) - start, 0)] = False
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
        learner._door.refuse_value(value, block.where, "X", f"{numbered(start + row, after=', ')}feature {name!r}")
    return found, lost


def encode(
    learner: Learner, block: RowBlock, given: dict[Name, Given], lost: Array, start: int, learned: Array
) -> tuple[Array, Growth, Columns]:
    """Rows as numbers, the new features that some bring, and the columns once they are learned.

    A block that several learners take in turn keeps this for learners whose columns are still the same.
    """
    before, place = learner._columns, (start, len(lost))
    state = (before, learner.missing, learned.tobytes(), lost.tobytes())
    found = None if block.kept is None else block.kept.get(place)
    if found is not None and found[0][0] is before and found[0][1:] == state[1:]:
        return found[1]  # type: ignore[no-any-return]
    columns = known(learner, block).copy()
    X, growth = columns.table(given, block.where, learned)
    X[lost] = np.nan
    if block.kept is not None:
        columns.shared = True
        block.kept[place] = state, (X, growth, columns)
    return X, growth, columns


def _read(learner: Learner, block: RowBlock, start: int, stop: int) -> Array:
    """Rows ``start`` to ``stop`` as numbers for the core; the columns learn nothing."""
    assert learner._core is not None, "there are no features yet"
    given, lost = checked(learner, block, start, stop)
    X, _ = known(learner, block).copy().table(given, block.where, None)
    X[lost] = np.nan
    return X


def each(learner: Learner, block: RowBlock, start: int, stop: int) -> Iterator[Row]:
    """Rows one by one, which are not checked; the learner may learn them meanwhile."""
    columns = by_column(learner, block, start, stop)
    for place in range(stop - start):
        row = cells.row_of(columns, place, block.names is not None)
        for name, begin in _begins(learner, block).items():
            if start + place < begin and row[name] is None:
                del row[name]
        yield row


def whole_rows(learner: Learner, block: RowBlock) -> Array:
    """Which rows are complete."""
    step = rows_at_once(learner, block)
    starts = range(0, block.rows, step)
    return ~np.concatenate([checked(learner, block, start, min(start + step, block.rows))[1] for start in starts])


def rows_at_once(learner: Learner, block: RowBlock) -> int:
    """How many rows to encode at a time."""
    return inputs.rows_to_convert(max(block.columns, 0 if learner._core is None else learner._core.features))


def each_row(learner: Learner, block: RowBlock, start: int, stop: int) -> Iterator[Any]:
    """The rows of a file one by one, as the learner takes single rows at that time."""
    if not learner._traits.encodes:
        yield from block[start:stop].mappings()
    elif not missing.by_column(learner.missing) and is_plain(learner, block):
        yield from (dict(zip(block.names or (), row, strict=True)) for row in block.block(start, stop).tolist())
    else:
        yield from each(learner, block, start, stop)


def _begins(learner: Learner, block: RowBlock) -> dict[Name, int]:
    """Columns whose missing values do not count until the row in which they begin."""
    columns = {} if learner._columns is None else learner._columns.columns
    new = {name: row for name, row in block.begins.items() if name not in columns or not columns[name].met}
    return {name: row for name, row in new.items() if missing.word(learner.missing, name) not in FILLS}
