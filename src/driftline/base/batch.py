"""A block of rows on its way through a core."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from driftline.tables.inputs import Array, Name


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows with their labels and weights, and the words by which messages name them.

    Attributes:
        x: (rows, features) array, or sparse rows.
        y: the labels; None where the rows are only predicted.
        weight: the sample weights; None for all ones.
        where: the verb that the user called, for messages.
        start: the number of the first row, for messages.
        names: of the features, where the rows bring any.
    """

    x: Any
    y: Array | None
    weight: Array | None
    where: str
    start: int = 0
    names: list[Name] | None = None

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows: slice) -> Batch:
        y, weight = (None if part is None else part[rows] for part in (self.y, self.weight))
        return replace(self, x=self.x[rows], y=y, weight=weight, start=self.start + rows.start)
