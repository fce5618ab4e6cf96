"""A stepper's way through encoded tables: columns, too, know only the rows that have been learned.

A ticket keeps its row by columns, because the row may be encoded differently when its label arrives. Rows are run natively
as long as each is learned as it was predicted; the others are asked and told one by one.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from driftline._core import Outputs
from driftline.base import encoding
from driftline.base import ticket as tickets
from driftline.base.learner import Learner
from driftline.base.levels import Spread
from driftline.base.ticket import ByColumns
from driftline.tables import cells, missing
from driftline.tables.block import RowBlock
from driftline.tables.cells import Row
from driftline.tables.columns import VALUE, Filled
from driftline.tables.encoder import Columns, Late
from driftline.tables.inputs import Array
from driftline.tables.missing import FILLS

if TYPE_CHECKING:
    from driftline.delayed.stepper import Stepper

_FEW = 64  # rows to try at once after one that had to be taken singly
_MOST = 256  # rows to take singly before trying again


class EncodedSteps:
    """Takes the rows of a block.

    Args:
        stepper: predicts and learns them.
        block: the rows, which the learner's columns encode.
        y: their labels.
        out: where predictions go.
        spread: the intervals and quantiles.
        where: the caller's name, for messages; None for the learner's own methods.
        start: the number of the first row, for messages.
    """

    def __init__(
        self, stepper: Stepper, block: RowBlock, y: Array, out: Outputs, spread: Spread, where: str | None,
        start: int | None,
    ) -> None:  # fmt: skip
        self.stepper, self.block, self.y, self.out, self.spread = stepper, block, y, out, spread
        self.where, self.start = where, start
        self.learner: Learner = stepper.learner

    def run(self) -> None:
        """Takes all rows."""
        row, size, singly = 0, _FEW, 1
        if self.block.rows == 1:  # which takes less time singly
            self._singly(0, 1)
            return
        most = encoding.rows_at_once(self.learner, self.block)
        while row < self.block.rows:
            stop = min(row + size, self.block.rows)
            done = self._at_once(row, stop)
            size = min(2 * size, most) if done == stop else _FEW
            singly = 1 if done - row >= _FEW else min(2 * singly, _MOST)
            row = done if done == stop else self._singly(done, min(done + singly, self.block.rows))

    def _singly(self, start: int, stop: int) -> int:
        rows = encoding.each(self.learner, self.block, start, stop)
        self.stepper.singly(rows, self.y, self.out, self.spread, start, stop, self.block.as_given.times)
        return stop

    def _at_once(self, start: int, stop: int) -> int:
        """Takes rows natively, as far as each is learned as it was predicted; returns where it ended."""
        learner, delay, largest = self.learner, self.stepper.delay, self.learner._door.largest
        asked = [ticket.x for ticket, _ in self.stepper.waiting]
        if not hasattr(learner._core, "run_late") or not all(isinstance(x, ByColumns) for x in asked):
            return start
        before, waiting = [x.cells for x in asked], len(asked)
        try:
            columns, gaps = encoding.checked(learner, self.block, start, stop)
        except ValueError:
            return start  # a row is refused
        given = cells.joined(before, columns)
        if given is None or not columns:
            return start
        labels = np.concatenate([[label for _, label in self.stepper.waiting], self.y[start:stop]])
        if not learner._takes(labels):
            return start
        lost = np.concatenate([[is_lost(learner, row) for row in before], gaps]).astype(bool)
        learned = (np.abs(labels) <= largest) & ~lost
        while stop > start:
            count = waiting + stop - start
            told = max(count - delay, 0)
            known, counted = encoding.known(learner, self.block).copy(), np.arange(count) < told
            cut = {name: each.take(slice(0, count)) for name, each in given.items()}
            values = known.enter(cut, self.where or f"{type(learner).__name__}.ask", "column {}", learned[:count] & counted)
            found = known.late(values, waiting, stop - start, delay, learned[:told])
            changed = _first_changed(found, waiting, learned[:told])
            if changed is None:
                self._natively(start, stop, before, known, found, lost[:count])
                return stop
            stop = start + changed + delay - waiting
        return start

    def _natively(self, start: int, stop: int, before: list[Row], columns: Columns, found: Late, lost: Array) -> None:
        stepper, waiting, x = self.stepper, len(before), found.asked
        rows = np.zeros((waiting, x.shape[1]))
        rows[: min(waiting, len(found.told))] = found.told[:waiting]
        places = {name: place for place, (name, key) in enumerate(columns.features) if key == VALUE}
        for row, given in zip(rows, before, strict=True):
            for name, value in given.items():
                if isinstance(value, Filled):
                    row[places[name]] = value.value
        rows[lost[:waiting]], x[lost[waiting:]] = np.nan, np.nan
        old = list(stepper.waiting)
        inner = [tickets.with_row(ticket.x.ticket, row) for (ticket, _), row in zip(old, rows, strict=True)]
        stepper.waiting = deque(zip(inner, [label for _, label in old], strict=True))
        try:
            with self.learner._guard.change(only=True):
                self.learner._mark()
                out = self.out.part(start, stop)
                times = self.block.as_given.times
                part = None if times is None else times.take(slice(start, stop))
                stepper._natively(x, self.y[start:stop], out, self.learner._names, self.where, self.start, start, part)
            self.learner._columns = columns
        except BaseException:
            self.learner._columns = self._columns_after(start, stepper.told, before)
            raise
        finally:
            self._wrap(start, before, columns, x, stepper.told)

    def _wrap(self, start: int, before: list[Row], columns: Columns, x: Array, told: int) -> None:
        """Gives the tickets that wait their rows by columns, with the values that filled these in."""
        stepper, old = self.stepper, before[told:]
        first = max(told - len(before), 0)
        stop = start + first + len(stepper.waiting) - len(old)
        new = zip(encoding.each(self.learner, self.block, start + first, stop), x[first:], strict=False)
        kept = [*old, *(columns.keep_filled(row, dict(zip(columns.names, own.tolist(), strict=True))) for row, own in new)]
        wrapped = [
            (tickets.of_columns(row, ticket), label) for row, (ticket, label) in zip(kept, stepper.waiting, strict=True)
        ]
        stepper.waiting = deque(wrapped)

    def _columns_after(self, start: int, told: int, before: list[Row]) -> Columns | None:
        """The learner's columns after the rows that were learned before one was refused."""
        columns, stop = encoding.known(self.learner, self.block).copy(), start + max(told - len(before), 0)
        rows = [*before, *encoding.each(self.learner, self.block, start, stop)][:told]
        for row in rows:
            columns.row(row, "", grow=True)
        return columns


def is_lost(learner: Learner, row: Row) -> bool:
    """Whether a row that waits will be left out."""
    absent = [name for name, value in row.items() if value is None]
    large = any(abs(value) > learner._door.largest for value in row.values() if isinstance(value, float))
    return large or any(missing.word(learner.missing, name) not in FILLS for name in absent)


def _first_changed(found: Late, waiting: int, learned: Array) -> int | None:
    """The first row that brings a new feature, or is learned otherwise than it was predicted; None if there is none."""
    told = len(found.told)
    changed = (found.asked[: max(told - waiting, 0)] != found.told[waiting:]).any(axis=1) & learned[waiting:]
    rows = [row for row, _ in found.growth[:1]] + ([waiting + int(changed.argmax())] if changed.any() else [])
    return min(rows, default=None)
