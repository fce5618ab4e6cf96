"""The slow path for single rows: converts rows that a core cannot read in place, and grows the model for new features."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from driftline._core import Outputs, Status
from driftline.base import clock, encoding, reading, replay, stability
from driftline.base import ticket as tickets
from driftline.base.batch import Batch, numbered
from driftline.base.encoding import Entered
from driftline.base.ticket import Ticket
from driftline.tables import cells, inputs, missing
from driftline.tables.encoder import Columns
from driftline.tables.inputs import Array, Name

if TYPE_CHECKING:
    from driftline.base.learner import Learner


def predict(learner: Learner, x: Any, where: str, out: Outputs) -> None:
    """Predicts a row of any type. An unfitted learner predicts with the core that this row would create."""
    _predict(learner, encoding.enter(learner, x, where, grow=False).x, where, out)


def _predict(learner: Learner, x: Any, where: str, out: Outputs) -> None:
    """Like predict, for a row of numbers."""
    row, _ = reading.read(learner, x, where, grow=False)
    if not learner._leaves_out and isinstance(row, np.ndarray):
        learner._door.refuse_bad(row, where)
    if learner._core is None and isinstance(row, np.ndarray) and not row.size and not learner.intercept:
        replay.write_start(out, learner._limits)
        return
    with _with_core(learner, row, None) as predicting:
        predicting._replay_block(Batch(row[None, :] if isinstance(row, np.ndarray) else row, None, None, where), out)


@contextmanager
def _with_core(learner: Learner, row: Any, names: list[Name] | None) -> Iterator[Learner]:
    """The learner or, if it has no core yet, a copy with the one that a row would create."""
    if learner._core is not None:
        yield learner
        return
    with learner._guard.closure():  # functions of the user's that the copy calls cannot call the model
        copied = learner.clone()
        copied._at = learner._at
        copied._outputs, copied._known_mark = learner._outputs, (copied._values, tickets.mark_of(learner))
        copied._meet(np.where(np.isfinite(row), row, 0.0) if isinstance(row, np.ndarray) else row, names)
        yield copied


def ask(learner: Learner, x: Any, delay: int | None) -> Ticket:
    """Makes a ticket for a row of any type. An unfitted learner uses the core that this row would create."""
    known = encoding.known_row(learner, x, learned=True)
    if known is not None:  # it brings nothing new
        learner._mark()
        core: Any = learner._core
        ticket = core.ask(np.array(known), delay, Ticket)
        if ticket is not None:
            return tickets.of_columns(encoding.known_cells(learner, x, known), ticket)
    where = f"{type(learner).__name__}.ask"
    entered = encoding.enter(learner, x, where, grow=True)
    row, names = reading.read(learner, entered.x, where, grow=True)
    if not learner._leaves_out and isinstance(row, np.ndarray):
        learner._door.refuse_bad(row, where, names)
    ticket = _ask(learner, x, entered, row, names, delay, where)
    return ticket if entered.cells is None else tickets.of_columns(entered.cells, ticket)


def _ask(
    learner: Learner, x: Any, entered: Entered, row: Any, names: list[Name] | None, delay: int | None, where: str
) -> Ticket:
    """Makes a ticket for a row that has been read. It predicts what :func:`predict` does, and keeps the row to learn."""
    kept = reading.kept(learner, entered.x, row, names)
    dense, question = isinstance(row, np.ndarray), kept
    if learner._core is None:
        if dense and not row.size and not learner.intercept:  # nothing to predict from yet: a stand-in
            row, names, question = np.zeros(1), None, np.zeros(1)
    elif isinstance(kept, Mapping) and not reading.fits(learner, row):
        question = _question(learner, x, entered, where)
    with _with_core(learner, row, names) as asked:
        return _ticket(asked, question, kept, entered.x if question is kept else question, delay, where)


def _ticket(learner: Learner, question: Any, kept: Any, x: Any, delay: int | None, where: str) -> Ticket:
    """The ticket of a question to a learner that has a core, with the row that is kept to be learned."""
    learner._mark()
    core: Any = learner._core
    ticket: Ticket | None = core.ask(question, delay, Ticket)
    if ticket is None:
        _predict(learner, x, where, Outputs(replay.room(learner, 1)))
        ticket = core.ask(question, delay, Ticket)  # now that the core has what it needs
    if ticket is None:
        return Ticket(kept, core.mark)  # a row with a missing value
    return ticket if question is kept else keep(learner, ticket, kept)


def _question(learner: Learner, x: Any, entered: Entered, where: str) -> dict[Name, float]:
    """The row from which a row with new features is predicted: with averages in place of categories that are new."""
    return inputs.as_items(x if entered.cells is None else encoding.enter(learner, x, where, grow=False).x, where)


def keep(learner: Learner, ticket: Ticket, x: Any) -> Ticket:
    """The ticket with another row to learn than the one that was predicted."""
    core: Any = learner._core
    return tickets.with_row(ticket, x, core.kept_parts(ticket, x) if ticket.parts else None)


def renewed(learner: Learner, ticket: Ticket, x: Any) -> Ticket:
    """A copy of a ticket whose row is encoded as ``x`` now that its label has come."""
    core: Any = learner._core
    return tickets.with_row(ticket, x, core.parts_to_tell(ticket, x) if ticket.parts and core is not None else None)


def tell(learner: Learner, ticket: Any, y: Any, sample_weight: float | None) -> None:
    """Learns the label of a ticket, completely or not at all."""
    where = f"{type(learner).__name__}.tell"
    with learner._guard.change(), clock.row_at(learner, getattr(ticket, "at", math.nan)):
        if learner._columns is None or not _tell_known(learner, ticket, y, sample_weight):
            _tell_any(learner, ticket, y, sample_weight, where)
        ticket.told = True
        if learner._clock is None:
            clock.told(learner, ticket)


def _tell_any(learner: Learner, ticket: Any, y: Any, sample_weight: float | None, where: str) -> None:
    tickets.check_ticket(learner, ticket, where)
    clock.require_time(learner, where)
    learner._mark()
    inner, updated = ticket, None
    if isinstance(ticket.x, tickets.ByColumns):
        x, updated, _ = encoding.enter(learner, ticket.x.cells, where, grow=True)
        inner = renewed(learner, ticket.x.ticket, x)
    elif learner._columns is not None and isinstance(
        ticket.x, Mapping
    ):  # text has come since, and the columns must be known
        x, updated, _ = encoding.enter(learner, cells.of_mapping(ticket.x, where), where, grow=True)
        inner = renewed(learner, ticket, x)
    checked = _checked_row(learner, _widened(learner, inner.x), y, sample_weight, where)
    if checked is None:
        return
    batch, skipped = checked
    if skipped:
        _pass_over(learner, batch)
        return
    core = learner._core
    known = core is not None and (updated is None or reading.fits(learner, batch.row))
    if core is not None and known and _step(learner, batch, partial(core.tell, inner)):
        learner._columns = learner._columns if updated is None else updated
        return
    with learner._guard.undo(learner) as undo:
        _learn_and_grow(learner, batch, updated, undo.before, copy.copy(inner))  # parts may be told before one refuses
        stability.warn_of_memory(learner)


def _widened(learner: Learner, x: Any) -> Any:
    """The row of a ticket as an array, with 0 for features added since."""
    if learner._core is None or learner._names is None or not isinstance(x, np.ndarray):
        return x
    if not learner._core.features:
        return {}
    return np.append(x, np.zeros(max(learner._core.features - len(x), 0)))


def tell_part(learner: Learner, ticket: Ticket, y: float, weight: float | None, where: str) -> None:
    """Like tell, for a learner nested in another, within the undo of the outer one."""
    checked = _checked_row(learner, _widened(learner, ticket.x), y, weight, where)
    if checked is not None:
        batch, skipped = checked
        assert learner._core is not None
        if skipped:
            _keep_place(learner, batch)
        elif not _step(learner, batch, partial(learner._core.tell, ticket)):
            _tell_by_replay(learner, ticket, batch)
    ticket.told = True


def _checked_row(
    learner: Learner, x: Any, y: Any, sample_weight: float | None, where: str, number: int | None = None
) -> tuple[Batch, bool] | None:
    """Reads a row and its label; returns them, and whether they are skipped because a value is missing.

    None if there is nothing to learn, because the weight is 0.
    """
    label = replay.as_label(learner, y, where)
    weight = None if sample_weight is None else inputs.as_weights(sample_weight, 1, where, number=False)
    row, names = reading.read(learner, x, where, grow=True)
    dense, largest = isinstance(row, np.ndarray), learner._largest
    labels = np.array([label])
    learner._check_labels(labels.reshape(1, -1), where, number)
    batch = Batch(row[None, :] if dense else row, labels, weight, where, number, names)
    whole = not dense or bool((np.abs(row) <= largest).all())
    if not whole or not (np.abs(labels) <= largest).all():
        if learner.missing == "skip" or (missing.by_column(learner.missing) and _is_left_out(learner, whole, label)):
            return batch, True
        if dense:
            learner._door.refuse_bad(row, where, names)
        learner._door.refuse_bad_label(label, where, numbered(number, " in "))
    if weight is not None and weight[0] == 0:
        return None
    return batch, False


def _is_left_out(learner: Learner, whole: bool, label: Any) -> bool:
    """Whether a row whose bad values have been refused is left out: a value is missing, or the label."""
    return not whole or (bool(np.isnan(label).any()) and missing.skips_labels(learner.missing))


def _pass_over(learner: Learner, batch: Batch) -> None:
    """Skips a row, completely or not at all. It keeps its place if later rows look back on it."""
    if learner._core is None or not learner._traits.looks_back:
        learner._skipped += 1
        return
    with learner._guard.undo(learner):
        _keep_place(learner, batch)


def _keep_place(learner: Learner, batch: Batch) -> None:
    """Skips a row, within an outer undo."""
    if learner._core is not None and learner._traits.looks_back:
        known = batch.x[:, : learner.n_features_in_] if isinstance(batch.x, np.ndarray) else batch.x
        learner._replay_block(Batch(known, batch.y, None, batch.where), Outputs(replay.room(learner, 1)))
    learner._skipped += 1


def learn(learner: Learner, x: Any, y: Any, sample_weight: float | None, status: Status) -> None:
    """Learns a row of any type, completely or not at all. ``status`` is the core's response to it."""
    with learner._guard.change():
        if learner._columns is not None and status is Status.UNREAD and _learn_known(learner, x, y, sample_weight):
            return
        where = f"{type(learner).__name__}.learn_one"
        clock.require_time(learner, where)
        entered = encoding.enter(learner, x, where, grow=True)
        checked = _checked_row(learner, entered.x, y, sample_weight, where)
        if checked is None:
            return
        batch, skipped = checked
        if skipped:
            _pass_over(learner, batch)
            return
        core, updated = learner._core, entered.columns
        known = core is not None and reading.fits(learner, batch.row)
        if core is not None and known and _step(learner, batch, partial(core.learn, batch.row), status):
            learner._columns = learner._columns if updated is None else updated
            return
        with learner._guard.undo(learner) as undo:
            ticket = None if core is None else _asked_first(learner, x, entered, batch)
            _learn_and_grow(learner, batch, updated, undo.before, ticket)
            stability.warn_of_memory(learner)


