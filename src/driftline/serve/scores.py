"""How well a served learner did: sums over its labels, an alarm, and baselines that know the labels alone."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from math import fsum
from typing import Any

import numpy as np

from driftline.base.alarm import Alarm
from driftline.tables.inputs import Array

Answer = tuple[float, float | None, float | None]  # the prediction and the ends of its interval, None until it is earned
Naive = tuple[float, float]  # what the baselines said: the last label known, and the mean of those known; NaN without any


@dataclass(slots=True)
class Outcome:
    """A label beside what was said about it."""

    answer: Answer
    naive: Naive
    y: float


@dataclass(slots=True)
class Scores:
    """Sums over labels in the order in which they were learned. They add up over the keys of a model."""

    rows: int = 0
    squared: float = 0.0
    absolute: float = 0.0
    judged: int = 0  # labels that had an interval
    inside: int = 0
    alarms: int = 0
    last_alarm: int | None = None  # the number of the label at which the alarm went off, from 1
    last_alarm_at: float | None = None
    compared: int = 0  # labels before which another was known
    last_squared: float = 0.0
    mean_squared: float = 0.0
    newest: float = float("nan")
    total: float = 0.0
    alarm: Alarm = field(default_factory=Alarm)

    def naive(self) -> Naive:
        """What the baselines say now."""
        return self.newest, self.total / self.rows if self.rows else float("nan")

    def take(self, outcomes: list[Outcome], at: float) -> list[int]:
        """Adds labels; the numbers of those that raised the alarm."""
        errors = []
        for outcome in outcomes:
            prediction, lower, upper = outcome.answer
            y, error = outcome.y, outcome.y - prediction
            errors.append(error)
            self.rows += 1
            self.squared += error * error
            self.absolute += abs(error)
            if lower is not None and upper is not None:
                self.judged += 1
                self.inside += lower <= y <= upper
            last, mean = outcome.naive
            if last == last:
                self.compared += 1
                self.last_squared += (y - last) * (y - last)
                self.mean_squared += (y - mean) * (y - mean)
            self.newest = y
            self.total += y
        first = self.rows - len(errors) + 1
        raised = [first + int(index) for index in self.alarm.update_many(errors)]
        if raised:
            self.alarms += len(raised)
            self.last_alarm, self.last_alarm_at = raised[-1], at
        return raised

    def arrays(self) -> dict[str, Array]:
        """The state of the alarm, as a file holds it."""
        return {f"alarm.{name}": array for name, array in self.alarm.__getstate__().items() if isinstance(array, np.ndarray)}

    def plain(self) -> dict[str, Any]:
        """The sums, as JSON has them."""
        return {part.name: getattr(self, part.name) for part in fields(self) if part.name != "alarm"}

    @classmethod
    def restored(cls, plain: dict[str, Any], arrays: dict[str, Array]) -> Scores:
        """From what :meth:`plain` and :meth:`arrays` gave."""
        scores = cls(**plain)
        state = {name.removeprefix("alarm."): array for name, array in arrays.items() if name.startswith("alarm.")}
        scores.alarm.__setstate__({"false_every": scores.alarm.false_every, **state})
        return scores


def summary(all_scores: list[Scores]) -> dict[str, Any]:
    """What the service says about a model of one or several learners; None where nothing is known yet."""

    def total(name: str) -> float:
        return fsum(getattr(scores, name) for scores in all_scores)  # whatever the order of the keys

    def share(name: str, count: float) -> float | None:
        value = total(name) / count if count else np.nan
        return float(value) if np.isfinite(value) else None

    rows, compared = int(total("rows")), total("compared")
    latest = max((s for s in all_scores if s.last_alarm is not None), key=lambda s: s.last_alarm_at or 0.0, default=None)
    return {
        "rows": rows,
        "mse": share("squared", rows),
        "mae": share("absolute", rows),
        "coverage": share("inside", total("judged")),
        "baselines": {"last": share("last_squared", compared), "mean": share("mean_squared", compared)},
        "alarms": int(total("alarms")),
        "last_alarm": None if latest is None else {"row": latest.last_alarm, "at": latest.last_alarm_at},
    }
