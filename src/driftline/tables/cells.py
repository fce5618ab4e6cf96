"""Converts single values and columns of frames to the form that column encoders take: numbers, texts and times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import numpy as np

from driftline.tables import frames, inputs, kinds
from driftline.tables.calendar import MISSING, Moment, Times
from driftline.tables.categories import Categories, Texts
from driftline.tables.columns import Column, Filled, Unknown
from driftline.tables.inputs import Array, Name
from driftline.tables.numbers import Numbers

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


class Row(dict[Name, Any]):
    """A row by columns: each value is a float, a str, a :class:`Moment`, a :class:`Filled`, or None if missing.

    Args:
        items: names and values.
        named: whether the columns have names; array columns are named by their index.
    """

    def __init__(self, items: Any = (), named: bool = True) -> None:
        super().__init__(items)
        self.named = named


class Given(NamedTuple):
    """The values of a column in the form that its encoder takes, and their kind; None if all are missing."""

    kind: str | None
    values: Any

    @property
    def rows(self) -> int:
        """How many values there are."""
        return len(self.values.codes if isinstance(self.values, Texts) else self.values)

    def take(self, rows: Any) -> Given:
        """Some of the rows: a slice, or an array of indices."""
        if not isinstance(self.values, Texts):
            return Given(self.kind, self.values[rows])
        codes, values = self.values.codes[rows], self.values.values
        if len(codes) < len(values):  # few rows of many texts
            used, codes = np.unique(codes, return_inverse=True)
            lacks = int(used.size > 0 and used[0] < 0)
            codes, values = codes - lacks, [values[code] for code in used[lacks:].tolist()]
        return Given(self.kind, Texts(codes, values))


def has_special_values(x: Mapping[Name, Any]) -> bool:
    """Whether a mapping holds text or times."""
    return not {float, int}.issuperset(map(type, x.values())) and any(map(kinds.is_special, x.values()))


def of_value(value: Any, where: str, what: str) -> Any:
    """A value in the form of :class:`Row`; raises ValueError or TypeError unless it is a number, text or a time."""
    if type(value) is float:
        return None if value != value else value
    if type(value) in (Moment, Filled):
        return value
    kind = kinds.of_value(value)
    if kind == kinds.TEXT:
        return str(value)
    if kinds.is_missing(value):
        return None
    if kind != kinds.NUMBER:
        return Moment(kind, _microseconds(value, kind))
    number = inputs.as_number(value, where, what)
    return None if number != number else number


def _microseconds(value: Any, kind: str) -> int:
    """A local time in microseconds since 1970, a time of day since midnight."""
    if isinstance(value, np.datetime64):
        return int(value.astype("datetime64[us]").astype(np.int64))
    day = _EPOCH if kind == kinds.CLOCK else datetime(value.year, value.month, value.day)
    clock = timedelta()
    if kind != kinds.DATE:
        clock = timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)
    return (day - _EPOCH + clock) // _MICROSECOND


def of_mapping(x: Mapping[Name, Any], where: str) -> Row:
    """A mapping of any values as a row."""
    return Row({name: of_value(value, where, f"x[{name!r}]") for name, value in x.items()})


def kind_of(value: Any) -> str | None:
    """The kind of a value of a :class:`Row`; None if it is missing."""
    if value is None:
        return None
    return value.kind if isinstance(value, Moment) else kinds.TEXT if isinstance(value, str) else kinds.NUMBER


def of_row(row: Row) -> dict[Name, Given]:
    """A row as columns with one value each."""
    return {name: Given(kind_of(value), [value]) for name, value in row.items()}


def for_column(column: Column, given: Given, where: str, what: str) -> Any:
    """Values in the form that a known column takes; raises ValueError if they are of another kind.

    Args:
        column: the column.
        given: its values.
        where: the caller's name, for messages.
        what: how messages refer to the column.
    """
    kind, values = given
    if isinstance(column, Unknown):
        return None
    fits = kind in (None, column.kind) or (isinstance(column, Times) and column.fits(kind))
    if not fits:
        known, found = _WORDS[column.kind], _WORDS[kind or kinds.NUMBER]
        if not isinstance(values, list):
            raise ValueError(f"{where}: {what} must hold {known}, as before, but holds {found}")
        shown = repr(values[0]) if not isinstance(values[0], Moment) else found
        raise ValueError(f"{where}: {what} must be {known}, got {shown}")
    if isinstance(values, list):
        return _of_one(column, values[0])
    if kind is None:
        missing = Texts(np.full(len(values), -1), []) if isinstance(column, Categories) else np.full(len(values), np.nan)
        return np.full(len(values), MISSING) if isinstance(column, Times) else missing
    return values


_WORDS = {
    kinds.NUMBER: "a number",
    kinds.TEXT: "text",
    kinds.DATE: "a date",
    kinds.CLOCK: "a time of day",
    kinds.TIMESTAMP: "a time",
}


def _of_one(column: Column, value: Any) -> Any:
    if isinstance(column, Numbers):
        return np.array([value if isinstance(value, float) else np.nan])
    if isinstance(column, Categories):
        return Texts(np.array([-1]), []) if value is None else Texts(np.array([0]), [value])
    return np.array([MISSING if value is None else value.at])


def missing_in(given: Given) -> Array:
    """Which values of a column are missing."""
    kind, values = given
    if isinstance(values, list):
        return np.array([values[0] is None])
    if kind is None:
        return np.ones(len(values), dtype=bool)
    if isinstance(values, Texts):
        return np.asarray(values.codes < 0)
    return np.asarray(np.isnan(values) if kind == kinds.NUMBER else values == MISSING)


# Many rows.


def as_python(row: Row) -> dict[Name, Any]:
    """A row with times as Python has them."""
    return {name: value.as_python() if isinstance(value, Moment) else value for name, value in row.items()}


def of_frame(frame: Any, names: list[Name], start: int, where: str) -> dict[Name, Given]:
    """The columns of a frame by name; ``start`` is the number of its first row, for messages."""
    columns = zip(names, frames.columns(frame), strict=True)
    return {name: _of_column(each, start, where, f"column {name!r}") for name, each in columns}


def joined(rows: Sequence[Row], columns: Mapping[Name, Given]) -> dict[Name, Given] | None:
    """Rows, and then those of some columns; None if a column holds other things in the rows."""
    found: dict[Name, Given] = {}
    for name, (kind, values) in columns.items():
        first = [None if isinstance(value, Filled) else value for row in rows for value in [row.get(name)]]
        own = {kind_of(value) for value in first if value is not None}
        kind = kind or next(iter(own), None)
        if not own <= {kind}:
            return None
        if kind == kinds.TEXT:
            known = values if isinstance(values, Texts) else Texts(np.full(len(values), -1), [])
            places = {text: code for code, text in enumerate(known.values)}
            codes = [-1 if text is None else places.setdefault(text, len(places)) for text in first]
            found[name] = Given(kind, Texts(np.concatenate([np.array(codes, dtype=np.int64), known.codes]), list(places)))
        else:
            absent = np.array(np.nan if kind in (kinds.NUMBER, None) else MISSING)  # with the type of such values
            own_values = [absent if value is None else getattr(value, "at", value) for value in first]
            given = values if columns[name].kind is not None else np.full(len(values), absent)
            found[name] = Given(kind, np.concatenate([np.array(own_values, dtype=absent.dtype), given]))
    return found


def row_of(columns: Mapping[Name, Given], place: int, named: bool) -> Row:
    """One row, taken from columns."""
    row = Row(named=named)
    for name, (kind, values) in columns.items():
        if kind is None:
            row[name] = None
        elif isinstance(values, Texts):
            row[name] = None if values.codes[place] < 0 else values.values[values.codes[place]]
        elif kind == kinds.NUMBER:
            row[name] = None if np.isnan(values[place]) else float(values[place])
        else:
            row[name] = None if values[place] == MISSING else Moment(kind, int(values[place]))
    return row


def _of_column(column: Any, start: int, where: str, what: str) -> Given:
    """A column of a frame; ``start`` is the number of its first row, for messages."""
    kind = frames.kind_of(column)
    if kind is None:
        return Given(None, np.empty(len(column)))
    if kind == kinds.TEXT:
        return Given(kind, _coded(column.to_list(), start, where, what))
    if kind == kinds.NUMBER:
        numbers = inputs.as_numbers(np.asarray(column.to_numpy()), where, what, start)
        return Given(kind, np.asarray(numbers, dtype=np.float64))
    if kind == kinds.TIMESTAMP and getattr(column.dtype, "time_zone", None) is not None:
        column = column.dt.replace_time_zone(None)
    values = np.asarray(column.to_numpy())
    if values.dtype.kind == "M":
        return Given(kind, values.astype("datetime64[us]").astype(np.int64))
    return Given(kind, _moments(column.to_list(), kind, start, where, what))


def _coded(items: Sequence[Any], start: int, where: str, what: str) -> Texts:
    places: dict[str, int] = {}
    codes = np.empty(len(items), dtype=np.int64)
    for row, item in enumerate(items):
        if isinstance(item, str):
            codes[row] = places.setdefault(item, len(places))
        elif kinds.is_missing(item):
            codes[row] = -1
        else:
            raise ValueError(f"{where}: {what} holds text, but {item!r} in row {start + row}")
    return Texts(codes, list(places))


def _moments(items: Sequence[Any], kind: str, start: int, where: str, what: str) -> Array:
    found = np.full(len(items), MISSING)
    for row, item in enumerate(items):
        if not kinds.is_missing(item):
            value = of_value(item, where, f"{what} in row {start + row}")
            if not isinstance(value, Moment) or (value.kind == kinds.CLOCK) != (kind == kinds.CLOCK):
                raise ValueError(f"{where}: {what} holds times of kind {kind}, but {item!r} in row {start + row}")
            found[row] = value.at
    return found