def _learn_known(learner: Learner, x: Any, y: Any, sample_weight: float | None) -> bool:
    """Learns a row that brings nothing new to the columns. Returns False, with nothing changed, for any other row."""
    row = encoding.known_row(learner, x, learned=True)
    if row is None:
        return False
    core = cast("Any", learner._core)
    learn_columns = _own_columns(learner).plan(learner._largest).learning(row)
    if core.learn(row, y, sample_weight) is not Status.DONE:
        return False
    learn_columns()
    return True


def _own_columns(learner: Learner) -> Columns:
    """The learner's columns, for learning in place."""
    columns: Any = learner._columns
    if columns.shared:
        learner._columns = columns = columns.copy()
    return columns  # type: ignore[no-any-return]


def _tell_known(learner: Learner, ticket: Any, y: Any, sample_weight: float | None) -> bool:
    """Learns a ticket's row that brings nothing new to the columns. Returns False, with nothing changed, for any other."""
    core: Any = learner._core
    x = ticket.x if isinstance(ticket, Ticket) and not ticket.told else None
    if core is None or not isinstance(x, tickets.ByColumns):
        return False
    plan = _own_columns(learner).plan(learner._largest)
    row = plan.of_mapping(x.cells.items(), True)
    if row is None:
        return False
    learn_columns = plan.learning(row)
    if core.tell(renewed(learner, x.ticket, np.array(row)), y, sample_weight) is not Status.DONE:
        return False
    learn_columns()
    return True


