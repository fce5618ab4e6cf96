"""Passes keyed rows through a fleet's core in pieces, between which interrupts are handled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftline._core import Status, heed_interrupt
from driftline.base.batch import Batch
from driftline.base.learner import Learner
from driftline.base.levels import NO_SPREAD, Spread
from driftline.base.processors import cores
from driftline.fleet.names import Key
from driftline.linear.schedules import SharedSchedules
from driftline.tables.block import RowBlock
from driftline.tables.inputs import Array

ROWS_FOR_A_THREAD = 4096  # with fewer, starting a thread costs more than it saves
STRETCH = 100_000_000  # nanoseconds of work, roughly
ROW = 300  # nanoseconds to load a model, roughly; an operation takes about one


@dataclass(frozen=True, eq=False)
class Call:
    """One method call: its rows and what it wants of them.

    Attributes:
        where: the method, for messages.
        block: the features.
        slots: the slot of each row's key.
        key: returns the key of a slot.
        labels: None if rows are only predicted.
        weight: the weight of each row; None for 1.
        spread: the intervals and quantiles.
        models: the number of models before the call.
        one: whether the call was for a single row, which then has no number in messages.
    """

    where: str
    block: RowBlock
    slots: Array
    key: Callable[[int], Key]
    labels: Any = None
    weight: Array | None = None
    spread: Spread = NO_SPREAD
    models: int = 0
    one: bool = False


@dataclass(eq=False)
class Answer:
    """The results of a call for each of its rows.

    ``alarms`` marks rows, and is None if alarms are not kept. ``watched`` has the errors that the alarms of the keys of a
    pooled fleet watch.
    """

    predictions: Array
    errors: Array | None = None
    lower: Array | None = None
    upper: Array | None = None
    resets: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    alarms: Array | None = None
    skipped: int = 0
    quantiles: Array | None = None
    quantile_levels: Array | None = None
    watched: Array | None = None
    pool_alarms: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))


@contextmanager
def of_key(where: str, key: Callable[[], Key], *, one: bool = True) -> Iterator[None]:
    """Adds the key to the errors of its model, which may count rows."""
    try:
        yield
    except Exception as error:
        count = "" if one else "; it counts the rows of this key alone"
        error.add_note(f"{where}: raised by the model of the key {key()!r}{count}")
        raise


def as_it_is(answer: Answer) -> Answer:
    """The same answer."""
    return answer


def threads_for(rows: int, jobs: int | None) -> int:
    """The number of threads to use for this many rows."""
    worth = rows // ROWS_FOR_A_THREAD
    return 1 if worth < 2 else min(worth, jobs or worth, cores())


class Progress:
    """The progress of rows through a core."""

    def __init__(self, rows: Call, block: Array, jobs: int | None, alarms: bool = False) -> None:
        count = len(block)
        self._rows, self._block = rows, block
        self._marks = np.zeros(count, dtype=np.uint8)
        self._out = rows.spread.outputs(np.empty(count), resets=self._marks)
        self._alarms = np.zeros(count, dtype=np.uint8) if alarms and rows.labels is not None else None
        self._skipped = 0
        # Written by the core itself, for each thread, so that an interrupt cannot separate the work from its count.
        self._at = np.zeros(threads_for(count, jobs), dtype=np.int64)

    @property
    def done(self) -> int:
        """The number of rows done."""
        return int(self._at.min())

    def replay(
        self, core: Any, schedules: SharedSchedules | None, learner: Learner, model: Callable[[Any, int], Learner]
    ) -> None:
        """Processes all rows. ``model`` returns the learner in a slot of the core, for cases that the core cannot decide."""
        rows, count = self._rows, len(self._block)
        step = 1 if count == 1 else max(1, STRETCH // (ROW + learner._operations(core.features + 1)))
        skip, row = learner.missing == "skip", 0
        while row < count:
            until = min(row + step, count)
            status, lost = core.run(
                rows.slots, self._block, rows.labels, rows.weight, skip, self._out, self._alarms, self._at, until
            )
            self._skipped += int(lost)
            row = self.done
            heed_interrupt()
            if status is Status.DONE:
                continue
            slot = int(rows.slots[row])
            stuck = model(core, slot)
            left = int(np.count_nonzero(rows.slots[row:] == slot))
            if schedules is None or not schedules.serve(core, status, stuck._sums(), left):
                where = f"{rows.where}, key {rows.key(slot)!r}"
                stuck._serve(status, Batch(self._block[row:], None, None, where, None if rows.one else row))

    def answer(self) -> Answer:
        """The results that the core wrote."""
        out, errors = self._out, None
        if self._rows.labels is not None:
            with np.errstate(over="ignore"):
                errors = self._rows.labels - out.predictions
        return Answer(
            out.predictions, errors, out.lower, out.upper, np.flatnonzero(self._marks), self._alarms, self._skipped,
            out.quantiles,
        )  # fmt: skip
