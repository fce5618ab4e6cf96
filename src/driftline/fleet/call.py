"""Rows with keys through a fleet's core, in stretches between which an interrupt is heeded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftline._core import Status
from driftline.base.batch import Batch
from driftline.base.learner import Learner
from driftline.base.processors import cores
from driftline.fleet.names import Key
from driftline.linear.schedules import SharedSchedules
from driftline.tables.inputs import Array

ROWS_FOR_A_THREAD = 4096  # with fewer, starting a thread costs more than it saves
STRETCH = 100_000_000  # nanoseconds of work, about
ROW = 300  # nanoseconds to get hold of a model, about; an operation takes about one


@dataclass(eq=False)
class Call:
    """What one call of a verb brings, and how far it got. Without labels it only predicts; ``one`` row has no number."""

    where: str
    slots: Array
    block: Array
    labels: Array | None = None
    weight: Array | None = None
    jobs: int | None = None
    one: bool = False

    def __post_init__(self) -> None:
        rows = len(self.block)
        self.predictions = np.empty(rows)
        self.marks = np.zeros(rows, dtype=np.uint8)
        self.skipped = 0
        worth = rows // ROWS_FOR_A_THREAD
        threads = 1 if worth < 2 else min(worth, self.jobs or worth, cores())
        # The core itself writes here, for each thread, so that no interrupt can come between what is done and what is said.
        self._at = np.zeros(threads, dtype=np.int64)

    @property
    def done(self) -> int:
        """How many rows are done."""
        return int(self._at.min())

    def replay(
        self,
        core: Any,
        schedules: SharedSchedules | None,
        learner: Learner,
        model: Callable[[Any, int], Learner],
        key: Callable[[int], Key],
    ) -> None:
        """All rows. ``model`` gives the learner in a slot of the core, ``key`` its key, for what the core cannot decide."""
        rows = len(self.block)
        step = 1 if rows == 1 else max(1, STRETCH // (ROW + learner._operations(core.features + 1)))
        skip = learner.missing == "skip"
        while self.done < rows:
            until = min(self.done + step, rows)
            status, lost = core.run(
                self.slots, self.block, self.labels, self.weight, skip, self.predictions, self.marks, self._at, until
            )
            self.skipped += int(lost)
            if status is Status.DONE:
                continue
            row = self.done
            slot = int(self.slots[row])
            stuck = model(core, slot)
            ahead = int(np.count_nonzero(self.slots[row:] == slot))
            if schedules is None or not schedules.serve(core, status, stuck._sums(), ahead):
                where = f"{self.where}, key {key(slot)!r}"
                stuck._serve(status, Batch(self.block[row:], None, None, where, None if self.one else row))
