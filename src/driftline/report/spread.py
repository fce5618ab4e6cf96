"""Standard deviations of features, for streams with too many features for the best fixed model."""

from __future__ import annotations

import numpy as np

from driftline.storage.resumable import Resumable
from driftline.tables.inputs import Array


class Spread(Resumable):
    """Sums of the features and of their squares, counted from the first row that is complete."""

    _fields = ("count", "origin", "total", "squares")

    def __init__(self) -> None:
        self.count = 0
        self.origin = self.total = self.squares = np.empty(0)

    def add(self, X: Array) -> None:
        """Adds rows; a row with a value that is not finite is skipped. X may become wider on the right."""
        rows = np.asarray(X[np.isfinite(X).all(axis=1)], dtype=np.float64)
        if not len(rows):
            return
        if not self.count:
            self.origin = rows[0].copy()
        wider = (0, rows.shape[1] - len(self.origin))
        self.origin = np.pad(self.origin, wider)
        self.total, self.squares = (np.pad(sums, (0, rows.shape[1] - len(sums))) for sums in (self.total, self.squares))
        with np.errstate(over="ignore", invalid="ignore"):
            moved = rows - self.origin
            self.total = np.add.reduce(np.concatenate([self.total[None], moved]))
            self.squares = np.add.reduce(np.concatenate([self.squares[None], moved**2]))
        self.count += len(rows)

    def deviations(self) -> Array:
        """The standard deviations of the features."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean = self.total / max(self.count, 1)
            variance = np.maximum(self.squares / max(self.count, 1) - mean**2, 0.0)
            found: Array = np.sqrt(variance)
        return found
