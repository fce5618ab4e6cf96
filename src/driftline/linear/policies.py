"""What the passing of time and resets do, for :class:`driftline.SecondOrder`; schedules that change from row to row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from driftline.base.rules import POSITIVE, Checked, Count, NotNegative, Rule, is_sequence, number, sequence
from driftline.tables.inputs import Array

Schedule = Callable[[int], float] | Sequence[float]

_FRACTION, _POWER = number(gt=0, le=1), number(ge=1)


def _schedule_of(item: Rule, words: str) -> Rule:
    values = sequence(item)
    return Rule(lambda value: callable(value) or values.accepts(value), f"a function or sequence of {words}")


FORGETTING = _FRACTION | _schedule_of(_FRACTION, "such numbers")
THRESHOLDS = Rule(_POWER.check, f"a power {_POWER.words}") | _schedule_of(POSITIVE, "positive thresholds")


def values_of(schedule: Schedule, indices: Iterable[int], rule: Rule, what: str) -> Array:
    """The schedule at some indices, counted from 1; a sequence repeats its last value."""
    if callable(schedule):
        values = [schedule(i) for i in indices]
    else:
        last = len(schedule)
        values = [schedule[min(i, last) - 1] for i in indices]
    for i, value in zip(indices, values, strict=True):
        if not rule.accepts(value):
            raise ValueError(f"{what}({i}) is out of range: {value!r}")
    return np.array(values, dtype=np.float64)


@dataclass(frozen=True)
class Divide(Checked):
    """S <- S / forgetting before each row: exponential forgetting."""

    forgetting: Annotated[float | Schedule, FORGETTING]

    @property
    def constant(self) -> float | None:
        """The one factor of all rows; None where it changes."""
        return None if callable(self.forgetting) or is_sequence(self.forgetting) else float(self.forgetting)  # type: ignore[arg-type]

    def values(self, first: int, count: int) -> Array:
        """The factors of the rows first, first + 1, ..."""
        schedule = self.forgetting if self.constant is None else [self.constant]
        return values_of(schedule, range(first, first + count), _FRACTION, "forgetting")  # type: ignore[arg-type]


@dataclass(frozen=True)
class Add(Checked):
    """S <- S + drift I before each row: a random walk of the weights."""

    drift: NotNegative


@dataclass(frozen=True)
class Every(Checked):
    """S <- I after every ``period`` rows."""

    period: Count


@dataclass(frozen=True)
class Below(Checked):
    """S <- I when its smallest eigenvalue falls below the threshold of the segment."""

    schedule: Annotated[float | Schedule, THRESHOLDS]

    def values(self, first: int, count: int) -> Array:
        """The thresholds of the segments first, first + 1, ...: 1 / (i^(q-1) + 1) for a power q."""
        if callable(self.schedule) or is_sequence(self.schedule):
            return values_of(self.schedule, range(first, first + count), POSITIVE, "schedule")
        power = float(self.schedule)  # type: ignore[arg-type]
        segments = np.arange(first, first + count, dtype=np.float64)
        with np.errstate(over="ignore"):
            thresholds: Array = 1.0 / (segments ** (power - 1.0) + 1.0)
        return np.maximum(thresholds, np.finfo(np.float64).tiny)
