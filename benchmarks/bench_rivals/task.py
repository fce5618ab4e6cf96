"""Tasks: the first rows of a file, with labels that come late by a given number of rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import auto_streams
from benchmarks.data import Array

DELAYS = (0, 11, 23, 95)
MOST_ROWS, MOST_ROWS_LATE = 8000, 4000  # rows of a file, unless rivals.json says otherwise
LEAST_ROWS_LATE = 2000  # shorter files are not run with late labels
SHORT = 2500  # rows, below which a file is refitted more often


@dataclass(frozen=True, eq=False)
class Task:
    """A stream on which every row is predicted when all labels but those of the ``delay`` rows before it are known.

    Attributes:
        name: the name of the file.
        X: the features; rows with a missing value are left out.
        y: the labels.
        delay: how many rows late labels come; 0 for immediate ones.
        start: the first row that is scored.
    """

    name: str
    X: Array
    y: Array
    delay: int
    start: int

    @property
    def known(self) -> Array:
        """The number of labels known when each row is predicted."""
        return np.maximum(np.arange(len(self.y)) - self.delay, 0)

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """The range of the labels known at each row, extended by half its width: predictions are clipped to it."""
        low, high = np.minimum.accumulate(self.y), np.maximum.accumulate(self.y)
        reach, newest = 0.5 * (high - low), self.known - 1
        low, high = np.append(low - reach, -np.inf), np.append(high + reach, np.inf)  # the last entry: no label is known
        return low[newest], high[newest]

    def cut(self, predictions: Array) -> Array:
        """Predictions clipped to the bounds; 0 instead of NaN."""
        return np.clip(np.nan_to_num(predictions), *self.bounds)

    def every(self, rows: int) -> int:
        """Rows between two fits; ``rows`` on long files, fewer on short ones."""
        return rows if len(self.y) >= SHORT else max(rows // 5, 50)


def tasks(folder: Path, delays: Sequence[int] = DELAYS) -> Iterator[Task]:
    """All tasks of a folder. ``rivals.json``, if it exists, gives the rows to use and to score of each file."""
    known = folder / "rivals.json"
    figures: dict[str, Any] = json.loads(known.read_text()) if known.exists() else {}
    for name, (X, y) in auto_streams.files(folder):
        own = figures.get(name, {})
        for delay in delays:
            horizon = own.get("horizons", {}).get(str(delay + 1))
            if delay and (horizon is None if own else len(y) < LEAST_ROWS_LATE):
                continue
            rows = own.get("rows", MOST_ROWS) if not delay else (horizon or {}).get("rows", MOST_ROWS_LATE)
            table = np.column_stack([X, y])[:rows]
            table = table[np.isfinite(table).all(axis=1)]
            start = own.get("start", len(table) // 10) if not delay else 101 + delay
            yield Task(name, np.ascontiguousarray(table[:, :-1]), table[:, -1].copy(), delay, start)
