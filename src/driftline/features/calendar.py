"""Features of times: the day of the week, the month, holidays and the days around them, daylight saving time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from driftline import _core
from driftline.base import params
from driftline.base.rules import Rule, is_sequence
from driftline.errors import missing_extra
from driftline.features.transformer import Transformer
from driftline.tables import cells, inputs
from driftline.tables.block import as_block
from driftline.tables.calendar import CIRCLES, DAY, in_year, weekday
from driftline.tables.cells import Given
from driftline.tables.columns import Vectors
from driftline.tables.encoder import Columns
from driftline.tables.inputs import Array, Name
from driftline.tables.kinds import CLOCK, DATE, TEXT
from driftline.tables.missing import RAISE

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_MONTH = 0.25  # a learner with a prior on its weights puts this share of the intercept's prior variance, squared, on a month
_EPOCH = date(1970, 1, 1)
_QUARTER_HOUR = 15 * 60 * 1_000_000  # clocks change at whole quarters
_QUARTERS = [(date(year, 1, 2) - _EPOCH).days * 96 for year in (MINYEAR, MAXYEAR)]  # that Python's times reach


def _is_zone(value: Any) -> bool:
    return isinstance(value, str) and bool(ZoneInfo(value))


_TEXTS = Rule(
    lambda value: isinstance(value, str) or (is_sequence(value) and all(isinstance(item, str) for item in value)),
    'a code such as "DE" or "US-CA", a day such as "2024-12-24", or a list of these',
)


class Calendar(Transformer):
    r"""Turns times into calendar features: day of the week, month, holidays and the days around them, daylight saving time.

    In front of a learner, it replaces the features that learners make of times (points on the circles of day, week and
    year) in every column of times. Other columns stay as they are. A :class:`~driftline.Forecaster` treats its columns as
    known ahead. The features of a column ``when``, each 0 or 1 unless noted:

    - ``when: Monday`` to ``when: Sunday``;
    - ``when: January`` to ``when: December``, 0 or 1/4: the first rows of a month that is new are predicted nearly as if it
      were like the others;
    - ``when: year sin`` and ``when: year cos``, the place in the year on a circle;
    - ``when: holiday``, ``when: 1 day before a holiday``, ``when: 1 day after a holiday``, and so on, if there are holidays.
      A holiday is not also a day around one, and of several holidays the nearest counts;
    - ``when: summer time``, and ``when: clock change``, which is 1 on the day with 25 hours and -1 on the day with 23, if
      there is a zone;
    - ``when: day sin``, ``when: day cos`` and the same of the half day, unless the column holds dates.

    Args:
        holidays: a country, ``"DE"``, perhaps with a subdivision, ``"DE-BY"``, or a stock exchange, ``"XNYS"``, as the
            package ``holidays`` names them (extra ``holidays``); days, ``"2024-12-24"``; or a list of these. None for none.
        around: how many days before and after a holiday have features.
        zone: the time zone whose daylight saving time counts, such as ``"Europe/Berlin"``; None to leave it out.
        utc: whether times are in UTC, and are converted to the zone. Otherwise they are local.

    >>> from datetime import date
    >>> found = Calendar(holidays="2024-12-25").transform_one({"when": date(2024, 12, 24), "price": 3.0})
    >>> [name for name, value in found.items() if value == 1.0]
    ['when: Tuesday', 'when: 1 day before a holiday']
    """

    holidays: str | Sequence[str] | None = params.checked(default=None, rule=_TEXTS, optional=True)
    around: int = params.integer(default=1, ge=0, le=30)
    zone: str | None = params.checked(
        default=None, rule=Rule(_is_zone, 'the name of a time zone, such as "Europe/Berlin"'), optional=True
    )
    utc: bool = params.boolean(default=False)

    _learns = False

    def _check_relations(self, values: dict[str, Any]) -> None:
        for entry in _entries(values["holidays"]):
            _holidays(entry, 2000)
        if values["utc"] and values["zone"] is None:
            raise ValueError("Calendar: utc=True needs a zone to convert times to")

    # What the columns of a model read of times.

    def keys(self, kind: str) -> tuple[str, ...]:
        """The names of the features of times of a kind: "timestamp", "date" or "clock"."""
        if kind == CLOCK:
            return CIRCLES.keys(kind)
        return tuple(self.vectors(np.zeros(1, dtype=np.int64), kind))

    def vectors(self, at: Array, kind: str) -> Vectors:
        """The features of times, in microseconds since 1970, by name."""
        if kind == CLOCK:
            return CIRCLES.vectors(at, kind)
        found: Vectors = {}
        zone = None if self.zone is None else ZoneInfo(self.zone)
        if zone is not None and self.utc:
            at = at + _offsets(at, zone, from_utc=True)
        day_of_week, months = weekday(at), at.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64) % 12
        found |= {name: (day_of_week == number).astype(np.float64) for number, name in enumerate(WEEKDAYS)}
        found |= {name: _MONTH * (months == number) for number, name in enumerate(MONTHS)}
        passed, length = in_year(at)
        year = 2 * np.pi * (passed / length)
        found |= {"year sin": np.sin(year), "year cos": np.cos(year)}
        if self.holidays is not None:
            found |= self._around_holidays(at // DAY)
        if zone is not None:
            found |= _daylight_saving(at, zone)
        return found | ({} if kind == DATE else CIRCLES.vectors(at % DAY, CLOCK))

    def _around_holidays(self, days: Array) -> Vectors:
        """Whether days, counted from 1970, are holidays, or how far they are from the nearest."""
        years = np.unique(days.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64)) + 1970
        wanted = sorted({year + more for year in years.tolist() for more in (-1, 0, 1)})
        holidays = np.array(
            sorted({day for entry in _entries(self.holidays) for year in wanted for day in _holidays(entry, year)}),
            dtype=np.int64,
        )
        bounded = np.concatenate([[-(2**40)], holidays, [2**40]])
        place = np.searchsorted(bounded, days)
        before, after = bounded[place] - days, days - bounded[place - 1]
        found = {"holiday": (before == 0).astype(np.float64)}
        for distance in range(1, self.around + 1):
            some = f"{distance} day{'s' * (distance > 1)}"
            found[f"{some} before a holiday"] = ((before == distance) & (before <= after)).astype(np.float64)
            found[f"{some} after a holiday"] = ((after == distance) & (before > 0) & (after <= before)).astype(np.float64)
        return found

    # By itself.

    def _stage(self, width: int) -> Any:
        return _core.Lags(width, [], [0])  # numbers stay as they are

    def learn_one(self, x: Any, y: Any = None) -> None:
        """There is nothing to learn; x is checked."""
        x = inputs.named(x)
        if isinstance(x, Mapping) and cells.has_special_values(x):
            self.transform_one(x)
        else:
            super().learn_one(x, y)

    def transform_one(self, x: Any) -> Any:
        """A mapping with the features of times in place of the times; numbers stay as they are."""
        x, where = inputs.named(x), f"{type(self).__name__}.transform_one"
        if not isinstance(x, Mapping) or not cells.has_special_values(x):
            return super().transform_one(x)
        names, row = self._read(cells.of_row(cells.of_mapping(x, where)), where)
        return dict(zip(names, row[0].tolist(), strict=True))

    def transform(self, X: Any) -> Array:
        """The same for many rows of a frame, as an array (T, outputs)."""
        where = f"{type(self).__name__}.transform"
        block = as_block(X, where)
        if not block.special:
            return super().transform(X)
        return self._read(block.given(0, block.rows, where), where)[1]

    def _run(self, X: Any, y: Any, where: str) -> Array:
        block = as_block(X, where)
        return self.transform(X) if block.special else super()._run(X, y, where)

    def _read(self, given: Mapping[Name, Given], where: str) -> tuple[list[Name], Array]:
        """The names of the features of some rows, and their values."""
        for name, values in given.items():
            if values.kind == TEXT:
                raise ValueError(f"{where}: column {name!r} holds text; Calendar alone takes times and numbers")
            if cells.missing_in(values).any():
                raise ValueError(f"{where}: column {name!r} has no value in row {int(cells.missing_in(values).argmax())}")
        columns = Columns(RAISE, times=self)
        rows = next(iter(given.values())).rows
        X, _ = columns.table(given, where, np.ones(rows, dtype=bool))
        return columns.names, X


def _entries(holidays: str | Sequence[str] | None) -> list[str]:
    return [] if holidays is None else [holidays] if isinstance(holidays, str) else list(holidays)


@lru_cache(maxsize=100_000)
def _holidays(entry: str, year: int) -> frozenset[int]:
    """The holidays of a year, in days since 1970: those of a country or an exchange, or a single day."""
    if not MINYEAR <= year <= MAXYEAR:
        return frozenset()
    try:
        day = date.fromisoformat(entry)
    except ValueError:
        return frozenset((each - _EPOCH).days for each in _of_package(entry, year))
    return frozenset([(day - _EPOCH).days])


def _of_package(code: str, year: int) -> list[date]:
    try:
        import holidays
    except ImportError:
        raise missing_extra("Calendar: the holidays of countries need", "holidays", "holidays") from None
    country, _, subdivision = code.partition("-")
    try:
        return list(holidays.country_holidays(country, subdiv=subdivision or None, years=year))
    except NotImplementedError:
        pass
    try:
        return list(holidays.financial_holidays(code, years=year))
    except NotImplementedError:
        raise ValueError(
            f"Calendar: holidays: {code!r} is neither a day nor a country, subdivision or exchange that is known"
        ) from None


def _offsets(at: Array, zone: ZoneInfo, *, from_utc: bool) -> Array:
    """How far local times are ahead of UTC, in microseconds, at times in UTC or at local times."""
    quarters, back = np.unique(at // _QUARTER_HOUR, return_inverse=True)
    within = np.clip(quarters, _QUARTERS[0], _QUARTERS[1]).tolist()
    return np.array([_offset(each, zone, from_utc) for each in within], dtype=np.int64)[back]


@lru_cache(maxsize=100_000)
def _offset(quarter: int, zone: ZoneInfo, from_utc: bool) -> int:
    moment = datetime(1970, 1, 1, tzinfo=UTC if from_utc else zone) + timedelta(microseconds=quarter * _QUARTER_HOUR)
    offset = (moment.astimezone(zone) if from_utc else moment).utcoffset()
    assert offset is not None
    return offset // timedelta(microseconds=1)


def _daylight_saving(at: Array, zone: ZoneInfo) -> Vectors:
    """Whether clocks are ahead of those of the other half of the year, and the hours by which a day is longer than 24."""
    begins = at // DAY * DAY
    january = at.astype("datetime64[us]").astype("datetime64[Y]").astype("datetime64[us]").astype(np.int64)
    standard = np.minimum(*(_offsets(january + day * DAY, zone, from_utc=False) for day in (0, 182)))
    gained = _offsets(begins, zone, from_utc=False) - _offsets(begins + DAY, zone, from_utc=False)
    summer = (_offsets(at, zone, from_utc=False) > standard).astype(np.float64)
    return {"summer time": summer, "clock change": gained / (4 * _QUARTER_HOUR)}