def learn_within(learner: Learner, x: Any, y: Any, weight: float | None, where: str, number: int, resets: Array) -> None:
    """Like learn, within an undo, for row ``number`` of a table. Records a reset in ``resets``."""
    entered = encoding.enter(learner, x, where, grow=True)
    checked = _checked_row(learner, entered.x, y, weight, where, number)
    if checked is None:
        return
    batch, skipped = checked
    if skipped:
        _keep_place(learner, batch)
    else:
        ticket = _asked_first(learner, x, entered, batch)
        _learn_and_grow(learner, batch, entered.columns, learner.__getstate__(), ticket, resets)


def learn_wider(learner: Learner, question: Array, names: list[Name], batch: Batch, out: Outputs, resets: Array) -> None:
    """Predicts and learns an encoded row that has new features, within an undo.

    Args:
        learner: the learner.
        question: the row as the model knows it.
        names: the names of all features.
        batch: the row and its label.
        out: where the prediction goes.
        resets: records a reset.
    """
    row = batch.x[0]
    asked = dict(zip(names, question.tolist(), strict=False))
    _predict(learner, asked, batch.where, out)
    ticket = _ticket(learner, asked, dict(zip(names, row.tolist(), strict=True)), asked, 0, batch.where)
    _learn_and_grow(learner, replace(batch, names=names), None, learner.__getstate__(), ticket, resets)


