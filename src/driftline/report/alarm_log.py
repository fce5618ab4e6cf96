"""Alarms with what surrounded them: how much the error rose, which rows were worst, and which inputs were unusual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftline.report.recent import COLUMNS
from driftline.tables.inputs import Array

BEFORE, AFTER = 1024, 64  # rows that are looked at on each side of an alarm
AROUND, MOST_DRAWN = 96, 448  # rows before the onset, and at most before the alarm, that are kept for the charts
BLOCK = 64  # rows; a mean of so many is compared with the earlier means of as many
KEPT = 512  # alarms, the latest ones
DRAWN = 32  # alarms whose rows are kept for the charts
WORST, INPUTS = 5, 4  # rows and inputs that are kept of an alarm
FEWEST_BLOCKS = 4  # before which nothing is usual
FEWEST_BEFORE, FEWEST_SINCE = 4, 2  # rows before the onset, and from it to the alarm
WIDEST = 128  # features; the inputs of wider models are not watched

AT, Y, PREDICTION = (COLUMNS.index(name) for name in ("at", "y", "prediction"))
NUMBERS = ("row", "onset", "at", "onset_at", "before", "during", "bias")


@dataclass(frozen=True)
class AlarmRecord:
    """An alarm and its surroundings.

    Attributes:
        row: that raised it; ``at`` is its place on the axis.
        onset: the row from which on errors were larger; ``onset_at`` is its place.
        before: root mean squared error of up to 1,024 rows before the onset.
        during: that of at least 64 rows from the onset on, the alarm's own among them.
        bias: the mean error of the same rows; positive where predictions were too low.
        worst: (n, 6) rows from the onset on with the largest errors: the row's number, then ``COLUMNS``.
        inputs: (n, 4) labels and features by how unusual they were: 0 for the label, otherwise 1 + the feature's place; the
            mean of 64 rows from the onset on; the mean and the standard deviation of such means before.
        rows: the rows around the alarm in ``COLUMNS``; empty for alarms of long ago.
    """

    row: int
    onset: int
    at: float
    onset_at: float
    before: float
    during: float
    bias: float
    worst: Array
    inputs: Array
    rows: Array


class AlarmLog:
    """The latest alarms of a stream. It keeps the same however the stream is cut into blocks."""

    def __init__(self) -> None:
        self.count = 0  # alarms so far
        self.closed: list[AlarmRecord] = []
        self.waiting: list[int] = []  # rows of alarms whose surroundings are not over
        self.rows = 0
        self.tail = np.empty((0, len(COLUMNS)))
        self.inputs = np.empty((0, 0))  # labels and features of the rows in the tail
        self.origin = np.empty(0)  # the first mean of a block, from which the others are counted
        self.usual = np.zeros((1, 3, 0))  # after each of the last blocks: their number, sums of means and of their squares

    def add(self, values: Array, X: Array | None, alarms: Array) -> None:
        """Takes rows in ``COLUMNS``, their inputs, and the numbers of those that raised an alarm."""
        watched = [values[:, Y]] if X is None or X.shape[1] > WIDEST else [values[:, Y], X]
        X = np.column_stack(watched).astype(np.float64)
        self._widen(X.shape[1])
        X = np.pad(X, ((0, 0), (0, self.inputs.shape[1] - X.shape[1])))
        self.tail, self.inputs = np.concatenate([self.tail, values]), np.concatenate([self.inputs, X])
        before, self.rows = self.rows, self.rows + len(values)
        self._add_blocks(before)
        self.count += len(alarms)
        self.waiting += [int(row) for row in alarms]
        while self.waiting and self.waiting[0] + AFTER <= self.rows:
            self.closed.append(self._record(self.waiting.pop(0), self.closed[-1].row if self.closed else 0))
        self._forget()

    def _widen(self, features: int) -> None:
        more = features - self.inputs.shape[1]
        if more > 0:
            self.inputs = np.pad(self.inputs, ((0, 0), (0, more)))
            self.origin = np.pad(self.origin, (0, more)) if len(self.origin) else self.origin
            self.usual = np.concatenate([self.usual, np.repeat(self._blocks_so_far(), more, axis=2)], axis=2)

    def _blocks_so_far(self) -> Array:
        """The sums of a feature that was 0 in every block."""
        zeros = np.zeros((len(self.usual), 3, 1))
        if self.usual.shape[2]:
            zeros[:, 0] = self.usual[:, 0, :1]
        return zeros

    def _add_blocks(self, before: int) -> None:
        """Adds the means of the blocks that these rows complete."""
        first, last, start = before // BLOCK, self.rows // BLOCK, self.rows - len(self.tail)
        if first == last:
            return
        blocks = self.inputs[first * BLOCK - start : last * BLOCK - start].reshape(last - first, BLOCK, -1)
        means = _means(blocks)
        if not len(self.origin):
            self.origin = means[0]
        with np.errstate(over="ignore", invalid="ignore"):
            moved = means - self.origin
            steps = np.stack([np.ones_like(moved), moved, np.square(moved)], axis=1)
            sums = np.cumsum(np.concatenate([self.usual[-1:], steps]), axis=0)
        self.usual = np.concatenate([self.usual, sums[1:]])

    def _forget(self) -> None:
        kept = BEFORE + AFTER
        self.tail, self.inputs = self.tail[-kept:].copy(), self.inputs[-kept:].copy()
        self.usual = self.usual[-(kept // BLOCK + 2) :].copy()
        self.closed = self.closed[-KEPT:]
        for place, record in enumerate(self.closed[:-DRAWN]):
            if len(record.rows):
                self.closed[place] = AlarmRecord(**{**vars(record), "rows": np.empty((0, len(COLUMNS)))})

    def records(self) -> list[AlarmRecord]:
        """The latest alarms in their order; of the last one, what is known so far."""
        found = list(self.closed)
        for row in self.waiting:
            found.append(self._record(row, found[-1].row if found else 0))
        return found[-KEPT:]

    def _record(self, alarm: int, previous: int) -> AlarmRecord:
        """The surroundings of an alarm whose onset is after the previous alarm."""
        start = self.rows - len(self.tail)
        first, stop = max(alarm - BEFORE, start), min(alarm + AFTER, self.rows)
        rows = self.tail[first - start : stop - start]
        with np.errstate(over="ignore", invalid="ignore"):
            errors = rows[:, Y] - rows[:, PREDICTION]
        onset = first + _onset(errors[: alarm - first + 1], max(previous - first + 1, 0))
        during = slice(onset - first, max(alarm - first + 1, onset - first + AFTER))
        order = np.argsort(-np.nan_to_num(np.abs(errors[during]), nan=-1.0), kind="stable")[:WORST] + (onset - first)
        order = order[np.isfinite(errors[order])]
        return AlarmRecord(
            row=alarm,
            onset=onset,
            at=float(rows[alarm - first, AT]),
            onset_at=float(rows[onset - first, AT]),
            before=_root_mean_square(errors[: onset - first]),
            during=_root_mean_square(errors[during]),
            bias=_mean(errors[during]),
            worst=np.column_stack([first + order, rows[order]]),
            inputs=self._unusual(onset),
            rows=rows[max(onset - AROUND, alarm - MOST_DRAWN, first) - first :].copy(),
        )

    def _unusual(self, onset: int) -> Array:
        """The inputs whose mean from the onset on is furthest from earlier means, in their standard deviations."""
        start = self.rows - len(self.tail)
        age = self.rows // BLOCK - onset // BLOCK  # blocks that ended after the onset
        rows = self.inputs[onset - start : onset - start + BLOCK]
        if len(rows) < BLOCK or age >= len(self.usual):
            return np.empty((0, 4))
        count, total, squares = self.usual[len(self.usual) - 1 - age]
        if count[0] < FEWEST_BLOCKS:
            return np.empty((0, 4))
        now = _means(rows)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            mean = total / count
            spread = np.sqrt(np.maximum(squares / count - mean**2, 0.0))
            distance = np.abs(now - self.origin - mean) / spread
        distance = np.where(np.isfinite(distance), distance, 0.0)
        order = np.argsort(-distance, kind="stable")[:INPUTS]
        order = order[distance[order] > 0]
        return np.column_stack([order, now[order], (self.origin + mean)[order], spread[order]])

    def state(self) -> dict[str, Any]:
        """Arrays and numbers."""
        numbers = [[getattr(record, name) for name in NUMBERS] for record in self.closed]
        parts = {name: [getattr(record, name) for record in self.closed] for name in ("worst", "inputs", "rows")}
        return {
            "count": self.count,
            "total": self.rows,
            "waiting": np.array(self.waiting, dtype=np.int64),
            "tail": self.tail,
            "tail_inputs": self.inputs,
            "origin": self.origin,
            "usual": self.usual,
            "numbers": np.array(numbers, dtype=np.float64).reshape(-1, len(NUMBERS)),
            **{f"{name}_counts": np.array([len(part) for part in own], dtype=np.int64) for name, own in parts.items()},
            **{name: np.concatenate([np.empty((0, WIDTHS[name])), *own]) for name, own in parts.items()},
        }

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> AlarmLog:
        """From what :meth:`state` gave."""
        log = cls()
        log.count, log.rows = int(state["count"]), int(state["total"])
        log.waiting = [int(row) for row in state["waiting"]]
        log.tail, log.inputs = np.array(state["tail"]), np.array(state["tail_inputs"])
        log.origin, log.usual = np.array(state["origin"]), np.array(state["usual"])
        parts = {
            name: np.split(np.array(state[name]), np.cumsum(state[f"{name}_counts"])[:-1])
            for name in WIDTHS
            if len(state[f"{name}_counts"])
        }
        for place, numbers in enumerate(np.array(state["numbers"]).tolist()):
            row, onset, *others = numbers
            own = [parts[name][place] for name in WIDTHS]
            log.closed.append(AlarmRecord(int(row), int(onset), *others, *own))
        return log


WIDTHS = {"worst": 1 + len(COLUMNS), "inputs": 4, "rows": len(COLUMNS)}


def _onset(errors: Array, least: int) -> int:
    """The place from which on errors were larger: of those from ``least`` on the one of the greatest likelihood.

    Errors are taken as normal numbers. Those from the place on have a larger mean
    square about the mean of those before it, by more noise or by a shift.
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


def _means(rows: Array) -> Array:
    """Of the finite values of each column of (..., rows, columns); 0 where there are none."""
    known = np.isfinite(rows)
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.add.reduce(np.where(known, rows, 0.0), axis=-2)
        mean: Array = total / np.maximum(known.sum(axis=-2), 1)
    return mean


def _root_mean_square(errors: Array) -> float:
    with np.errstate(over="ignore"):
        return float(np.sqrt(_mean(np.square(errors))))


def _mean(values: Array) -> float:
    known = values[np.isfinite(values)]
    with np.errstate(over="ignore", invalid="ignore"):
        return float(known.mean()) if len(known) else np.nan
