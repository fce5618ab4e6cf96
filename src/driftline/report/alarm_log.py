"""Alarms with their context: how much the error rose, and which rows were worst."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from driftline.report.recent import COLUMNS
from driftline.storage.resumable import Resumable, part_of
from driftline.tables.inputs import Array

BEFORE, AFTER = 1024, 64  # rows examined before an onset and after an alarm; an onset is at most this far before its alarm
TAIL = 2 * BEFORE + AFTER
AROUND, MOST_DRAWN = 96, 448  # rows kept for the charts: before the onset, and at most before the alarm
KEPT = 512  # the latest alarms
DRAWN = 32  # alarms whose rows are kept for the charts
WORST = 5  # rows kept for each alarm
FEWEST_BEFORE, FEWEST_SINCE = 4, 2  # rows before the onset, and from it to the alarm

AT, Y, PREDICTION = (COLUMNS.index(name) for name in ("at", "y", "prediction"))
NUMBERS = ("row", "onset", "at", "onset_at", "before", "during", "bias")
TABLES = {"worst": 1 + len(COLUMNS), "rows": len(COLUMNS)}  # and their columns


@dataclass(frozen=True)
class AlarmRecord:
    """An alarm and its surroundings.

    Attributes:
        row: the row that raised it; ``at`` is its place on the axis.
        onset: the first row with larger errors; ``onset_at`` is its place.
        before: the root mean squared error of up to 1,024 rows before the onset.
        during: that of at least 64 rows from the onset on, including the row that raised the alarm.
        bias: the mean error of the same rows; positive if predictions were too low.
        worst: (n, 6) rows from the onset on with the largest errors: the row's number, then ``COLUMNS``.
        rows: the rows around the alarm in ``COLUMNS``; empty for old alarms.
    """

    row: int
    onset: int
    at: float
    onset_at: float
    before: float
    during: float
    bias: float
    worst: Array
    rows: Array


class AlarmLog(Resumable):
    """The latest alarms of a stream. The result does not depend on how the stream is cut into blocks."""

    _fields = ("count", "waiting", "rows", "tail")

    def __init__(self) -> None:
        self.count = 0  # alarms so far
        self.closed: list[AlarmRecord] = []
        self.waiting: list[int] = []  # rows of alarms whose following rows are still arriving
        self.rows = 0
        self.tail = np.empty((0, len(COLUMNS)))

    def add(self, values: Array, alarms: Array) -> None:
        """Adds rows in ``COLUMNS``, and the numbers of the rows that raised an alarm."""
        self.tail = np.concatenate([self.tail, values])
        self.rows += len(values)
        self.count += len(alarms)
        self.waiting += [int(row) for row in alarms]
        while self.waiting and self.waiting[0] + AFTER <= self.rows:
            self.closed.append(self._record(self.waiting.pop(0), self.closed[-1].row if self.closed else 0))
        self._forget()

    def _forget(self) -> None:
        self.tail = self.tail[-TAIL:].copy()
        self.closed = self.closed[-KEPT:]
        for place, record in enumerate(self.closed[:-DRAWN]):
            if len(record.rows):
                self.closed[place] = replace(record, rows=np.empty((0, len(COLUMNS))))

    def records(self) -> list[AlarmRecord]:
        """The latest alarms in order; the last one may be incomplete."""
        found = list(self.closed)
        for row in self.waiting:
            found.append(self._record(row, found[-1].row if found else 0))
        return found[-KEPT:]

    def _record(self, alarm: int, previous: int) -> AlarmRecord:
        """The surroundings of an alarm whose onset is after the previous alarm."""
        start = self.rows - len(self.tail)
        nearest, stop = max(alarm - BEFORE, start), min(alarm + AFTER, self.rows)
        with np.errstate(over="ignore", invalid="ignore"):
            errors = self.tail[nearest - start : stop - start, Y] - self.tail[nearest - start : stop - start, PREDICTION]
        onset = nearest + _onset(errors[: alarm - nearest + 1], max(previous - nearest + 1, 0))
        first = max(onset - BEFORE, start)
        rows = self.tail[first - start : stop - start]
        with np.errstate(over="ignore", invalid="ignore"):
            errors = rows[:, Y] - rows[:, PREDICTION]
        begin = onset - first
        during = slice(begin, max(alarm - first + 1, begin + AFTER))
        order = np.argsort(-np.nan_to_num(np.abs(errors[during]), nan=-1.0), kind="stable") + begin
        order = order[np.isfinite(errors[order])]
        return AlarmRecord(
            row=alarm,
            onset=onset,
            at=float(rows[alarm - first, AT]),
            onset_at=float(rows[begin, AT]),
            before=_root_mean_square(errors[:begin]),
            during=_root_mean_square(errors[during]),
            bias=_mean(errors[during]),
            worst=np.column_stack([first + order, rows[order]])[:WORST],
            rows=rows[max(onset - AROUND, alarm - MOST_DRAWN, first) - first :].copy(),
        )

    def state(self) -> dict[str, Any]:
        """Arrays and numbers."""
        numbers = [[getattr(record, name) for name in NUMBERS] for record in self.closed]
        parts = {name: [getattr(record, name) for record in self.closed] for name in TABLES}
        return super().state() | {
            "closed/numbers": np.array(numbers, dtype=np.float64).reshape(-1, len(NUMBERS)),
            **{f"closed/{name}_counts": np.array([len(part) for part in own]) for name, own in parts.items()},
            **{f"closed/{name}": np.concatenate([np.empty((0, TABLES[name])), *own]) for name, own in parts.items()},
        }

    def resume(self, state: Mapping[str, Any]) -> Self:
        """Continues from a state."""
        super().resume(state)
        kept = part_of(state, "closed")
        parts = {
            name: np.split(np.array(kept[name]), np.cumsum(kept[f"{name}_counts"])[:-1])
            for name in TABLES
            if len(kept[f"{name}_counts"])
        }
        for place, numbers in enumerate(kept["numbers"].tolist()):
            own: dict[str, Any] = dict(zip(NUMBERS, numbers, strict=True))
            own |= {"row": int(own["row"]), "onset": int(own["onset"])} | {name: parts[name][place] for name in TABLES}
            self.closed.append(AlarmRecord(**own))
        return self


def _onset(errors: Array, least: int) -> int:
    """The first row with larger errors: the most likely one from ``least`` on.

    Errors are assumed to be normal. From that row on, their mean square about the mean of the earlier errors is larger,
    because of more noise or a shift.
    """
    known = np.isfinite(errors)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scaled = np.where(known, errors, 0.0) / (np.max(np.abs(errors), initial=0.0, where=known) or 1.0)
        count, total, squares = (np.cumsum(values) for values in (known.astype(np.float64), scaled, np.square(scaled)))
        rest, mean = count[-1] - count, total / count
        early = squares / count - mean**2
        late = (squares[-1] - squares - 2 * mean * (total[-1] - total)) / rest + mean**2
        gain = -(count * np.log(early) + rest * np.log(late))
    allowed = (np.arange(1, len(errors) + 1) >= least) & (count >= FEWEST_BEFORE) & (rest >= FEWEST_SINCE)
    usable = allowed & (late > early) & np.isfinite(gain)
    return int(np.where(usable, gain, -np.inf).argmax()) + 1 if usable.any() else max(len(errors) - FEWEST_SINCE, 0)


def _root_mean_square(errors: Array) -> float:
    with np.errstate(over="ignore"):
        return float(np.sqrt(_mean(np.square(errors))))


def _mean(values: Array) -> float:
    known = values[np.isfinite(values)]
    with np.errstate(over="ignore", invalid="ignore"):
        return float(known.mean()) if len(known) else np.nan
