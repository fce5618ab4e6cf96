"""Predict, wait, learn: rows in order, each learned when its label has come, as of when it was predicted."""

from __future__ import annotations

import copy
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from itertools import repeat
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from driftline._core import LateRows, Outputs, Status, heed_interrupt
from driftline.base import clock, encoding
from driftline.base.batch import Batch
from driftline.base.learner import Learner
from driftline.base.levels import NO_SPREAD, Spread, arrays_of
from driftline.base.ticket import ByColumns, Ticket
from driftline.delayed.encoded_steps import EncodedSteps, is_lost
from driftline.errors import ModelFileError
from driftline.storage import codec
from driftline.tables import missing
from driftline.tables.block import COLUMNS, RowBlock
from driftline.tables.inputs import Array, Name
from driftline.tables.times import Times

if TYPE_CHECKING:
    from driftline.base.native import NativeCore


class Stepper:
    """Predicts each row, then learns the row whose label has come: ``delay`` rows later, or by id in any order.

    Rows before one that the learner refuses stay learned; the refused one, and those after it that were predicted, wait.

    Args:
        learner: a learner, or an object with the methods ``ask`` and ``tell`` of one.
        delay: how many rows late labels come; 0 means that each row is learned before the next is predicted.

    Attributes:
        waiting: the rows that wait for their labels, in order: each one's ticket, and the label that it will be told.
        by_id: the tickets of rows that wait under an id, in the order in which they were asked.
        at: the row that was asked or told last, counted from the first row of the call; negative for one of an earlier call.
        told: how many rows the last native call learned or skipped.
    """

    def __init__(
        self,
        learner: Any,
        delay: int = 0,
        waiting: Iterable[tuple[Any, Any]] = (),
        by_id: dict[Any, Any] | None = None,
    ) -> None:
        self.learner, self.delay = learner, delay
        self.waiting: deque[tuple[Any, Any]] = deque(waiting)
        # a plain dict would scan the removed rows to find the oldest
        self.by_id: dict[Any, Any] = OrderedDict() if by_id is None else by_id
        self.at = self.told = 0

    def rows(
        self,
        rows: Iterable[Any],
        labels: Iterable[Any],
        spread: Spread = NO_SPREAD,
        first: int = 0,
        times: Times | None = None,
    ) -> tuple[list[Any], list[list[float]]]:
        """Takes rows one by one; returns the predictions, and the ends of intervals and quantiles as far as they are wanted.

        Args:
            rows: rows of any kind.
            labels: their labels.
            spread: the intervals and quantiles.
            first: the number of the first row in this call, for ``at``.
            times: their times, if they have any.
        """
        predictions: list[Any] = []
        spreads: list[list[float]] = []
        moments = repeat(None) if times is None else times.each()
        for self.at, ((x, label), moment) in enumerate(zip(zip(rows, labels, strict=True), moments, strict=False), first):
            ticket = self.row(x, label, moment)
            predictions.append(ticket.prediction)
            spreads.append(spread.of_ticket(ticket))
            heed_interrupt()
        return predictions, spreads

    def row(self, x: Any, label: Any, at: Any = None) -> Any:
        """Predicts a row, then learns the row whose label has come; returns the ticket of the first."""
        ticket = self.learner.ask(x, self.delay) if at is None else self.learner.ask(x, self.delay, at=at)
        self.waiting.append((ticket, label))
        if len(self.waiting) > self.delay:
            self.at -= self.delay
            self._tell_oldest()
        return ticket

    def _tell_oldest(self) -> None:
        ticket, label = self.waiting[0]
        self.learner.tell(copy.copy(ticket), label)  # the original stays valid if the caller undoes this
        self.waiting.popleft()

    # Labels by id.

    def ask(self, row_id: Any, x: Any, spread: Spread = NO_SPREAD, at: Any = None) -> Any:
        """Predicts a row, which waits under an id; returns its ticket. Raises ValueError if it cannot have the spread."""
        ticket = self.learner.ask(x) if at is None else self.learner.ask(x, at=at)
        spread.of_ticket(ticket)
        self.by_id[row_id] = ticket
        return ticket

    def tell(self, row_id: Any, label: Any, x: Any = None, sample_weight: float | None = None) -> Any:
        """Learns the label of the row that waits under an id, or of ``x`` if none does; returns the row's ticket."""
        ticket = self.by_id.get(row_id)
        if ticket is None:
            ticket = self.learner.ask(x, 0)
        self.learner.tell(ticket, label, sample_weight=sample_weight)
        self.by_id.pop(row_id, None)
        return ticket

    # Tables.

    def table(
        self,
        x: Any,
        y: Array,
        where: str | None = None,
        *,
        spread: Spread = NO_SPREAD,
        start: int | None = 0,
    ) -> Outputs:
        """Takes the rows of a table: natively if the learner can, otherwise one by one.

        Args:
            x: (rows, features) numbers, or a block of rows of any kind.
            y: the rows' labels; NaN for labels that never come, if the learner skips missing values.
            where: the caller's name, for messages; None for the learner's own methods.
            spread: the intervals and quantiles.
            start: the number of the first row, for messages.
        """
        encodes, count = isinstance(x, RowBlock) and self.learner._traits.encodes, len(x)
        rows = self.learner._as_block(x, where or "Stepper") if encodes else x
        out, new = spread.outputs(np.empty(count)), self.learner._core is None
        try:
            if isinstance(rows, RowBlock) and rows.encoded:
                EncodedSteps(self, rows, y, out, spread, where, start).run()
            elif isinstance(x, RowBlock) and not encodes:
                self.singly(_by_name(self.learner, x, 0, count), y, out, spread, 0, count, x.times)
            else:
                self._numbers(x, rows, y, out, spread, where, start)
        except BaseException:
            if new and not self.learner.n_seen_:
                self.learner._forget()  # its next row may have other features
            raise
        return out

    def finish(self, where: str | None = None) -> None:
        """Learns all rows that wait; their labels must be known."""
        learner, self.delay = self.learner, 0
        if self.waiting and self._is_native() and learner._takes(self._labels()):
            with learner._guard.change(only=True):
                learner._mark()
                rows = np.empty((0, learner.n_features_in_))
                self._natively(rows, np.empty(0), Outputs(np.empty(0)), None, where, None, 0)
        while self.waiting:
            self._tell_oldest()

    def _numbers(
        self, x: Any, block: Any, y: Array, out: Outputs, spread: Spread, where: str | None, start: int | None
    ) -> None:
        """Takes rows of numbers, natively as soon as the learner can."""
        named = isinstance(block, RowBlock)
        numbers = np.concatenate([np.asarray(piece, dtype=np.float64) for _, piece in block.blocks()]) if named else block
        names: list[Name] | None = block.names if named else None if block.shape[1] else []
        done, count, times = 0, len(numbers), block.times if named else None
        while done < count:
            rest = out.part(done, count)
            if self._take_natively(numbers[done:], y[done:], rest, names, where, start, done, _from(times, done)):
                return
            stop = done + 1 if self._is_native(later=True) else count
            rows: Iterable[Any] = (row if len(row) else {} for row in numbers[done:stop])
            by_name = named and self.learner._core is None
            if by_name:
                rows = _by_name(self.learner, x, done, stop)
            self.singly(rows, y, out, spread, done, stop, times)
            done = stop
            if by_name and done < count and self.learner._core is not None:  # it may lack features that these rows have
                self._rest(x, y, out, spread, where, start, done)
                return

    def _rest(
        self, x: RowBlock, y: Array, out: Outputs, spread: Spread, where: str | None, start: int | None, done: int
    ) -> None:
        """Takes the rows from ``done`` on as another table."""
        try:
            rest = self.table(x[done:], y[done:], where, spread=spread, start=None if start is None else start + done)
        finally:
            self.at += done
        for whole, part in zip(arrays_of(out), arrays_of(rest), strict=True):
            whole[done:] = part

    def singly(
        self,
        rows: Iterable[Any],
        y: Array,
        out: Outputs,
        spread: Spread,
        start: int,
        stop: int,
        times: Times | None = None,
    ) -> None:
        """Takes some rows of a table one by one."""
        own = None if times is None else times.take(slice(start, stop))
        out.predictions[start:stop], spreads = self.rows(rows, y[start:stop].tolist(), spread, start, own)
        spread.write(out, slice(start, stop), spreads)

    def _take_natively(
        self,
        x: Array,
        y: Array,
        out: Outputs,
        names: list[Name] | None,
        where: str | None,
        start: int | None,
        first: int,
        times: Times | None = None,
    ) -> bool:
        """Takes the rows in native code; false if the learner cannot, or if there is only one, which takes less time."""
        learner: Learner = self.learner
        with learner._guard.change(only=True):
            if (
                learner._core is None and not missing.by_column(learner.missing) and learner._traits.encodes
            ):  # others read rows
                if self.waiting or len(x) <= self.delay:
                    return False  # the first row that is learned makes the model, and it may be one that waits
                learner._meet(_first_whole(learner, x, y), names)
            learner._mark()
            one = len(x) == 1 and x.size and np.isfinite(x).all()
            if one or not self._is_native() or not learner._takes(self._labels(y)):
                return False
            self._natively(x, y, out, names, where, start, first, times)
        return True

    def _labels(self, y: Array | tuple[()] = ()) -> Array:
        """The labels of the rows that wait, then others."""
        return np.append([label for _, label in self.waiting], y).astype(np.float64)

    def _is_native(self, later: bool = False) -> bool:
        """Whether the learner takes tables natively, and the rows that wait can go with them, or could later."""
        learner = self.learner
        if not isinstance(learner, Learner) or learner._core is None:
            return later and isinstance(learner, Learner) and learner._traits.encodes
        fits = all(_fits(learner, ticket.x) for ticket, _ in self.waiting)
        return learner._runs_late_natively and fits is not later

    def _natively(
        self,
        x: Array,
        y: Array,
        out: Outputs,
        names: list[Name] | None,
        where: str | None,
        start: int | None,
        first: int,
        times: Times | None = None,
    ) -> None:
        learner: Learner = self.learner
        core, carried = cast("NativeCore", learner._core), len(self.waiting)
        tickets = [ticket for ticket, _ in self.waiting]
        y = np.ascontiguousarray(y, dtype=np.float64)
        if carried:
            x = np.concatenate([[array_of(learner, ticket) for ticket in tickets], x])
            y = np.concatenate([[label for _, label in self.waiting], y])
        at = self._clocked(tickets, times, where, start, first)
        rows, skip = getattr(core, "late_rows", LateRows)(tickets), learner.missing != "raise"
        try:
            while (status := core.run_late(x, y, None, skip, out, self.delay, rows, at)) is not Status.DONE:
                asking = rows.asked < len(x) and rows.told >= rows.asked - self.delay
                row = rows.asked if asking else rows.told
                self.at = first + row - carried
                number = None if start is None else start + self.at
                name = where or f"{type(learner).__name__}.{'ask' if asking else 'tell'}"
                if status is Status.BAD_VALUE:
                    learner._door.refuse_row(x[row], None if asking else y[row], name, number, names)
                learner._serve(status, Batch(x[row:], y[row:], None, name, number, names))
        finally:
            learner._skipped += rows.skipped
            self.told = rows.told
            if at is not None and rows.told:
                clock.reached(learner, None if times is None else times.kind, float(at[: rows.told].max()))
            labels = y[rows.told : rows.asked].tolist()
            self.waiting = deque(zip(rows.tickets(x, core.mark, Ticket), labels, strict=True))

    def _clocked(
        self, tickets: list[Any], times: Times | None, where: str | None, start: int | None, first: int
    ) -> Array | None:
        """The times of the rows that wait and of new ones, whose order is checked; None if they have none."""
        learner: Learner = self.learner
        name = where or f"{type(learner).__name__}.ask"
        if times is None:
            at = np.array([ticket.at for ticket in tickets])
            if learner._clock is None and not (at == at).any():
                if len(tickets) == 0:
                    clock.require_time(learner, name)
                return None
            return at if len(at) else None
        clock.advanced(learner, times, name, None if start is None else start + first)
        return np.concatenate([[ticket.at for ticket in tickets], times.at])

    # The rows that wait, as arrays.

    def state(self) -> dict[str, Array]:
        """The rows that wait for their labels."""
        return codec.pack(list(self.waiting))

    def restore(self, state: dict[str, Array]) -> None:
        """Restores the rows that waited; raises ModelFileError if they are invalid."""
        self.waiting = deque(waiting_of(codec.unpack(state)))


