"""One row that a core cannot read in place: it is converted, and the model grows by new features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from driftline._core import Outputs, SparseRows, Status
from driftline.base import replay, stability
from driftline.base.batch import Batch
from driftline.tables import inputs

if TYPE_CHECKING:
    from driftline.base.learner import Learner


def predict(learner: Learner, x: Any, where: str, out: Outputs) -> None:
    """Predicts a row of any kind. A learner that has met no row predicts by the core that this row would give it."""
    row, _ = learner._read(x, where, grow=False)
    if learner.missing == "raise" and isinstance(row, np.ndarray):
        learner._door.refuse_bad(row, where)
    if learner._core is None:
        if isinstance(row, np.ndarray) and not row.size and not learner.intercept:
            replay.write_start(out)
            return
        learner = type(learner)(**learner.get_params(deep=False))
        learner._meet(np.where(np.isfinite(row), row, 0.0) if isinstance(row, np.ndarray) else row, None)
    learner._replay_block(Batch(_block(row), None, None, where), out)


def learn(learner: Learner, x: Any, y: Any, sample_weight: float | None, status: Status) -> None:
    """Learns a row of any kind, given what the core said of it; all of it or nothing."""
    where, door = f"{type(learner).__name__}.learn_one", learner._door
    label = replay.as_label(learner, y, where)
    weight = inputs.as_weights(sample_weight, 1, where, number=False)
    row, names = learner._read(x, where, grow=True)
    dense = isinstance(row, np.ndarray)
    if not door.is_whole(label) or (dense and not door.is_whole(row)):
        if learner.missing == "skip":
            learner._skipped += 1
            return
        if dense:
            door.refuse_bad(row, where, names)
        door.refuse_bad_label(label, where)
    if weight is not None and weight[0] == 0:
        return
    batch = Batch(_block(row), np.array([label]), weight, where)
    if learner._fits(row) and _step(learner, batch, status):
        return
    with learner._guard.transaction(learner) as transaction:
        learner._expect(batch.y)
        learner._meet(row, names)
        lost = learner._replay_block(batch, Outputs(replay.room(learner, 1)))
        if lost:  # skipped for what became of it on the way
            learner.__setstate__(transaction.before)
            learner._skipped += lost
        stability.warn_of_memory(learner)


def _step(learner: Learner, batch: Batch, status: Status) -> bool:
    """Learns the one row of a batch in one step; False where it takes a replay."""
    core, y = learner._core, batch.y
    assert core is not None
    assert y is not None
    row = batch.x if isinstance(batch.x, SparseRows) else batch.x[0]
    weight = None if batch.weight is None else float(batch.weight[0])
    if status is not Status.UNREAD:
        learner._serve(status, batch)
    while (status := core.learn(row, y[0], weight)) is not Status.DONE:
        if status is Status.UNREAD:
            return False
        learner._serve(status, batch)
    return True


def _block(row: Any) -> Any:
    """A row as a block of one."""
    return row[None, :] if isinstance(row, np.ndarray) else row
