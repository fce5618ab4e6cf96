"""The times of rows: numbers, dates, and times with or without a zone, as the core takes them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from driftline.tables import frames, inputs, kinds
from driftline.tables.calendar import MISSING
from driftline.tables.inputs import Array

NUMBER, UTC, LOCAL = "numbers", "times with a zone", "times without a zone"
_EPOCH = datetime(1970, 1, 1)
_PIECE = 8192  # whose copies stay in the cache
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Times:
    """Times as the core takes them: numbers as they are, others in microseconds since 1970.

    Attributes:
        kind: what they are.
        at: one for each row; with a zone, in UTC.
    """

    kind: str
    at: Array

    def each(self) -> Iterator[Times]:
        """The time of each row by itself."""
        return (Times(self.kind, self.at[row : row + 1]) for row in range(len(self.at)))

    def take(self, rows: Any) -> Times:
        """Those of some rows: a slice, or an array of indices."""
        return Times(self.kind, self.at[rows])


def shown(at: float, kind: str) -> str:
    """A time in words.

    >>> shown(1.5, NUMBER), shown(1.7e15, UTC)
    ('1.5', '2023-11-14 22:13:20Z')
    """
    if kind == NUMBER:
        return f"{at:g}"
    return f"{_EPOCH + timedelta(microseconds=at)}{'Z' if kind == UTC else ''}"


def time_of(at: Any, where: str) -> tuple[str, float]:
    """The kind of one row's time, and the time as the core takes it; raises ValueError unless it is a number or a time."""
    if isinstance(at, Times):
        kind, found = at.kind, float(at.at[0])
    elif type(at) in (float, int):
        kind, found = NUMBER, float(at)
    elif isinstance(at, datetime):
        try:
            offset = at.utcoffset()
            local = at.replace(tzinfo=None) - (offset or timedelta())
            kind, found = LOCAL if offset is None else UTC, float((local - _EPOCH) // _MICROSECOND)
        except (TypeError, ValueError):  # pandas' NaT is a datetime
            kind, found = LOCAL, math.nan
    elif isinstance(at, date):
        kind, found = LOCAL, float((datetime(at.year, at.month, at.day) - _EPOCH) // _MICROSECOND)
    elif isinstance(at, str):
        try:
            return time_of(datetime.fromisoformat(at), where)
        except ValueError:
            raise ValueError(f"{where}: at must be a number or a time, such as '2026-03-01 12:00', got {at!r}") from None
    else:
        times = times_of([at], 1, where, "at")
        kind, found = times.kind, float(times.at[0])
    if not math.isfinite(found):
        raise ValueError(f"{where}: at is {inputs.spell(found)}; a row without a time cannot be placed")
    return kind, found


def times_of(times: Any, rows: int, where: str, what: str = "times", *, zone: bool = False) -> Times:
    """The times of a table's rows; raises ValueError unless there is one for each row. ``zone``: NumPy's are in UTC."""
    if isinstance(times, Times):
        return times
    series = None if isinstance(times, np.ndarray | list | tuple) else frames.series(times)
    values, kind = (np.asarray(times), UTC if zone else LOCAL) if series is None else _of_series(series, where, what)
    if values.dtype == object:
        return _of_objects(values, rows, where, what)
    if values.dtype.kind in "US":
        return _of_objects(values.astype(object), rows, where, what)
    if values.shape != (rows,):
        raise ValueError(f"{where}: {what} has shape {values.shape}, expected ({rows},)")
    if values.dtype.kind == "M":
        return _of_moments(values, kind, where, what)
    if values.dtype.kind not in "iuf":
        raise ValueError(f"{where}: {what} must hold numbers or times, got {values.dtype}")
    found = Times(NUMBER, np.ascontiguousarray(values, dtype=np.float64))
    _require_known(found.at, where, what, 0)
    return found


def _of_series(series: Any, where: str, what: str) -> tuple[Array, str]:
    kind = frames.kind_of(series)
    if kind == kinds.CLOCK:
        raise ValueError(f"{where}: {what} must hold numbers or times, got times of day without a date")
    zone = getattr(series.dtype, "time_zone", None)
    if zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return np.asarray(series.to_numpy()), LOCAL if zone is None else UTC


def _of_moments(values: Array, kind: str, where: str, what: str) -> Times:
    at = np.empty(len(values))
    for start in range(0, len(values), _PIECE):
        piece = values[start : start + _PIECE]
        nanoseconds = piece.dtype.str == "<M8[ns]"
        whole = (piece if nanoseconds else piece.astype("datetime64[us]")).view(np.int64)
        if whole.min() == MISSING:
            _require_known(np.where(whole == MISSING, np.nan, 0.0), where, what, start)
        at[start : start + _PIECE] = whole // 1000 if nanoseconds else whole  # faster than by a cast
    return Times(kind, at)


def _of_objects(values: Array, rows: int, where: str, what: str) -> Times:
    """Times as Python objects; all of one kind."""
    if values.shape != (rows,):
        raise ValueError(f"{where}: {what} has shape {values.shape}, expected ({rows},)")
    found, kind = np.empty(rows), NUMBER
    for row, value in enumerate(values):
        place = f" of row {row}" if what == "times" else ""
        if isinstance(value, np.datetime64):
            value = value.astype("datetime64[us]").item()
        if value is None or not isinstance(value, (datetime, date, str, float, int, np.number)):
            raise ValueError(f"{where}: {what}{place} must be a number or a time, got {value!r}")
        plain = value.item() if isinstance(value, np.number) else value
        own, found[row] = time_of(plain, where if not place else f"{where}, row {row}")
        if row and own != kind:
            raise ValueError(f"{where}: {what} holds {kind}, but {value!r}{place}; give all of them a zone, or none")
        kind = own
    return Times(kind, found)


def _require_known(at: Array, where: str, what: str, start: int | None) -> None:
    good = np.isfinite(at)
    if not good.all():
        row = int(good.argmin())
        place = "" if start is None else f" in row {start + row}"
        raise ValueError(f"{where}: {what} is {inputs.spell(float(at[row]))}{place}; a row without a time cannot be placed")