def _from(times: Times | None, start: int) -> Times | None:
    return None if times is None else times.take(slice(start, None))


def _by_name(learner: Learner, block: RowBlock, start: int, stop: int) -> Iterable[Any]:
    """The rows of a block one by one, by name if they have any."""
    if block.kind == COLUMNS:
        return encoding.each_row(learner, block, start, stop)
    rows = block.block(start, stop)
    return rows if block.names is None else (dict(zip(block.names, row, strict=True)) for row in rows.tolist())


def _fits(learner: Learner, x: Any) -> bool:
    """Whether a row that waits is numbers for features that the learner knows."""
    if isinstance(x, Mapping):
        return learner._names is not None and x.keys() <= set(learner._names)
    return isinstance(x, np.ndarray) and len(x) <= learner.n_features_in_


def waiting_of(pairs: Any) -> list[tuple[Ticket, Any]]:
    """The rows that wait, of a file; raises ModelFileError unless they are tickets with labels."""
    if not all(len(pair) == 2 and isinstance(pair[0], Ticket) for pair in pairs):
        raise ModelFileError("the tickets do not agree with their labels")
    return [(ticket, label) for ticket, label in pairs]


def is_whole(learner: Learner, ticket: Ticket) -> bool:
    """Whether a row that waits lacks no value."""
    if isinstance(ticket.x, ByColumns):
        return not is_lost(learner, ticket.x.cells)
    row = np.array(list(ticket.x.values())) if isinstance(ticket.x, Mapping) else ticket.x
    return learner._door.is_whole(row)


def whole_rows(learner: Learner, rows: Any) -> Array:
    """Which rows lack no value."""
    block = learner._as_block(rows, "") if isinstance(rows, RowBlock) else None
    if block is not None and block.encoded:
        return encoding.whole_rows(learner, block)
    return learner._door.whole_rows(np.asarray(rows))


def array_of(learner: Learner, ticket: Ticket) -> Array:
    """A ticket's row, widened to the features known now."""
    row = ticket.x
    if not isinstance(row, np.ndarray):
        row, _ = learner._door.read(row, "", grow=False)
    return np.concatenate([row, np.zeros(learner.n_features_in_ - len(row))])


def _first_whole(learner: Learner, x: Array, y: Array) -> Array:
    """The first complete row, from which the core is made."""
    door = learner._door
    whole = door.whole_rows(x) & (np.abs(y) <= door.largest)
    return np.asarray(x[int(whole.argmax())], dtype=np.float64) if whole.any() else np.zeros(x.shape[1])
