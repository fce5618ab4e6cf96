"""The times of evenly spaced rows, and those of the rows that follow."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from driftline.errors import ModelFileError
from driftline.tables import cells, inputs
from driftline.tables.calendar import DAY, MISSING, Moment, weekday
from driftline.tables.inputs import Array, Name
from driftline.tables.kinds import DATE, TIMESTAMP

_UNITS = ("microseconds", "weekdays", "months")
_INDEXES = ("DatetimeIndex", "PeriodIndex")
_NO_TIMES = "{}: times must be dates, or dates with times of day"
_PER = {7 * DAY: "week", DAY: "day", DAY // 24: "hour", DAY // 1440: "minute", 1_000_000: "second"}


class Times(NamedTuple):
    """Times of rows.

    Attributes:
        local: in microseconds since 1970, in their zone.
        utc: the same in UTC.
        zone: None if it is unknown.
        name: of the index or column.
        library: of the series that held them; None for arrays and lists.
    """

    local: Array
    utc: Array
    zone: str | None
    name: Name | None
    library: str | None


def times_of(values: Any, where: str) -> Times | None:
    """The times that index a series or a frame; None if it has no index of times."""
    index = getattr(values, "index", None)
    return read_times(index, where) if type(index).__name__ in _INDEXES else None


def read_times(values: Any, where: str) -> Times:
    """The times in an index, a column of a frame, an array or a list."""
    import narwhals as nw

    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(values, (pandas.Index, pandas.Series)):
        return _of_pandas(values, where)
    library, zone, name = None, None, None
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        library, name, zone = inputs.library_of(series), series.name or None, getattr(series.dtype, "time_zone", None)
        ((kind, local),) = cells.of_frame(series.alias("times").to_frame(), ["times"], 0, where).values()
    else:
        moments = [cells.of_value(value, where, "times") for value in np.asarray(values, dtype=object).tolist()]
        kind = next((cells.kind_of(moment) for moment in moments if moment is not None), None)
        local = np.array([moment.at if isinstance(moment, Moment) else MISSING for moment in moments], dtype=np.int64)
    if kind not in (DATE, TIMESTAMP):
        raise ValueError(_NO_TIMES.format(where))
    utc = local
    if _is_zone(zone):
        plain = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        utc = np.asarray(plain.to_numpy()).astype("datetime64[us]").astype(np.int64)
    return _complete(Times(local, utc, zone if _is_zone(zone) else None, name, library), where)


def _of_pandas(values: Any, where: str) -> Times:
    import pandas

    index = pandas.Index(values)
    if isinstance(index, pandas.PeriodIndex):
        index = index.to_timestamp()
    if index.dtype.kind in "iufb":
        raise ValueError(_NO_TIMES.format(where))
    try:
        index = pandas.DatetimeIndex(index)
    except (TypeError, ValueError):
        raise ValueError(_NO_TIMES.format(where)) from None
    local = utc = index.tz_localize(None)
    zone = None if index.tz is None or not _is_zone(str(index.tz)) else str(index.tz)
    if zone is not None:
        utc = index.tz_convert("UTC").tz_localize(None)
    local, utc = (np.asarray(each.as_unit("us").asi8, dtype=np.int64) for each in (local, utc))
    return _complete(Times(local, utc, zone, values.name, "pandas"), where)


def _complete(times: Times, where: str) -> Times:
    missing = times.local == MISSING
    if missing.any():
        raise ValueError(f"{where}: the time of row {int(missing.argmax())} is missing")
    return times


def _is_zone(name: str | None) -> bool:
    try:
        return name is not None and bool(ZoneInfo(name))
    except (KeyError, OSError, ValueError):
        return False


@dataclass(frozen=True)
class Timeline:
    """The times of evenly spaced rows.

    Attributes:
        first: the time of the row ``row`` in microseconds since 1970.
        row: its number.
        every: from one row to the next, in units.
        unit: "microseconds", "weekdays" (Monday to Friday), or "months".
        day: for months, the day of the month; a month that is too short has its last day.
        zone: of the times; None if it is unknown.
        in_utc: whether the distances are equal in UTC rather than in local time.
        dates: whether times are dates.
        name: of the index or column.
        library: of the series in which times are returned; None for arrays.
    """

    first: int
    row: int
    every: int
    unit: str
    day: int
    zone: str | None
    in_utc: bool
    dates: bool
    name: str | None
    library: str | None

    @classmethod
    def of(cls, times: Times, where: str) -> Timeline:
        """The timeline of some rows; raises ValueError for the first that is not where its predecessors say."""
        local, utc, zone, name, library = times
        if len(local) < 2:
            raise ValueError(f"{where}: the times of two rows or more say how far apart rows are, got {len(local)}")
        kept: dict[str, Any] = {
            "zone": zone,
            "name": None if name is None else str(name),
            "library": library,
            "row": 0,
            "day": 0,
        }
        late = np.flatnonzero(np.diff(utc) <= 0)
        if len(late):
            row = int(late[0]) + 1
            raise ValueError(
                f"{where}: times must increase, but row {row} ({_spell(local[row])}) is not after row {row - 1} "
                f"({_spell(local[row - 1])})"
            )
        dates = not (local % DAY).any()
        month, day = _months(local)
        if len(set(np.diff(month).tolist())) == 1 and month[1] > month[0] and len(set((local % DAY).tolist())) == 1:
            anchor = 31 if (day == _days_in(month)).all() else int(day.max())
            if (day == np.minimum(anchor, _days_in(month))).all():
                every = int(month[1] - month[0])
                return cls(int(local[0]), every=every, unit="months", in_utc=False, dates=dates, **{**kept, "day": anchor})
        for values, in_utc in ((local, False), (utc, True)):
            steps = np.diff(values)
            if (steps == steps[0]).all() and (in_utc or zone is None or steps[0] % DAY == 0):
                return cls(
                    int(values[0]), every=int(steps[0]), unit="microseconds", in_utc=in_utc,
                    dates=dates and steps[0] % DAY == 0, **kept,
                )  # fmt: skip
        if dates and (weekday(local) < 5).all() and (_business_days(local) == 1).all():
            return cls(int(local[0]), every=1, unit="weekdays", in_utc=False, dates=True, **kept)
        raise ValueError(_uneven(local, utc, where))

    # The rows that follow.

    def local(self, begin: int, count: int) -> Array:
        """The local times of rows in microseconds since 1970."""
        at = self._at(begin, count)
        return at + self._offsets(at) if self.in_utc else at

    def clock(self, begin: int, count: int) -> Array:
        """The local times of rows as datetime64."""
        return self.local(begin, count).astype("datetime64[us]")

    def column(self, begin: int, count: int) -> cells.Given:
        """The local times of rows, as a column of a table."""
        return cells.Given(DATE if self.dates else TIMESTAMP, self.local(begin, count))

    def moments(self, begin: int, count: int) -> list[Moment]:
        """The local times of rows."""
        return [Moment(DATE if self.dates else TIMESTAMP, at) for at in self.local(begin, count).tolist()]

    def answer(self, begin: int, count: int) -> Any:
        """The times of rows: a series of the library that they came from, or an array of datetime64."""
        local = self.clock(begin, count)
        if self.library is None:
            return local
        import narwhals as nw

        try:
            backend: Any = self.library
            if not self.in_utc:
                found = nw.new_series(self.name or "time", local, nw.Datetime("us"), backend=backend)
                return (found if self.zone is None else found.dt.replace_time_zone(self.zone)).to_native()
            utc = self._at(begin, count).astype("datetime64[us]")
            found = nw.new_series(self.name or "time", utc, nw.Datetime("us"), backend=backend)
            found = found.dt.replace_time_zone("UTC")
            return found.dt.convert_time_zone(self.zone or "UTC").to_native()
        except ImportError:  # the model was trained where the library is installed
            return local

    def require_next(self, times: Times, row: int, where: str) -> None:
        """Raises ValueError unless times are those of the rows from ``row`` on."""
        expected, found = self._at(row, len(times.local)), times.utc if self.in_utc else times.local
        bad = np.flatnonzero(expected != found)
        if len(bad):
            place = int(bad[0])
            raise ValueError(
                f"{where}: row {place} is of {_spell(times.local[place])}, but the rows learned so far are followed by one "
                f"of {_spell(self.local(row + place, 1)[0])}; insert rows without a label where some are missing"
            )

    def _at(self, begin: int, count: int) -> Array:
        steps = np.arange(begin, begin + count, dtype=np.int64) - self.row
        if self.unit == "microseconds":
            return self.first + self.every * steps
        if self.unit == "weekdays":
            first = np.datetime64(self.first // DAY, "D")
            return np.busday_offset(first, steps, roll="forward").astype(np.int64) * DAY
        month = int(_months(np.array([self.first]))[0][0]) + self.every * steps
        days = month.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        found: Array = (days + np.minimum(self.day, _days_in(month)) - 1) * DAY + self.first % DAY
        return found

    def _offsets(self, at: Array) -> Array:
        if self.zone is None:
            return np.zeros_like(at)
        zone, begin = ZoneInfo(self.zone), datetime(1970, 1, 1, tzinfo=ZoneInfo("UTC"))
        moments = [(begin + timedelta(microseconds=each)).astimezone(zone).utcoffset() for each in at.tolist()]
        return np.array([(offset or timedelta()) // timedelta(microseconds=1) for offset in moments], dtype=np.int64)

    # Keeping.

    def state(self) -> dict[str, Any]:
        """The state, as plain values."""
        return asdict(self)

    @classmethod
    def restored(cls, state: Any) -> Timeline | None:
        """The timeline of a state; raises ModelFileError if it is none."""
        if state is None:
            return None
        try:
            found = cls(**state)
            sound = found.unit in _UNITS and found.every > 0 and len(found.local(found.row, 2)) == 2
        except (AttributeError, KeyError, OSError, OverflowError, TypeError, ValueError):
            sound = False
        if not sound:
            raise ModelFileError("the times of the rows are invalid")
        return found


def _months(at: Array) -> tuple[Array, Array]:
    """The months since 1970, and the day of the month."""
    days = at.astype("datetime64[us]").astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    return months.astype(np.int64), (days - months.astype("datetime64[D]")).astype(np.int64) + 1


def _days_in(month: Array) -> Array:
    begins = (month.astype("datetime64[M]")).astype("datetime64[D]")
    ends = ((month + 1).astype("datetime64[M]")).astype("datetime64[D]")
    found: Array = (ends - begins).astype(np.int64)
    return found


def _business_days(local: Array) -> Array:
    days = (local // DAY).astype("datetime64[D]")
    found: Array = np.busday_count(days[:-1], days[1:])
    return found


def _uneven(local: Array, utc: Array, where: str) -> str:
    steps = np.diff(utc)
    sizes, counts = np.unique(steps, return_counts=True)
    usual = int(sizes[counts.argmax()])
    row = int((steps != usual).argmax()) + 1
    hour = steps[row - 1] - usual in (-DAY // 24, DAY // 24)
    hint = "; if clocks changed there, give the times with their zone" if hour and not (local - utc).any() else ""
    return (
        f"{where}: rows must be evenly spaced in time, but row {row} ({_spell(local[row])}) comes "
        f"{_duration(int(steps[row - 1]))} after the row before, and most others {_duration(usual)}; insert rows without a "
        'label where some are missing, such as with frame.asfreq(), and set missing="mean"; or pass rows without times: '
        "y.to_numpy(), X.reset_index(drop=True)"
        f"{hint}"
    )


def _duration(length: int) -> str:
    for size, name in _PER.items():
        if length % size == 0:
            count = length // size
            return f"{count} {name}{'s' * (count > 1)}"
    return f"{length / 1e6:g} seconds"


def _spell(at: int) -> str:
    text = str(np.datetime64(int(at), "us").astype("datetime64[s]")).replace("T", " ")
    return text.removesuffix(" 00:00:00")
