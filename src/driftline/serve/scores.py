"""Scores of a served learner: sums over its labels, an alarm, and baselines that use only the labels."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from math import fsum
from typing import Any

import numpy as np

from driftline.base.alarm import Alarm
from driftline.base.run import Run
from driftline.tables.inputs import Array

Answer = tuple[float, float | None, float | None]  # the prediction and the interval ends, None until there are enough labels
Naive = tuple[float, float]  # the baselines' predictions: the last label and the mean of all; NaN without any


@dataclass(slots=True)
class ScoredLabel:
    """A label and its prediction.

    Attributes:
        answer: the prediction and its interval.
        naive: the baselines' predictions; None if the row was not predicted earlier.
        y: the label.
    """

    answer: Answer
    naive: Naive | None
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
    compared: int = 0  # labels for which an earlier label was known
    last_squared: float = 0.0
    mean_squared: float = 0.0
    newest: float = float("nan")
    total: float = 0.0
    alarm: Alarm = field(default_factory=Alarm)

    def naive(self) -> Naive:
        """The current predictions of the baselines."""
        return self.newest, self.total / self.rows if self.rows else float("nan")

    def take(self, outcomes: list[ScoredLabel], at: float) -> list[int]:
        """Adds labels; returns the numbers of those that raised the alarm."""
        errors = []
        for outcome in outcomes:
            prediction, lower, upper = outcome.answer
            y, error = outcome.y, outcome.y - prediction
            last, mean = outcome.naive or self.naive()
            errors.append(error)
            self.rows += 1
            self.squared += error * error
            self.absolute += abs(error)
            if lower is not None and upper is not None:
                self.judged += 1
                self.inside += lower <= y <= upper
            if last == last:
                self.compared += 1
                self.last_squared += (y - last) * (y - last)
                self.mean_squared += (y - mean) * (y - mean)
            self.newest = y
            self.total += y
        return self._watch(errors, at)

    def take_table(self, run: Run, y: Array, at: float) -> list[int]:
        """Adds the labels of a run; returns the numbers of those that raised the alarm."""
        errors, lower, upper = run.errors, run.lower, run.upper
        assert lower is not None
        assert upper is not None
        judged = np.isfinite(lower) & np.isfinite(upper)
        totals = self.total + np.concatenate([[0.0], np.cumsum(y)])
        counts = np.arange(self.rows, self.rows + len(y))
        start = 0 if self.rows else 1  # the very first label has no baseline
        last = np.concatenate([[self.newest], y[:-1]])[start:]
        mean = totals[:-1][start:] / counts[start:]
        with np.errstate(over="ignore"):
            self.squared += float(errors @ errors)
            self.last_squared += float(np.square(y[start:] - last).sum())
            self.mean_squared += float(np.square(y[start:] - mean).sum())
        self.absolute += float(np.abs(errors).sum())
        self.judged += int(judged.sum())
        self.inside += int((judged & (lower <= y) & (y <= upper)).sum())
        self.compared += len(y) - start
        self.rows += len(y)
        self.newest, self.total = float(y[-1]), float(totals[-1])
        return self._watch(errors, at)

    def _watch(self, errors: Any, at: float) -> list[int]:
        """Passes the errors of the latest labels to the alarm; returns the numbers of those that raised it."""
        first = self.rows - len(errors) + 1
        raised = [first + int(index) for index in self.alarm.update_many(errors)]
        if raised:
            self.alarms += len(raised)
            self.last_alarm, self.last_alarm_at = raised[-1], at
        return raised

    def arrays(self) -> dict[str, Array]:
        """The state of the alarm for a file."""
        return {f"alarm.{name}": array for name, array in self.alarm.__getstate__().items() if isinstance(array, np.ndarray)}

    def plain(self) -> dict[str, Any]:
        """The sums as JSON values."""
        return {part.name: getattr(self, part.name) for part in fields(self) if part.name != "alarm"}

    @classmethod
    def restored(cls, plain: dict[str, Any], arrays: dict[str, Array]) -> Scores:
        """Restores the results of :meth:`plain` and :meth:`arrays`."""
        scores = cls(**plain)
        state = {name.removeprefix("alarm."): array for name, array in arrays.items() if name.startswith("alarm.")}
        scores.alarm.__setstate__({"false_every": scores.alarm.false_every, **state})
        return scores


def summary(all_scores: list[Scores]) -> dict[str, Any]:
    """The status of a model with one or several learners; None for figures that are not known yet."""

    def total(name: str) -> float:
        return fsum(getattr(scores, name) for scores in all_scores)  # independent of the order of the keys

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
