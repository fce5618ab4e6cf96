"""Turns columns of times into calendar features."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple, Protocol

import numpy as np

from driftline.tables.columns import ABSENT, Column, NewKeys, Vectors, Writer
from driftline.tables.inputs import Array
from driftline.tables.kinds import CLOCK, DATE, TIMESTAMP

DAY = 86_400_000_000  # microseconds
MISSING = np.iinfo(np.int64).min  # as NumPy has it for NaT
FEATURES = {
    CLOCK: ("day sin", "day cos", "half-day sin", "half-day cos"),
    DATE: ("week sin", "week cos", "weekend", "year sin", "year cos"),
}
FEATURES[TIMESTAMP] = FEATURES[CLOCK] + FEATURES[DATE]


_DAYS = {DATE, TIMESTAMP}


class Moment(NamedTuple):
    """A local time, in its own zone.

    Attributes:
        kind: "timestamp", "date" or "clock".
        at: microseconds since 1970, or since midnight for a clock.
    """

    kind: str
    at: int

    def as_python(self) -> datetime | date | time:
        """The time as a Python object."""
        moment = datetime(1970, 1, 1) + timedelta(microseconds=self.at)
        return moment if self.kind == TIMESTAMP else moment.date() if self.kind == DATE else moment.time()


class TimeFeatures(Protocol):
    """The features of times."""

    def keys(self, kind: str) -> tuple[str, ...]:
        """The features' names for times of a kind."""

    def vectors(self, at: Array, kind: str) -> Vectors:
        """The features of local times, in microseconds since 1970."""


class Circles:
    """The time of day, day of the week and day of the year, each as a point on a circle."""

    def keys(self, kind: str) -> tuple[str, ...]:
        """See :meth:`TimeFeatures.keys`."""
        return FEATURES[kind]

    def vectors(self, at: Array, kind: str) -> Vectors:
        """See :meth:`TimeFeatures.vectors`."""
        found: Vectors = {}
        if kind != DATE:
            day = 2 * np.pi * (at % DAY) / DAY
            found |= {"day sin": np.sin(day), "day cos": np.cos(day)}
            found |= {"half-day sin": np.sin(2 * day), "half-day cos": np.cos(2 * day)}
        if kind != CLOCK:
            day_of_week = weekday(at)
            passed, length = in_year(at)
            week, year = 2 * np.pi * (day_of_week + (at % DAY) / DAY) / 7, 2 * np.pi * passed / length
            found |= {"week sin": np.sin(week), "week cos": np.cos(week), "weekend": (day_of_week >= 5).astype(np.float64)}
            found |= {"year sin": np.sin(year), "year cos": np.cos(year)}
        return found


CIRCLES = Circles()


class Times(Column):
    """A column of times.

    Args:
        name: the column's name.
        kind: "timestamp", "date" (no time of day), or "clock" (time of day alone).
        features: what the model reads of a time.
    """

    def __init__(self, name: str, kind: str, features: TimeFeatures = CIRCLES) -> None:
        super().__init__(name)
        self.kind, self.features = kind, features

    def feature(self, key: str) -> str:
        """A feature's name."""
        return f"{self.name} is missing" if key == ABSENT else f"{self.name}: {key}"

    def fits(self, kind: str) -> bool:
        """Whether the column takes times of a kind: dates and timestamps are taken for one another."""
        return kind == self.kind or {kind, self.kind} == _DAYS

    def encode(self, values: Array, learned: Array | None = None) -> tuple[Vectors, NewKeys]:
        """Takes times as microseconds since 1970, local if a zone is known; the least int64 where one is missing."""
        known = values != MISSING
        first, new = self._appear(known if learned is None else known & learned)
        if not self.met:
            return {}, []
        at, there = np.where(known, values, 0), known.copy()
        there[:first] = False
        vectors = {key: np.where(there, vector, 0.0) for key, vector in self.features.vectors(at, self.kind).items()}
        absence, more = self._absence(known, learned, first)
        return vectors | absence, [(row, key) for row, _ in new for key in self.features.keys(self.kind)] + more

    def is_settled(self, values: Array) -> bool:
        """See :meth:`Column.is_settled`."""
        return self.met and (self.missed or values.min(initial=0) != MISSING)

    def writer(self, places: Mapping[str, int]) -> Writer:
        """See :meth:`Column.writer`."""
        absent = places.get(ABSENT)

        def write(value: Any, row: list[float], learned: bool) -> bool:
            if value is None:
                if absent is not None:
                    row[absent] = 1.0
                return absent is not None or not learned
            if not self.met or not isinstance(value, Moment) or not self.fits(value.kind):
                return False
            for key, vector in self.features.vectors(np.array([value.at]), self.kind).items():
                row[places[key]] = float(vector[0])
            return True

        return write

    def known_keys(self) -> list[str]:
        """The keys of the features so far."""
        return [*(self.features.keys(self.kind) if self.met else ()), *[ABSENT] * self.missed]


def weekday(at: Array) -> Array:
    """The day of the week, Monday being 0."""
    found: Array = (at // DAY + 3) % 7  # 1 January 1970 was a Thursday
    return found


def in_year(at: Array) -> tuple[Array, Array]:
    """How much of the year has passed, and how long it is, in microseconds."""
    dates = at.astype("datetime64[us]")
    begin = dates.astype("datetime64[Y]")
    return (dates - begin).astype(np.int64), ((begin + 1).astype("datetime64[us]") - begin).astype(np.int64)
