"""Rows with keys through a fleet's core, in stretches between which an interrupt is heeded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftline._core import Outputs, Status
from driftline.base import levels
from driftline.base.batch import Batch
from driftline.base.learner import Learner
from driftline.base.processors import cores
from driftline.fleet.names import Key
from driftline.linear.schedules import SharedSchedules
from driftline.tables.inputs import Array, Table

ROWS_FOR_A_THREAD = 4096  # with fewer, starting a thread costs more than it saves
STRETCH = 100_000_000  # nanoseconds of work, about
ROW = 300  # nanoseconds to get hold of a model, about; an operation takes about one


@dataclass(frozen=True, eq=False)
class CallRows:
    """The rows of one call of a verb.

    Attributes:
        where: the verb, for messages.
        table: the features.
        slots: of the rows' keys.
        key: gives the key of a slot.
        labels: None where rows are only predicted.
        weight: of each row; None for 1.
        level: of the intervals that are asked for; None for none.
        models: how many there were before.
        one: the row came alone, so that it has no number.
        source: the rows as they were given, for models that read them themselves.
    """

    where: str
    table: Table
    slots: Array
    key: Callable[[int], Key]
    labels: Any = None
    weight: Array | None = None
    level: float | None = None
    models: int = 0
    one: bool = False
    source: Any = None


@dataclass(eq=False)
class Answer:
    """What a call gives for each of its rows; ``alarms`` marks rows, and is None where alarms are not kept."""

    predictions: Array
    errors: Array | None = None
    lower: Array | None = None
    upper: Array | None = None
    resets: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    alarms: Array | None = None
    skipped: int = 0


def threads_for(rows: int, jobs: int | None) -> int:
    """How many threads that many rows are worth."""
    worth = rows // ROWS_FOR_A_THREAD
    return 1 if worth < 2 else min(worth, jobs or worth, cores())


class Call:
    """Rows on their way through a core, and how far they got."""

    def __init__(self, rows: CallRows, block: Array, jobs: int | None, alarms: bool = False) -> None:
        count = len(block)
        self._rows, self._block = rows, block
        self._marks = np.zeros(count, dtype=np.uint8)
        lower, upper = (None, None) if rows.level is None else np.empty((2, count))
        level = None if rows.level is None else levels.as_level(rows.level, rows.where)
        self._out = Outputs(np.empty(count), lower=lower, upper=upper, level=level, resets=self._marks)
        self._alarms = np.zeros(count, dtype=np.uint8) if alarms and rows.labels is not None else None
        self._skipped = 0
        # The core itself writes here, for each thread, so that no interrupt can come between what is done and what is said.
        self._at = np.zeros(threads_for(count, jobs), dtype=np.int64)

    @property
    def done(self) -> int:
        """How many rows are done."""
        return int(self._at.min())

    def replay(
        self, core: Any, schedules: SharedSchedules | None, learner: Learner, model: Callable[[Any, int], Learner]
    ) -> None:
        """All rows. ``model`` gives the learner in a slot of the core, for what the core cannot decide."""
        rows, count = self._rows, len(self._block)
        step = 1 if count == 1 else max(1, STRETCH // (ROW + learner._operations(core.features + 1)))
        skip = learner.missing == "skip"
        while self.done < count:
            until = min(self.done + step, count)
            status, lost = core.run(
                rows.slots, self._block, rows.labels, rows.weight, skip, self._out, self._alarms, self._at, until
            )
            self._skipped += int(lost)
            if status is Status.DONE:
                continue
            row = self.done
            slot = int(rows.slots[row])
            stuck = model(core, slot)
            ahead = int(np.count_nonzero(rows.slots[row:] == slot))
            if schedules is None or not schedules.serve(core, status, stuck._sums(), ahead):
                where = f"{rows.where}, key {rows.key(slot)!r}"
                stuck._serve(status, Batch(self._block[row:], None, None, where, None if rows.one else row))

    def answer(self) -> Answer:
        """What the core wrote."""
        out, errors = self._out, None
        if self._rows.labels is not None:
            with np.errstate(over="ignore"):
                errors = self._rows.labels - out.predictions
        return Answer(
            out.predictions, errors, out.lower, out.upper, np.flatnonzero(self._marks), self._alarms, self._skipped
        )