def _asked_first(learner: Learner, x: Any, entered: Entered, batch: Batch) -> Ticket | None:
    """The ticket of a row with new features: its prediction comes before the model grows. None if there are none."""
    if learner._core is None or not isinstance(entered.x, Mapping) or reading.fits(learner, batch.row):
        return None
    return _ask(learner, x, entered, batch.row, batch.names, 0, batch.where)


def _learn_and_grow(
    learner: Learner,
    batch: Batch,
    updated: Columns | None,
    before: dict[str, Any],
    ticket: Ticket | None,
    resets: Array | None = None,
) -> None:
    """Learns a row, with its ticket if it has one, growing the model first if needed; a skipped row changes nothing else."""
    learner._set_outputs(batch.y)
    learner._meet(batch.row, batch.names)
    if ticket is None:
        out = Outputs(replay.room(learner, 1), resets=resets if resets is not None and learner._traits.can_reset else None)
        skipped = learner._replay_block(batch, out)
    else:
        learner._mark()
        assert learner._core is not None
        known = learner._sums().get("resets", 0)
        done = _step(learner, batch, partial(learner._core.tell, ticket))
        skipped = 0 if done else _tell_by_replay(learner, ticket, batch)
        if resets is not None and learner._traits.can_reset:
            resets[0] = learner._sums().get("resets", 0) > known
    if skipped:
        learner.__setstate__(before)
        learner._skipped += skipped
    elif updated is not None:
        learner._columns = updated


def _tell_by_replay(learner: Learner, ticket: Ticket, batch: Batch) -> int:
    """Learns a ticket's row by a replay, and scores the ticket's prediction; returns how many rows were skipped."""
    core: Any = learner._core
    if hasattr(core, "tell_block"):
        return int(core.tell_block(ticket, batch))
    assert batch.y is not None
    core.catch_up()
    lost = learner._replay_block(batch, Outputs(replay.room(learner, 1)))
    if not lost:
        core.judge(ticket, float(batch.y[0]))
    return lost


def _step(
    learner: Learner, batch: Batch, take: Callable[[Any, float | None], Status], status: Status = Status.UNREAD
) -> bool:
    """Passes the label and the weight of a row to the core's step. Returns False if the row needs a replay."""
    assert batch.y is not None
    weight = None if batch.weight is None else float(batch.weight[0])
    if status is not Status.UNREAD:
        learner._serve(status, batch)
    while (status := take(batch.y[0], weight)) is not Status.DONE:
        if status is Status.UNREAD:
            return False
        learner._serve(status, batch)
    return True
