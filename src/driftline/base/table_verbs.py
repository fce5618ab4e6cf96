"""Runs a table of rows through a learner: checks it, encodes text and times, and replays it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from driftline.base import levels, replay, stability
from driftline.base.encoded_run import EncodedRun
from driftline.base.encoding import EncodedTable
from driftline.base.run import Run
from driftline.tables import inputs
from driftline.tables.inputs import Table

if TYPE_CHECKING:
    from driftline._core import Outputs
    from driftline.base.learner import Learner


def learn(
    learner: Learner,
    X: Any,
    y: Any,
    sample_weight: Any,
    where: str,
    weights_every: int | None = None,
    level: float | None = None,
) -> Run:
    """Predicts and learns every row, within the caller's undo."""
    table = learner._as_table(X, where)
    labels = replay.as_labels(learner, y, table.rows, where)
    weight = inputs.as_weights(sample_weight, table.rows, where)
    options = replay.run_options(labels, weights_every, level, where)
    learner._check_table(table, where)
    fresh = learner._core is None
    learner._expect(labels)
    if isinstance(table, EncodedTable):
        run = EncodedRun(learner, table, labels, weight, where, options).run()
    else:
        if fresh:
            learner._meet(learner._first_learned(table, labels, weight), table.names)
        run = learner._replay(table, labels, weight, where, options)
    if fresh and learner.n_seen_ == 0:
        learner._forget()
    if fresh or isinstance(table, EncodedTable):  # whose columns may have brought features
        stability.warn_of_memory(learner)
    stability.warn_of_range(learner)
    return run


def check(learner: Learner, table: Table, where: str) -> None:
    """Raises ValueError unless a table has the learner's features, in their order."""
    if not isinstance(table, EncodedTable):  # which checks its columns itself
        learner._door.check(table, where, warn=True)


def fit(learner: Learner, X: Any, y: Any, sample_weight: Any) -> None:
    """Starts from scratch and learns every row, or nothing."""
    where = f"{type(learner).__name__}.fit"
    with learner._guard.undo(learner):
        learner._forget()
        learner._skipped = 0
        learner._learn_table(X, y, sample_weight, where)
        if learner._core is None:
            raise ValueError(f"{where}: nothing to learn: every row has zero sample_weight or a missing value")


def predict(learner: Learner, X: Any, verb: str, level: float | None = None) -> Outputs:
    """Predicts every row as if it were the next one, with intervals if a level is given."""
    where = f"{type(learner).__name__}.{verb}"
    place = None if level is None else levels.as_level(level, where)
    if place is not None and learner._outputs is not None:
        raise ValueError(f"{where}: intervals need a single label per row")
    learner._require_core(verb)
    table = learner._as_table(X, where)
    learner._check_table(table, where)
    return replay.predict_table(learner, table, where, place)
