"""Runs over tables that have text, times or filled-in missing values; the learner may grow on the way.

The result equals that of a loop of ``predict_one`` and ``learn_one``, bit for bit. Many rows are encoded at once; those that
bring a new feature are learned singly, and the rows between two of them are replayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from driftline._core import heed_interrupt
from driftline.base import encoding, slow_path
from driftline.base.batch import Batch
from driftline.base.clock import row_at
from driftline.base.replay import RunOptions
from driftline.base.run import Run
from driftline.tables import inputs, missing
from driftline.tables.block import RowBlock
from driftline.tables.cells import Given
from driftline.tables.encoder import Columns
from driftline.tables.inputs import Array, Name

if TYPE_CHECKING:
    from driftline.base.learner import Learner


class EncodedRun:
    """Predicts and learns all rows of a block, within an undo.

    Args:
        learner: the learner.
        block: the rows, which the learner's columns encode.
        y: the labels.
        weight: the sample weights.
        where: the caller's name, for messages.
        options: what to keep besides predictions and errors.
        times: the times of the rows, if they have any.
    """

    def __init__(
        self,
        learner: Learner,
        block: RowBlock,
        y: Array,
        weight: Array | None,
        where: str,
        options: RunOptions,
        times: Array | None = None,
    ) -> None:
        self.times = times
        self.learner, self.block, self.y, self.weight, self.where, self.options = learner, block, y, weight, where, options
        self.predictions = np.empty(y.shape)
        self.resets = np.zeros(len(y), dtype=np.uint8)
        self.out = options.spread.outputs(self.predictions, resets=self.resets)
        self.weights: list[Array] = []
        self.memory: list[float | None] = []
        self.shares: list[list[float]] = []
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
        start, step = 0, encoding.rows_at_once(learner, self.block)
        while start < self.block.rows:
            start = self._rows(start, min(start + step, self.block.rows))
        with np.errstate(over="ignore"):
            errors = self.y - self.predictions
        memory = None if None in self.memory or not self.memory else np.array(self.memory, dtype=np.float64)
        shares = self._padded(self.shares) if self.shares and self.shares[0] else None
        return Run(
            predictions=self.predictions,
            errors=errors,
            lower=self.out.lower,
            upper=self.out.upper,
            resets=np.flatnonzero(self.resets),
            weights=None if self.options.weights_every is None or learner._core is None else self._snapshots(),
            memory=memory,
            shares=shares,
            experts=() if shares is None else tuple(learner._experts()[0]),
            weights_every=self.options.weights_every,
            level=self.options.spread.level,
            quantiles=self.out.quantiles,
            quantile_levels=self.out.quantile_levels,
            skipped=learner.n_skipped_ - before,
            frames=self.block.library,
            inputs=self.block.as_given,
            labels=self.y,
        )

    def _rows(self, start: int, stop: int) -> int:
        """Takes rows from ``start`` up to ``stop``, or fewer; returns where it ended."""
        learner, count = self.learner, stop - start
        given, lost = encoding.checked(learner, self.block, start, stop)
        learned = self.learned[start:stop] & ~lost
        begin, fresh = 0, learner._core is None
        if fresh:
            begin = int(learned.argmax()) if learned.any() else count
            self._singly(start, start + begin)
            if begin == count:
                return stop
        X, growth, columns = encoding.encode(learner, self.block, given, lost, start, learned)
        events = dict(growth)
        if fresh:
            width = events.pop(begin, 0)
            learner._meet(X[begin, :width], columns.names[:width])
        width = learner.n_features_in_
        for row, wider in [*events.items(), (count, 0)]:
            if not self._replay(X[begin:row, :width], start + begin, int(learned[begin:row].sum())):
                if fresh:
                    learner._forget()  # the row may be one that the learner skips
                learner._columns = self._columns_at(given, begin, learned)
                self._singly(start + begin, start + row)
                return start + row
            if row < count:
                self._grow(X[row, :wider], columns, width, start + row)
                if learner.n_features_in_ != wider:  # the learner skipped the row
                    learner._columns = self._columns_at(given, row, learned)
                    return start + row + 1
            begin, width, fresh = row + 1, wider, False
        learner._columns = columns
        return stop

    def _columns_at(self, given: Mapping[Name, Given], row: int, learned: Array) -> Columns:
        """The columns after the first of some rows."""
        columns = encoding.known(self.learner, self.block).copy()
        columns.table({name: each.take(slice(0, row)) for name, each in given.items()}, self.where, learned[:row])
        return columns

    def _replay(self, X: Array, start: int, learned: int) -> bool:
        """Replays rows without new features; False, with nothing changed, if the learner skipped one of them."""
        learner, stop = self.learner, start + len(X)
        if not len(X):
            return True
        loses = learner.missing != "raise" and hasattr(learner._core, "members")  # which may transform a row to infinity
        before, seen = learner.__getstate__() if loses else None, learner.n_seen_
        step = inputs.rows_between_signals(max(X.shape[1], 1), learner._operations(X.shape[1] + 1), 1)
        begin, snapshots = start, len(self.weights)
        while begin < stop:
            end = min(begin + step, self._next_snapshot(begin), stop)
            weight = None if self.weight is None else self.weight[begin:end]
            at = None if self.times is None else self.times[begin:end]
            batch = Batch(X[begin - start : end - start], self.y[begin:end], weight, self.where, begin, learner._names, at)
            learner._skipped += learner._replay_block(batch, self.out.part(begin, end))
            heed_interrupt()
            begin = end
            self._keep_weights(begin)
        if before is not None and learner.n_seen_ - seen != learned:
            learner.__setstate__(before)
            del self.weights[snapshots:], self.memory[snapshots:], self.shares[snapshots:]
            return False
        return True

    def _grow(self, x: Array, columns: Columns, width: int, row: int) -> None:
        """Takes an encoded row that makes the model wider."""
        learner, question = self.learner, columns.before(x, width)
        weight = None if self.weight is None else self.weight[row : row + 1]
        batch = Batch(x[None, :], self.y[row : row + 1], weight, self.where, row)
        out, resets = self.out.part(row, row + 1), self.resets[row : row + 1]
        with self._at(row):
            slow_path.learn_wider(learner, question, columns.names[: len(x)], batch, out, resets)
        self._keep_weights(row + 1)

    def _singly(self, start: int, stop: int) -> None:
        """Takes rows as a loop would."""
        for row, x in enumerate(encoding.each(self.learner, self.block, start, stop), start):
            with self._at(row):
                slow_path.predict(self.learner, x, self.where, self.out.part(row, row + 1))
                weight = None if self.weight is None else float(self.weight[row])
                slow_path.learn_within(self.learner, x, self.y[row], weight, self.where, row, self.resets[row : row + 1])
            self._keep_weights(row + 1)

    def _at(self, row: int) -> AbstractContextManager[None]:
        return nullcontext() if self.times is None else row_at(self.learner, float(self.times[row]))

    def _next_snapshot(self, start: int) -> int:
        every = self.options.weights_every
        return self.block.rows if every is None else (start // every + 1) * every

    def _keep_weights(self, done: int) -> None:
        every, learner = self.options.weights_every, self.learner
        if every is not None and done % every == 0 and learner._core is not None:
            self.weights.append(learner._weights)
            self.memory.append(learner._memory())
            self.shares.append(list(learner._experts()[0].values()))

    def _snapshots(self) -> Array:
        """All snapshots of the weights with the last one's width: a feature has weight 0 before it appears."""
        learner = self.learner
        widths = {weights.shape[-1] for weights in self.weights}
        if len(widths) > 1 and not (learner._traits.by_feature and learner._traits.linear):
            raise ValueError(f"{self.where}: weights_every cannot be used with rows that add features, as these do")
        last, width = int(learner.intercept), learner._weights.shape[-1]
        found = np.zeros((len(self.weights), *learner._weights.shape))
        for snapshot, weights in zip(found, self.weights, strict=True):
            features = weights.shape[-1] - last
            snapshot[..., :features] = weights[..., :features]
            snapshot[..., width - last :] = weights[..., features:]
        return self._padded(list(found))

    def _padded(self, snapshots: list[Any]) -> Array:
        """Snapshots as an array, with zeros for those before the model began."""
        found = np.zeros((self.block.rows // (self.options.weights_every or 1), *np.shape(snapshots[0])))
        found[len(found) - len(snapshots) :] = snapshots
        return found
