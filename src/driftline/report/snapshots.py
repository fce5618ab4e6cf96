"""Weights, memory and the experts' shares along the stream, at a bounded number of rows."""

from __future__ import annotations

import numpy as np

from driftline.base.run import Run
from driftline.storage.resumable import Resumable
from driftline.tables.inputs import Array

MOST = 512
NUMBERS = 2**20  # the largest number of values in all snapshots
WIDEST = 2**16  # weights; wider models are not recorded


class Snapshots(Resumable):
    """The last snapshot of each stretch of ``width`` rows; ``width`` doubles whenever there are too many stretches."""

    _fields = ("width", "rows", "weights", "intercepts", "memory", "shares", "experts")

    def __init__(self) -> None:
        self.width = 1
        self.rows = np.empty(0, dtype=np.int64)
        self.weights = np.empty((0, 0))  # of the features, in their order
        self.intercepts = np.empty(0)
        self.memory = np.empty(0)  # NaN if it is not known
        self.shares = np.empty((0, 0))  # the weights of the experts, if the learner has any; NaN if they are not known
        self.experts: tuple[str, ...] = ()

    def stride(self, start: int, count: int) -> int:
        """The number of rows between snapshots in a block of ``count`` rows from row ``start`` on.

        It divides both the row and the stretches to come, so that the last row of every stretch is among those taken.
        """
        needed = _width(start + count, MOST)
        return min(start & -start, needed) if start else needed

    def add(self, total: int, rows: Array, run: Run, weights: Array | None, features: int) -> None:
        """Adds snapshots after the given rows, in order, of a stream of ``total`` rows so far.

        If ``weights`` has one column more than there are features, the intercept is last.
        """
        count = len(rows)
        if weights is None or features > WIDEST:
            weights = np.empty((count, 0))
        coefs, rest = weights[:, :features], weights[:, features:]
        intercepts = rest[:, 0] if rest.shape[1] else np.full(count, np.nan)
        memory = np.full(count, np.nan) if run.memory is None else run.memory
        self.rows = np.concatenate([self.rows, rows])
        width = max(self.weights.shape[1], coefs.shape[1])
        self.weights = np.concatenate([_widened(self.weights, width), _widened(coefs, width)])
        self.intercepts = np.concatenate([self.intercepts, intercepts])
        self.memory = np.concatenate([self.memory, memory])
        self._add_shares(run, count)
        self.width = max(self.width, _width(total, max(min(MOST, NUMBERS // max(width, 1)), 2)))
        stretch = self.rows // self.width
        self._keep(np.append(stretch[1:] != stretch[:-1], True)[: len(stretch)])

    def _add_shares(self, run: Run, count: int) -> None:
        shares = np.full((count, len(self.experts)), np.nan) if run.shares is None else run.shares
        if len(run.experts) > len(self.experts):
            self.experts = tuple(run.experts)
        known = np.full((len(self.shares), len(self.experts)), np.nan)
        known[:, : self.shares.shape[1]] = self.shares
        self.shares = np.concatenate([known, shares])

    @property
    def mixed(self) -> Array:
        """Which snapshots have the experts' weights."""
        known: Array = np.asarray(np.isfinite(self.shares).all(axis=1))
        return known if self.experts else np.zeros(len(known), dtype=bool)

    def _keep(self, which: Array) -> None:
        if not which.all():
            self.rows, self.weights = self.rows[which], self.weights[which]
            self.intercepts, self.memory, self.shares = self.intercepts[which], self.memory[which], self.shares[which]

    def whole(self, total: int) -> Array:
        """Which snapshots are the last of a complete stretch, so that no later one replaces them."""
        return (self.rows // self.width + 1) * self.width <= total


def _width(rows: int, most: int) -> int:
    """The smallest power of 2 that cuts the rows into at most ``most`` stretches."""
    return 1 << int(max(rows - 1, 0) // most).bit_length()


def _widened(weights: Array, width: int) -> Array:
    return np.pad(weights, ((0, 0), (0, width - weights.shape[1])))
