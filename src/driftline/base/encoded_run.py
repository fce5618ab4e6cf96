"""Runs over tables that have text, times or filled-in missing values; the learner may grow on the way.

The result equals that of a loop of ``predict_one`` and ``learn_one``, bit for bit. A row that brings a new feature is taken
singly; the rows between two such rows are encoded and replayed at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from driftline._core import Outputs, heed_interrupt
from driftline.base import slow_path
from driftline.base.batch import Batch
from driftline.base.encoding import EncodedTable, Piece
from driftline.base.replay import RunOptions
from driftline.base.run import Run
from driftline.tables import inputs, missing
from driftline.tables.inputs import Array

if TYPE_CHECKING:
    from driftline.base.learner import Learner

_FEW = 64  # rows to encode at once after a row with a new feature


class EncodedRun:
    """Predicts and learns all rows of a table, within an undo.

    Args:
        learner: the learner.
        table: the rows.
        y: the labels.
        weight: the sample weights.
        where: the caller's name, for messages.
        options: what to keep besides predictions and errors.
    """

    def __init__(
        self, learner: Learner, table: EncodedTable, y: Array, weight: Array | None, where: str, options: RunOptions
    ) -> None:
        self.learner, self.table, self.y, self.weight, self.where, self.options = learner, table, y, weight, where, options
        self.predictions = np.empty(y.shape)
        self.ends: Array | None = None if options.place is None else np.empty((2, len(y)))
        self.resets = np.zeros(len(y), dtype=np.uint8)
        self.weights: list[Array] = []
        self.memory: list[float | None] = []
        labelled = np.abs(y) <= learner._door.largest
        refused = ~(labelled | (np.isnan(y) & missing.skips_labels(learner.missing)))
        if missing.by_column(learner.missing) and refused.any():
            row = int(np.argwhere(refused)[0][0])
            learner._door.refuse_bad_label(y[row], where, f" in row {row}")
        self.learned: Array = labelled if y.ndim == 1 else np.all(labelled, axis=1)
        if weight is not None:
            self.learned = self.learned & (weight > 0)

    def run(self) -> Run:
        """All rows."""
        learner, before = self.learner, self.learner.n_skipped_
        start, size = 0, _FEW
        while start < self.table.rows:
            stop = min(start + size, self._next_snapshot(start), self.table.rows)
            done = self._rows(start, stop)
            size = min(2 * size, inputs.rows_to_convert(self.table.source.columns)) if done == stop else _FEW
            start = done
            if self.options.weights_every is not None and start % self.options.weights_every == 0:
                self._keep_weights()
        with np.errstate(over="ignore"):
            errors = self.y - self.predictions
        memory = None if None in self.memory or not self.memory else np.array(self.memory, dtype=np.float64)
        return Run(
            predictions=self.predictions,
            errors=errors,
            lower=None if self.ends is None else self.ends[0],
            upper=None if self.ends is None else self.ends[1],
            resets=np.flatnonzero(self.resets),
            weights=None if self.options.weights_every is None or learner._core is None else self._snapshots(),
            memory=memory,
            weights_every=self.options.weights_every,
            level=self.options.level,
            skipped=learner.n_skipped_ - before,
        )

    def _rows(self, start: int, stop: int) -> int:
        """Takes rows from ``start`` up to ``stop``, or up to a row with a new feature; returns where it ended."""
        piece = self.table.piece(start, stop)
        if self.learner._core is None:
            self._one(piece, 0, start)
            return start + 1
        learned = self.learned[start:stop] & ~piece.lost
        known = self.table.known().copy()
        X, growth = known.table(piece.columns, self.where, learned)
        if growth:
            stop = start + growth[0][0]
            if stop == start:
                self._one(piece, 0, start)
                return start + 1
            return self._rows(start, stop)
        X[piece.lost] = np.nan
        if not self._replay(X, start, stop, int(learned.sum())):
            for place in range(len(piece)):
                self._one(piece, place, start + place)
        else:
            self.learner._columns = known
        return stop

    def _replay(self, X: Array, start: int, stop: int, learned: int) -> bool:
        """Replays rows without new features; False, with nothing changed, if the learner skipped one of them."""
        learner = self.learner
        loses = learner.missing != "raise"
        before, seen = learner.__getstate__() if loses else None, learner.n_seen_
        step = inputs.rows_between_signals(max(X.shape[1], 1), learner._operations(X.shape[1] + 1), 1)
        for begin in range(start, stop, step):
            end = min(begin + step, stop)
            weight = None if self.weight is None else self.weight[begin:end]
            rows = X[begin - start : end - start]
            batch = Batch(rows, self.y[begin:end], weight, self.where, begin, learner._names)
            learner._skipped += learner._replay_block(batch, self._out(begin, end))
            heed_interrupt()
        if before is not None and learner.n_seen_ - seen != learned:
            learner.__setstate__(before)
            return False
        return True

    def _one(self, piece: Piece, place: int, row: int) -> None:
        """Takes one row as a loop would."""
        x = piece.row(place)
        slow_path.predict(self.learner, x, self.where, self._out(row, row + 1))
        weight = None if self.weight is None else float(self.weight[row])
        slow_path.learn_within(self.learner, x, self.y[row], weight, self.where, row, self.resets[row : row + 1])

    def _out(self, start: int, stop: int) -> Outputs:
        lower, upper = (None, None) if self.ends is None else self.ends[:, start:stop]
        resets = self.resets[start:stop] if self.learner._core is not None and self.learner._can_reset else None
        return Outputs(self.predictions[start:stop], lower=lower, upper=upper, level=self.options.place, resets=resets)

    def _next_snapshot(self, start: int) -> int:
        every = self.options.weights_every
        return self.table.rows if every is None else (start // every + 1) * every

    def _keep_weights(self) -> None:
        if self.learner._core is not None:
            self.weights.append(self.learner._weights)
            self.memory.append(self.learner._memory())

    def _snapshots(self) -> Array:
        """All snapshots, padded to the last one's width: a feature has weight 0 before it appears."""
        learner = self.learner
        every = self.options.weights_every
        widths = {weights.shape[-1] for weights in self.weights}
        if len(widths) > 1 and not (learner._by_feature and learner._linear):
            raise ValueError(f"{self.where}: weights_every cannot be used with rows that add features, as these do")
        found = np.zeros((self.table.rows // (every or 1), *learner._weights.shape))
        last = int(learner.intercept)
        for snapshot, weights in zip(found[len(found) - len(self.weights) :], self.weights, strict=True):
            features = weights.shape[-1] - last
            snapshot[..., :features] = weights[..., :features]
            snapshot[..., snapshot.shape[-1] - last :] = weights[..., features:]
        return found
