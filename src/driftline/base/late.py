"""Runs over tables whose labels come late: a row is learned some rows after it was predicted."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from driftline._core import LateRows, Level, Outputs, Status
from driftline.base.batch import Batch
from driftline.base.ticket import Ticket
from driftline.tables import missing, unseen
from driftline.tables.inputs import Array, Name
from driftline.tables.unseen import Averages

if TYPE_CHECKING:
    from driftline.base.learner import Learner
    from driftline.base.native import NativeCore


@dataclass(frozen=True)
class Waiting:
    """Predicted rows that wait to be learned, in order.

    Attributes:
        tickets: one for each row.
        labels: the rows' labels, as far as they are known.
    """

    tickets: list[Ticket]
    labels: Array

    def __len__(self) -> int:
        return len(self.tickets)


NOTHING = Waiting([], np.empty(0))


def run(
    learner: Learner,
    x: Array,
    y: Array,
    delay: int,
    waiting: Waiting,
    *,
    level: Level | None = None,
    names: list[Name] | None = None,
    where: str,
    start: int | None = 0,
    undo: bool = True,
    averages: Averages | None = None,
) -> tuple[Outputs, Waiting]:
    """Predicts each row when all labels but those of the ``delay`` rows before it are known.

    Args:
        learner: learns all rows.
        x: (rows, features).
        y: the rows' labels; NaN for labels that never come, if the learner skips missing values.
        delay: how many rows late the labels come; 0 means that each row is learned before the next is predicted.
        waiting: earlier rows that still wait for their labels.
        level: coverage of the intervals; None for no intervals.
        names: feature names.
        where: the caller's name, for messages.
        start: the number of the first row, for messages.
        undo: whether the learner is as before after an error; otherwise the caller restores it.
        averages: what stands for categories that the learner does not know; see :class:`driftline.tables.unseen.Row`.

    Returns:
        predictions and ends of the intervals, and the ``delay`` rows that wait now.
    """
    lower, upper = (None, None) if level is None else np.empty((2, len(x)))
    out = Outputs(np.empty(len(x)), lower=lower, upper=upper, level=level)
    if not len(x) and not len(waiting):
        return out, waiting
    guard = learner._guard
    with guard.undo(learner) if undo else guard.change(only=True):
        if (
            learner._core is None and not missing.by_column(learner.missing) and learner._encodes
        ):  # a hashing pipeline reads rows itself
            learner._meet(_first_whole(learner, x, y), names)
        learner._mark()
        one = len(x) == 1 and x.size and np.isfinite(x).all()
        if learner._runs_late_natively and not lacks(learner, names) and not one:
            return out, _natively(learner, x, y, delay, waiting, out, names, where, start)
    before = learner.__getstate__() if undo else None  # one row, too, which takes less time
    try:
        return out, _singly(learner, x, y, delay, waiting, out, names, averages)
    except BaseException:  # each tell succeeds or fails on its own
        if before is not None:
            learner._roll_back(before)
            if not learner.n_seen_:
                learner._forget()
        raise


def lacks(learner: Learner, names: list[Name] | None) -> bool:
    """Whether a learner that knows some of the features does not know all of them."""
    return names is not None and learner._core is not None and learner._core.features < len(names)


def row_for(learner: Learner, row: Array, names: list[Name] | None, averages: Averages | None = None) -> Any:
    """A row as ``learner.ask`` takes it: by names if it may bring new features or has missing values to be filled in."""
    if not len(row):
        return {}
    if names is None or not (missing.by_column(learner.missing) or lacks(learner, names)):
        return row
    width = len(row)
    if learner._core is not None:  # a category that the row lacks stays new to the model
        width = max(learner._core.features, int(np.append(np.flatnonzero(row) + 1, 0).max()))
    return unseen.Row(zip(names[:width], row[:width].tolist(), strict=True), averages or {})


def _first_whole(learner: Learner, x: Array, y: Array) -> Array:
    """The first complete row, from which the core is made."""
    door = learner._door
    whole = door.whole_rows(x) & (np.abs(y) <= door.largest)
    return np.asarray(x[int(whole.argmax())], dtype=np.float64) if whole.any() else np.zeros(x.shape[1])


def _natively(
    learner: Learner,
    x: Array,
    y: Array,
    delay: int,
    waiting: Waiting,
    out: Outputs,
    names: list[Name] | None,
    where: str,
    start: int | None,
) -> Waiting:
    core = cast("NativeCore", learner._core)
    carried = len(waiting)
    if carried:
        x = np.concatenate([[array_of(learner, ticket) for ticket in waiting.tickets], x])
        y = np.concatenate([waiting.labels, y])
    rows, skip = LateRows(waiting.tickets), learner.missing != "raise"
    y = np.ascontiguousarray(y, dtype=np.float64)
    while (status := core.run_late(x, y, None, skip, out, delay, rows)) is not Status.DONE:
        asking = rows.asked < len(x) and rows.told >= rows.asked - delay
        row = rows.asked if asking else rows.told
        number = None if start is None else start + row - carried
        if status is Status.BAD_VALUE:
            learner._door.refuse_row(x[row], None if asking else y[row], where, number, names)
        learner._serve(status, Batch(x[row:], y[row:], None, where, number, names))
    learner._skipped += rows.skipped
    return Waiting(rows.tickets(x, core.mark, Ticket), y[rows.told :].copy())


def array_of(learner: Learner, ticket: Ticket) -> Array:
    """A ticket's row, widened to the features known now."""
    row = ticket.x
    if not isinstance(row, np.ndarray):
        row, _ = learner._door.read(row, "", grow=False)
    return np.concatenate([row, np.zeros(learner.n_features_in_ - len(row))])


def _singly(
    learner: Learner,
    x: Array,
    y: Array,
    delay: int,
    waiting: Waiting,
    out: Outputs,
    names: list[Name] | None,
    averages: Averages | None,
) -> Waiting:
    tickets, labels, told = list(waiting.tickets), [*waiting.labels.tolist(), *y.tolist()], 0
    for t in range(len(x) + 1):
        while told < len(tickets) - delay:
            learner.tell(copy.copy(tickets[told]), labels[told])  # the original stays valid if the caller undoes this
            told += 1
        if t < len(x):
            ticket = learner.ask(row_for(learner, x[t], names, averages), delay)
            out.predictions[t] = ticket.prediction
            if out.lower is not None:
                out.lower[t], out.upper[t] = ticket.ends(out.level)
            tickets.append(ticket)
    return Waiting(tickets[told:], np.array(labels[told:]))


def tell_all(learner: Learner, waiting: Waiting, where: str) -> None:
    """Learns all waiting rows; their labels must be known."""
    if len(waiting):
        run(learner, np.empty((0, learner.n_features_in_)), np.empty(0), 0, waiting, where=where, start=None)


def is_one_label(learner: Learner) -> bool:
    """Whether a learner predicts one number per row."""
    return learner._estimator_type == "regressor" and learner._outputs is None
