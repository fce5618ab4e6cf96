"""Many rows through the native core, block by block."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftline.base.refusals import Refusals, Target
from driftline.base.run import Run
from driftline.tables import inputs
from driftline.tables.inputs import Array, Table

DONE, BAD_VALUE = 0, 5  # of the core's statuses, those that every learner knows


class Replays(Refusals):
    """How rows go through a learner's core, and what comes back."""

    _outputs: int | None = None  # labels of a row, where there are several
    _can_reset = False

    def _room(self, rows: int) -> Array:
        """For the predictions of so many rows."""
        return np.empty(rows if self._outputs is None else (rows, self._outputs))

    def _serve(self, status: int, where: str, row: int, ahead: Array) -> None:
        """Gives the core what it asked for before the rows ``ahead``, or raises to say why it refused the first of them."""
        raise RuntimeError(f"{where}: the core stopped at row {row} with status {status}")

    def _replay(
        self, table: Table, y: Array, weight: Array | None, where: str, weights_every: int | None, level: Any
    ) -> Run:
        every = min(int(weights_every or 0), table.rows + 1)
        predictions, errors = np.empty((2, *y.shape))  # one piece of memory, which the next replay is likely to get again
        lower, upper = (None, None) if level is None else np.empty((2, table.rows))
        resets: list[Array] = []
        snapshots = np.empty((table.rows // every, *self._core.weights().shape)) if every else None
        skipped = 0
        pace = np.empty((table.rows // every, 2)) if every and self._memory() is not None else None
        step = inputs.rows_between_signals(table.columns, self._operations(table.columns + 1), every or 1)
        for start, block in table.blocks(step):
            rows = slice(start, start + len(block))
            kept = None if snapshots is None else snapshots[start // every : rows.stop // every]
            piece = None if weight is None else weight[rows]
            target = Target(where, start, table.names, resets, kept, every, predictions=predictions[rows])
            target.pace = None if pace is None else pace[start // every : rows.stop // every]
            if lower is not None and upper is not None:
                target.lower, target.upper, target.level = lower[rows], upper[rows], level
            skipped += self._replay_block(block, y[rows], piece, target)
            with np.errstate(over="ignore"):
                np.subtract(y[rows], predictions[rows], out=errors[rows])
        self._skipped += skipped
        told = {} if pace is None else self._over_time(pace)
        return Run(
            predictions=predictions,
            errors=errors,
            lower=lower,
            upper=upper,
            resets=np.concatenate(resets) if resets else np.empty(0, dtype=np.int64),
            weights=snapshots,
            memory=told.get("memory"),
            drift=told.get("drift"),
            weights_every=None if weights_every is None else int(weights_every),
            skipped=skipped,
        )

    def _predict_table(self, table: Table, where: str) -> Array:
        predictions = self._room(table.rows)
        for start, block in table.blocks(inputs.BLOCK_ROWS):
            target = Target(where, start, table.names, predictions=predictions[start : start + len(block)])
            self._replay_block(block, None, None, target)
        return predictions

    def _replay_block(self, block: Any, y: Array | None, weight: Array | None, target: Target) -> int:
        """Predicts and learns, or without ``y`` only predicts; returns how many rows were skipped for want of a value."""
        marks = np.empty(len(block), dtype=np.int64) if target.resets is not None and self._can_reset else None
        skip = self.missing == "skip"
        pace = () if target.pace is None else (target.pace,)
        done = skipped = 0
        while True:
            status, done, found, lost = self._core.run(
                block,
                y,
                weight,
                skip,
                target.predictions,
                target.lower,
                target.upper,
                target.level,
                marks,
                target.snapshots,
                target.every,
                done,
                *pace,
            )
            skipped += int(lost)
            if marks is not None and target.resets is not None and found:
                target.resets.append(marks[:found] + target.start)
            if status == DONE:
                return skipped
            if status == BAD_VALUE:
                self._refuse_bad_row(block[done], None if y is None else y[done], target, done)
            self._serve(status, target.where, target.start + done, block[done:])

    def _operations(self, width: int) -> int:
        """About how many a row takes, for ``width`` weights."""
        return width
