"""What the passing of time and resets do, for :class:`driftline.SecondOrder`; schedules that change from row to row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from driftline.base import params
from driftline.tables.inputs import Array

Schedule = Callable[[int], float] | Sequence[float]

_FRACTION, _FRACTION_WORDS = params.number(gt=0, le=1)
_POSITIVE, _POSITIVE_WORDS = params.number(gt=0)
_DRIFT, _DRIFT_WORDS = params.number(ge=0)
_POWER, _POWER_WORDS = params.number(ge=1)


def is_sequence(value: Any) -> TypeGuard[Sequence[float]]:
    """Whether a schedule was given by its values."""
    return isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes)) and len(value) > 0


def values_of(schedule: Schedule, indices: Iterable[int], check: params.Check, what: str) -> Array:
    """The schedule at some indices, counted from 1; a sequence repeats its last value."""
    if callable(schedule):
        values = [schedule(i) for i in indices]
    else:
        last = len(schedule)
        values = [schedule[min(i, last) - 1] for i in indices]
    for i, value in zip(indices, values, strict=True):
        if not check(value):
            raise ValueError(f"{what}({i}) is out of range: {value!r}")
    return np.array(values, dtype=np.float64)


def is_forgetting(value: Any) -> bool:
    """A number in (0, 1], a function of the row's index t = 1, 2, ..., or a sequence."""
    return callable(value) or _FRACTION(value) or (is_sequence(value) and all(map(_FRACTION, value)))


FORGETTING_RULE = f"{_FRACTION_WORDS}, or a function or sequence of such numbers"


def is_thresholds(value: Any) -> bool:
    """None, a power q >= 1, a function of the segment i = 1, 2, ..., or a sequence."""
    return value is None or callable(value) or _POWER(value) or (is_sequence(value) and all(map(_POSITIVE, value)))


THRESHOLDS_RULE = f"None, a power {_POWER_WORDS}, or a function or sequence of positive thresholds"


@dataclass(frozen=True)
class Divide:
    """S <- S / forgetting before each row: exponential forgetting."""

    forgetting: float | Schedule

    def __post_init__(self) -> None:
        if not is_forgetting(self.forgetting):
            raise ValueError(f"Divide: forgetting must be {FORGETTING_RULE}, got {self.forgetting!r}")

    @property
    def constant(self) -> float | None:
        """The one factor of all rows; None where it changes."""
        return None if callable(self.forgetting) or is_sequence(self.forgetting) else float(self.forgetting)  # type: ignore[arg-type]

    def values(self, first: int, count: int) -> Array:
        """The factors of the rows first, first + 1, ..."""
        schedule = self.forgetting if self.constant is None else [self.constant]
        return values_of(schedule, range(first, first + count), _FRACTION, "forgetting")  # type: ignore[arg-type]


@dataclass(frozen=True)
class Add:
    """S <- S + drift I before each row: a random walk of the weights."""

    drift: float

    def __post_init__(self) -> None:
        if not _DRIFT(self.drift):
            raise ValueError(f"Add: drift must be {_DRIFT_WORDS}, got {self.drift!r}")


@dataclass(frozen=True)
class Every:
    """S <- I after every ``period`` rows."""

    period: int

    def __post_init__(self) -> None:
        if not isinstance(self.period, (int, np.integer)) or isinstance(self.period, bool) or self.period < 1:
            raise ValueError(f"Every: period must be a whole number of at least 1, got {self.period!r}")


@dataclass(frozen=True)
class Below:
    """S <- I when its smallest eigenvalue falls below the threshold of the segment."""

    schedule: float | Schedule

    def __post_init__(self) -> None:
        if self.schedule is None or not is_thresholds(self.schedule):
            raise ValueError(f"Below: schedule must be {THRESHOLDS_RULE.removeprefix('None, ')}, got {self.schedule!r}")

    def values(self, first: int, count: int) -> Array:
        """The thresholds of the segments first, first + 1, ...: 1 / (i^(q-1) + 1) for a power q."""
        if callable(self.schedule) or is_sequence(self.schedule):
            return values_of(self.schedule, range(first, first + count), _POSITIVE, "schedule")
        power = float(self.schedule)  # type: ignore[arg-type]
        segments = np.arange(first, first + count, dtype=np.float64)
        with np.errstate(over="ignore"):
            thresholds: Array = 1.0 / (segments ** (power - 1.0) + 1.0)
        return np.maximum(thresholds, np.finfo(np.float64).tiny)
