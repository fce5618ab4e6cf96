"""A block of rows for a core."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from driftline.tables.inputs import Array, Name


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows with their labels and weights, and how messages refer to them.

    Attributes:
        x: (rows, features) array, or sparse rows.
        y: the labels; None if the rows are only predicted.
        weight: the sample weights; None if all are 1.
        where: the verb that the user called, for messages.
        start: the number of the first row, for messages; None for a single row, which has no number.
        names: feature names, if the rows have any.
        times: the times of the rows, if they have any.
    """

    x: Any
    y: Array | None
    weight: Array | None
    where: str
    start: int | None = None
    names: list[Name] | None = None
    times: Array | None = None

    def __len__(self) -> int:
        return len(self.x)

    @property
    def row(self) -> Any:
        """The row of a batch that has one."""
        return self.x[0] if isinstance(self.x, np.ndarray) else self.x

    def __getitem__(self, rows: slice) -> Batch:
        y, weight, times = (None if part is None else part[rows] for part in (self.y, self.weight, self.times))
        return replace(self, x=self.x[rows], y=y, weight=weight, start=self.number(rows.start), times=times)

    def number(self, row: int = 0) -> int | None:
        """The number of a row, for messages."""
        return None if self.start is None else self.start + row


def numbered(row: int | None, before: str = "", after: str = "") -> str:
    """Words for a numbered row, with text before and after; empty if the row has no number.

    >>> numbered(7, before=" at "), numbered(None, before=" at ")
    (' at row 7', '')
    """
    return "" if row is None else f"{before}row {row}{after}"
