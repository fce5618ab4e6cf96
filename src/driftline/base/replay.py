"""Runs many rows through a learner's core, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from driftline._core import Limits, Outputs, heed_interrupt
from driftline.base import encoding, levels
from driftline.base.batch import Batch
from driftline.base.levels import Spread
from driftline.base.rules import COUNT
from driftline.base.run import Run
from driftline.tables import inputs
from driftline.tables.block import RowBlock
from driftline.tables.inputs import Array

if TYPE_CHECKING:
    from driftline.base.learner import Learner

_EVERY = COUNT.or_none()


@dataclass(frozen=True)
class RunOptions:
    """The outputs requested of a run, besides predictions and errors.

    Attributes:
        weights_every: rows from one snapshot of the weights to the next; None for no snapshots.
        spread: the intervals and quantiles.
    """

    weights_every: int | None
    spread: Spread


def run_options(learner: Learner, labels: Array, weights_every: int | None, spread: Spread, where: str) -> RunOptions:
    """Checks the options of a run."""
    if weights_every is not None:
        _EVERY.require(where, "weights_every", weights_every)
        if not learner._traits.has_snapshots:
            raise ValueError(f"{where}: weights_every needs a learner with one weight per feature")
    if labels.ndim == 2 and spread:
        raise ValueError(f"{where}: {'level' if spread.place else 'quantiles'} needs a single label per row")
    return RunOptions(weights_every, spread)


def room(learner: Learner, rows: int) -> Array:
    """An array for the predictions of ``rows`` rows."""
    return np.empty(rows if learner._outputs is None else (rows, learner._outputs))


def write_start(out: Outputs, limits: Limits) -> None:
    """Writes the predictions of a learner that has no core yet: 0, or the limit closest to it, with unbounded intervals."""
    out.predictions[:] = limits.hold(0.0)
    if out.lower is not None:
        out.lower[:], out.upper[:] = limits.low, limits.high
    if out.quantiles is not None:
        out.quantiles[:] = np.clip(levels.unearned(out.quantile_levels), limits.low, limits.high)


def replay(
    learner: Learner,
    block: RowBlock,
    y: Array,
    weight: Array | None,
    where: str,
    options: RunOptions,
    times: Array | None = None,
) -> Run:
    """Predicts and learns all rows of a block."""
    out, errors, every = _outputs(learner, block, y, options)
    step = inputs.rows_between_signals(block.columns, learner._operations(block.columns + 1), every or 1)
    skipped, shares = 0, []
    experts = tuple(learner._experts()[0]) if every else ()
    if experts and not hasattr(learner._core, "tops"):
        step = every  # shares can only be read between two blocks
    for start, piece in block.blocks(step):
        rows = slice(start, start + len(piece))
        share, at = (None if part is None else part[rows] for part in (weight, times))
        batch = Batch(piece, y[rows], share, where, start, block.names, at)
        skipped += learner._replay_block(batch, out.part(rows.start, rows.stop))
        with np.errstate(over="ignore"):
            np.subtract(y[rows], out.predictions[rows], out=errors[rows])
        if experts and len(piece) >= every:
            kept: Any = getattr(learner._core, "tops", None)
            shares.append(np.array([list(learner._experts()[0].values())]) if kept is None else kept)
        heed_interrupt()
    learner._skipped += skipped
    over_time = learner._traits.over_time
    memory = {} if out.memory is None or over_time is None else over_time(out.memory)
    return Run(
        predictions=out.predictions,
        errors=errors,
        lower=out.lower,
        upper=out.upper,
        resets=np.empty(0, dtype=np.int64) if out.resets is None else np.flatnonzero(out.resets),
        weights=out.weights,
        memory=memory.get("memory"),
        drift=memory.get("drift"),
        shares=np.concatenate([np.empty((0, len(experts))), *shares]) if experts else None,
        experts=experts,
        weights_every=None if options.weights_every is None else int(options.weights_every),
        level=options.spread.level,
        quantiles=out.quantiles,
        quantile_levels=out.quantile_levels,
        skipped=skipped,
        frames=block.library,
        inputs=block.as_given,
        labels=y,
    )


def _outputs(learner: Learner, block: RowBlock, y: Array, options: RunOptions) -> tuple[Outputs, Array, int]:
    every = min(int(options.weights_every or 0), block.rows + 1)
    snapshots = block.rows // every if every else 0
    predictions, errors = np.empty((2, *y.shape))  # one allocation, which the next replay is likely to reuse
    out = options.spread.outputs(
        predictions,
        resets=np.zeros(block.rows, dtype=np.uint8) if learner._traits.can_reset else None,
        weights=np.empty((snapshots, *learner._weights.shape)) if every else None,
        memory=np.empty((snapshots, 2)) if every and learner._memory() is not None else None,
        every=every,
    )
    return out, errors, every


def first_learned(learner: Learner, block: RowBlock, y: Array, weight: Array | None) -> Array:
    """The first row of a block that will be learned: it has a label, a weight and all its values."""
    if learner._traits.takes_sparse:
        return np.broadcast_to(0.0, block.columns)  # only its width matters, and it takes no memory
    largest = learner._largest
    counts: Array = np.abs(y) <= largest
    counts = counts if counts.ndim == 1 else np.all(counts, axis=1)
    if weight is not None:
        counts &= weight > 0
    for start, rows in block.blocks(1024):
        found = counts[start : start + len(rows)] & np.all(np.abs(rows) <= largest, axis=1)
        if found.any():
            return np.asarray(rows[int(found.argmax())], dtype=np.float64)
    return np.zeros(block.columns)


def predict_block(
    learner: Learner, block: RowBlock, where: str, spread: Spread = levels.NO_SPREAD, *, apart: bool = False
) -> Outputs:
    """Predictions for all rows of a block, with the intervals and quantiles that are wanted; nothing is learned.

    Each row is predicted as the next one; if ``apart``, as if no label came before its own, however late it comes.
    """
    out = spread.outputs(room(learner, block.rows), apart=apart)
    names = learner._names if block.encoded else block.names
    for start, piece in block.blocks(encoding.rows_at_once(learner, block)):
        batch = Batch(piece, None, None, where, start, names)
        learner._replay_block(batch, out.part(start, start + len(piece)))
    return out


# Checking labels.


def as_labels(learner: Learner, y: Any, rows: int, where: str) -> Array:
    """The labels of a table, (T,), or (T, m) if a row has several."""
    if y is not None:
        values = y if isinstance(y, np.ndarray) else inputs.as_array(y, where, "y")
        if values.ndim == 2 and (values.shape[1] > 1 or learner._outputs is not None):
            _check_outputs(learner, values.shape[1], where)
            return inputs.as_labels(values, rows, where)
    if learner._outputs is not None:
        _check_outputs(learner, 1, where)
    return inputs.as_vector(y, rows, where, "y")


def as_label(learner: Learner, y: Any, where: str) -> Any:
    """The label of a row, or an array of them."""
    if y is not None and not isinstance(y, (float, int, str, bytes)):
        values = inputs.as_array(y, where, "y")
        if values.ndim == 1 and (values.size > 1 or learner._outputs is not None):
            _check_outputs(learner, values.size, where)
            return inputs.as_labels(values[None, :], 1, where)[0]
    if learner._outputs is not None:
        _check_outputs(learner, 1, where)
    return y if type(y) is float else inputs.as_number(y, where, "y")


def _check_outputs(learner: Learner, outputs: int, where: str) -> None:
    known = None if learner._core is None else learner._outputs or 1
    if known not in (None, outputs):
        raise ValueError(f"{where}: y has {outputs} labels a row, expected {known}")
    if outputs > 1 and not learner._traits.takes_outputs:
        raise ValueError(
            f"{where}: y has {outputs} labels a row, but {type(learner).__name__} takes one; {inputs.ONE_LABEL}, "
            "or a learner that takes several, such as RLS"
        )
