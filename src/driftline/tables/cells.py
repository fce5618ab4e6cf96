"""Converts single values and columns of frames to the form that column encoders take: numbers, texts and times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple

import numpy as np

from driftline.tables import inputs, kinds
from driftline.tables.calendar import MISSING, Times
from driftline.tables.columns import Categories, Column, Numbers, Texts, Unknown
from driftline.tables.inputs import Array, FrameTable, Name, Table

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_TIMES = (datetime, date, time, timedelta, np.datetime64, np.timedelta64)


class Moment(NamedTuple):
    """A local time, in its own zone.

    Attributes:
        kind: "timestamp", "date" or "clock".
        at: microseconds since 1970, or since midnight for a clock.
    """

    kind: str
    at: int


class Filled(NamedTuple):
    """The value that replaced a missing number when its row was predicted."""

    value: float


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


def is_special(value: Any) -> bool:
    """Whether a value of a mapping is text or a time, not a number."""
    return isinstance(value, str) or (isinstance(value, _TIMES) and not inputs.is_missing(value))


def has_special_values(x: Mapping[Name, Any]) -> bool:
    """Whether a mapping holds text or times."""
    return not {float, int}.issuperset(map(type, x.values())) and any(map(is_special, x.values()))


def of_value(value: Any, where: str, what: str) -> Any:
    """A value in the form of :class:`Row`; raises ValueError or TypeError unless it is a number, text or a time."""
    if type(value) is float:
        return None if value != value else value
    if isinstance(value, str):
        return str(value)
    if inputs.is_missing(value):
        return None
    if isinstance(value, (timedelta, np.timedelta64)):
        return float(np.timedelta64(value, "us").astype(np.int64)) / 1e6
    if isinstance(value, np.datetime64):
        return Moment(kinds.DATE if np.datetime_data(value)[0] in "DWMY" else kinds.TIMESTAMP, _microseconds(value))
    if isinstance(value, datetime):
        plain = datetime(value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
        return Moment(kinds.TIMESTAMP, (plain - _EPOCH) // _MICROSECOND)
    if isinstance(value, date):
        return Moment(kinds.DATE, (datetime(value.year, value.month, value.day) - _EPOCH) // _MICROSECOND)
    if isinstance(value, time):
        since = timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)
        return Moment(kinds.CLOCK, since // _MICROSECOND)
    number = inputs.as_number(value, where, what)
    return None if number != number else number


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
    fits = kind is None or kind == column.kind or (isinstance(column, Times) and {kind, column.kind} == _DAYS)
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


_DAYS = {kinds.DATE, kinds.TIMESTAMP}
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


# Tables.


def has_special(table: Table) -> bool:
    """Whether a table has columns of text or times."""
    if not isinstance(table, FrameTable):
        return False
    return any(map(is_special_column, table.frame.iter_columns()))


def is_special_column(series: Any) -> bool:
    """Whether a column of a frame holds text or times."""
    return _declared(series) not in (kinds.NUMBER, None)


def of_table(table: Table, start: int, stop: int, where: str) -> dict[Name, Given]:
    """Rows ``start`` to ``stop`` by columns; array columns are named by their index."""
    if not isinstance(table, FrameTable):
        block = np.asarray(table.block(start, stop), dtype=np.float64)
        return {str(j): Given(kinds.NUMBER, np.ascontiguousarray(block[:, j])) for j in range(block.shape[1])}
    names = table.names or [str(j) for j in range(table.columns)]
    series = table.frame[start:stop].iter_columns()
    return {name: _of_series(each, where, f"column {name!r}") for name, each in zip(names, series, strict=True)}


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


def _declared(series: Any) -> str | None:
    """The kind of a frame's column, from its type or, if that is ambiguous, from its first value."""
    import narwhals as nw

    kind = series.dtype
    if kind.is_numeric() or kind in (nw.Boolean, nw.Duration):
        return kinds.NUMBER
    if kind == nw.String:
        return kinds.TEXT
    if kind == nw.Date:
        return kinds.DATE
    if kind == nw.Time:
        return kinds.CLOCK
    if kind == nw.Datetime:
        return kinds.TIMESTAMP
    first = next((value for value in series.to_list() if not inputs.is_missing(value)), None)
    if first is None:
        return None
    return kind_of(of_value(first, "", "")) if is_special(first) else kinds.NUMBER


def _of_series(series: Any, where: str, what: str) -> Given:
    import narwhals as nw

    kind = _declared(series)
    if kind is None:
        return Given(None, np.empty(len(series)))
    if kind == kinds.TEXT:
        return Given(kind, _coded(series.to_list(), where, what))
    if kind == kinds.NUMBER:
        values = np.asarray(series.to_numpy())
        if series.dtype == nw.Duration:
            spans = values.astype("timedelta64[us]")
            return Given(kind, np.where(np.isnat(spans), np.nan, spans.astype(np.int64) / 1e6))
        return Given(kind, np.asarray(inputs.as_numbers(values, where, what), dtype=np.float64))
    if series.dtype == nw.Datetime:
        local = series if getattr(series.dtype, "time_zone", None) is None else series.dt.replace_time_zone(None)
        values = np.asarray(local.to_numpy())
        if values.dtype.kind == "M":
            return Given(kind, values.astype("datetime64[us]").astype(np.int64))
    return Given(kind, _moments(series.to_list(), kind, where, what))


def _coded(items: Sequence[Any], where: str, what: str) -> Texts:
    places: dict[str, int] = {}
    codes = np.empty(len(items), dtype=np.int64)
    for row, item in enumerate(items):
        if isinstance(item, str):
            codes[row] = places.setdefault(item, len(places))
        elif inputs.is_missing(item):
            codes[row] = -1
        else:
            raise ValueError(f"{where}: {what} holds text, but {item!r} in row {row}")
    return Texts(codes, list(places))


def _moments(items: Sequence[Any], kind: str, where: str, what: str) -> Array:
    found = np.full(len(items), MISSING)
    for row, item in enumerate(items):
        if not inputs.is_missing(item):
            value = of_value(item, where, f"{what} in row {row}")
            if not isinstance(value, Moment) or (value.kind == kinds.CLOCK) != (kind == kinds.CLOCK):
                raise ValueError(f"{where}: {what} holds times of kind {kind}, but {item!r} in row {row}")
            found[row] = value.at
    return found


def _microseconds(value: Any) -> int:
    return int(value.astype("datetime64[us]").astype(np.int64))
