"""Alarms with their context: how much the error rose, which rows were worst, and which inputs were unusual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from driftline.report import evidence
from driftline.report.evidence import FIGURES, Evidence
from driftline.report.recent import COLUMNS
from driftline.report.usual import BLOCK, Usual
from driftline.storage.resumable import Resumable, part_of
from driftline.tables.inputs import Array

BEFORE, AFTER = 1024, 64  # rows examined before an onset and after an alarm; an onset is at most this far before its alarm
TAIL = 2 * BEFORE + AFTER
AROUND, MOST_DRAWN = 96, 448  # rows kept for the charts: before the onset, and at most before the alarm
KEPT = 512  # the latest alarms
DRAWN = 32  # alarms whose rows are kept for the charts
WORST, INPUTS = 5, 4  # rows and inputs kept for each alarm
FEWEST_BEFORE, FEWEST_SINCE = 4, 2  # rows before the onset, and from it to the alarm
WIDEST = 128  # features; wider models are not watched

AT, Y, PREDICTION = (COLUMNS.index(name) for name in ("at", "y", "prediction"))
NUMBERS = ("row", "onset", "at", "onset_at", "before", "during", "bias", "watched")
TABLES = {"worst": 1 + len(COLUMNS), "inputs": 5, "outside": 4, "rows": len(COLUMNS)}  # and their columns


@dataclass(frozen=True)
class AlarmRecord:
    """An alarm and its surroundings.

    Attributes:
        row: the row that raised it; ``at`` is its place on the axis.
        onset: the first row with larger errors; ``onset_at`` is its place.
        before: the root mean squared error of up to 1,024 rows before the onset.
        during: that of at least 64 rows from the onset on, including the row that raised the alarm.
        bias: the mean error of the same rows; positive if predictions were too low.
        watched: the number of inputs watched; 0 if they are not known or too many.
        evidence: figures that indicate the cause.
        worst: (n, 6) rows from the onset on with the largest errors: the row's number, then ``COLUMNS``.
        inputs: (n, 5) labels and inputs, those that moved furthest first, from :meth:`Usual.moved`; place 0 is the label,
            place j + 1 is input j.
        outside: (n, 4) inputs of the worst row that lie outside the range of the rows before: place of the input, value,
            and the lowest and highest value before.
        rows: the rows around the alarm in ``COLUMNS``; empty for old alarms.
    """

    row: int
    onset: int
    at: float
    onset_at: float
    before: float
    during: float
    bias: float
    watched: float
    evidence: Evidence
    worst: Array
    inputs: Array
    outside: Array
    rows: Array


class AlarmLog(Resumable):
    """The latest alarms of a stream. The result does not depend on how the stream is cut into blocks."""

    _fields = ("count", "waiting", "rows", "tail", "inputs", "usual")

    def __init__(self) -> None:
        self.count = 0  # alarms so far
        self.closed: list[AlarmRecord] = []
        self.waiting: list[int] = []  # rows of alarms whose following rows are still arriving
        self.rows = 0
        self.tail = np.empty((0, len(COLUMNS)))
        self.inputs = np.empty((0, 0))  # labels and features of the rows in the tail
        self.usual = Usual(TAIL // BLOCK + 2)

    def add(self, values: Array, X: Array | None, alarms: Array) -> None:
        """Adds rows in ``COLUMNS``, their inputs, and the numbers of the rows that raised an alarm."""
        watched = [values[:, Y]] if X is None or X.shape[1] > WIDEST else [values[:, Y], X]
        X = np.column_stack(watched).astype(np.float64)
        columns = max(X.shape[1], self.inputs.shape[1])
        self.usual.widen(columns)
        self.inputs, X = (np.pad(rows, ((0, 0), (0, columns - rows.shape[1]))) for rows in (self.inputs, X))
        self.tail, self.inputs = np.concatenate([self.tail, values]), np.concatenate([self.inputs, X])
        before, self.rows = self.rows, self.rows + len(values)
        start, first, last = self.rows - len(self.tail), before // BLOCK, self.rows // BLOCK
        if first < last:
            self.usual.add(self.inputs[first * BLOCK - start : last * BLOCK - start])
        self.count += len(alarms)
        self.waiting += [int(row) for row in alarms]
        while self.waiting and self.waiting[0] + AFTER <= self.rows:
            self.closed.append(self._record(self.waiting.pop(0), self.closed[-1].row if self.closed else 0))
        self._forget()

    def _forget(self) -> None:
        self.tail, self.inputs = self.tail[-TAIL:].copy(), self.inputs[-TAIL:].copy()
        self.usual.forget()
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
        rows, inputs = self.tail[first - start : stop - start], self.inputs[first - start : stop - start]
        with np.errstate(over="ignore", invalid="ignore"):
            errors = rows[:, Y] - rows[:, PREDICTION]
        begin = onset - first
        during = slice(begin, max(alarm - first + 1, begin + AFTER))
        order = np.argsort(-np.nan_to_num(np.abs(errors[during]), nan=-1.0), kind="stable") + begin
        order = order[np.isfinite(errors[order])]
        found, moved = self._evidence(errors, inputs, during, order, self.rows // BLOCK - onset // BLOCK)
        return AlarmRecord(
            row=alarm,
            onset=onset,
            at=float(rows[alarm - first, AT]),
            onset_at=float(rows[begin, AT]),
            before=_root_mean_square(errors[:begin]),
            during=_root_mean_square(errors[during]),
            bias=_mean(errors[during]),
            watched=inputs.shape[1] - 1,
            evidence=found,
            worst=np.column_stack([first + order, rows[order]])[:WORST],
            inputs=moved,
            outside=evidence.outside(inputs[order[0], 1:], inputs[:begin, 1:], INPUTS) if len(order) else np.empty((0, 4)),
            rows=rows[max(onset - AROUND, alarm - MOST_DRAWN, first) - first :].copy(),
        )

    def _evidence(self, errors: Array, inputs: Array, during: slice, order: Array, age: int) -> tuple[Evidence, Array]:
        """Figures that indicate the cause, and how far labels and inputs moved.

        Args:
            errors: the errors of the rows before the onset and from it on.
            inputs: labels and features of the same rows.
            during: the rows from the onset on.
            order: the rows from the onset on, by the size of their errors.
            age: the number of blocks that ended after the onset.
        """
        before, X = slice(0, during.start), inputs[:, 1:]
        with np.errstate(all="ignore"):
            few, made = evidence.few_rows(errors[before], errors[during])
            others = inputs[during].copy()
            if few:
                others[order[: evidence.FEW] - during.start] = np.nan  # a few bad rows do not move an input
            moved, limit = self.usual.moved(others, age, INPUTS)
            follows = evidence.followed_inputs(errors[before], X[before], errors[during], X[during])
            spreads = [evidence.spread(labels) for labels in (inputs[before, 0], others[:, 0])]
        return Evidence(few, made, limit, *follows, evidence.in_step(errors[during]), *spreads), moved

    def state(self) -> dict[str, Any]:
        """Arrays and numbers."""
        numbers = [
            [*(getattr(record, name) for name in NUMBERS), *(getattr(record.evidence, name) for name in FIGURES)]
            for record in self.closed
        ]
        parts = {name: [getattr(record, name) for record in self.closed] for name in TABLES}
        return super().state() | {
            "closed/numbers": np.array(numbers, dtype=np.float64).reshape(-1, len(NUMBERS) + len(FIGURES)),
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
            own: dict[str, Any] = dict(zip(NUMBERS, numbers[: len(NUMBERS)], strict=True))
            own |= {"row": int(own["row"]), "onset": int(own["onset"])} | {name: parts[name][place] for name in TABLES}
            self.closed.append(AlarmRecord(evidence=Evidence(*numbers[len(NUMBERS) :]), **own))
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
