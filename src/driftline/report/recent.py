"""The latest rows of a stream, unaggregated, for a chart that shows single rows."""

from __future__ import annotations

import numpy as np

from driftline.storage.resumable import Resumable
from driftline.tables.inputs import Array

ROWS = 8_192
COLUMNS = ("at", "y", "prediction", "lower", "upper")  # "at" is the row's place on the axis


class RecentRows(Resumable):
    """The last ``ROWS`` rows, one line each in the order of ``COLUMNS``; NaN if a value is not known."""

    _fields = ("values",)

    def __init__(self) -> None:
        self.values = np.empty((0, len(COLUMNS)))

    def extend(self, values: Array) -> None:
        """Appends rows."""
        self.values = np.concatenate([self.values, values[-ROWS:]])[-ROWS:]
