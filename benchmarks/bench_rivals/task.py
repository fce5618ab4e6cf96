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

AHEAD = (1, 12, 24, 96)
MOST_ROWS, MOST_ROWS_LATE = 8000, 4000  # of a file, where rivals.json says nothing else
LEAST_ROWS_LATE = 2000  # shorter files are not run with late labels
SHORT = 2500  # rows, below which a file is refitted more often


@dataclass(frozen=True, eq=False)
class Task:
    """A stream on which every row is predicted when the labels through ``ahead`` rows before it are known.

    Attributes:
        name: of the file.
        X: the features, without rows that lack a value.
        y: the labels.
        ahead: 1: labels come at once.
        start: the first row that is scored.
    """

    name: str
    X: Array
    y: Array
    ahead: int
    start: int

    @property
    def known(self) -> Array:
        """The number of labels known when each row is predicted."""
        return np.maximum(np.arange(len(self.y)) - self.ahead + 1, 0)

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Half a range outside the labels known at each row: predictions are cut off there."""
        low, high = np.minimum.accumulate(self.y), np.maximum.accumulate(self.y)
        reach, newest = 0.5 * (high - low), self.known - 1
        low, high = np.append(low - reach, -np.inf), np.append(high + reach, np.inf)  # the last: no label is known
        return low[newest], high[newest]

    def cut(self, predictions: Array) -> Array:
        """Predictions that stay within the bounds; 0 in place of what is no number."""
        return np.clip(np.nan_to_num(predictions), *self.bounds)

    def every(self, rows: int) -> int:
        """Rows between two fits that are ``rows`` apart on long files."""
        return rows if len(self.y) >= SHORT else max(rows // 5, 50)


def tasks(folder: Path, late: Sequence[int] = AHEAD) -> Iterator[Task]:
    """All tasks of a folder. ``rivals.json``, where there is one, says how many rows of a file count, and from where on."""
    known = folder / "rivals.json"
    figures: dict[str, Any] = json.loads(known.read_text()) if known.exists() else {}
    for name, (X, y) in auto_streams.files(folder):
        own = figures.get(name, {})
        for ahead in late:
            horizon = own.get("horizons", {}).get(str(ahead))
            if ahead > 1 and (horizon is None if own else len(y) < LEAST_ROWS_LATE):
                continue
            rows = own.get("rows", MOST_ROWS) if ahead == 1 else (horizon or {}).get("rows", MOST_ROWS_LATE)
            table = np.column_stack([X, y])[:rows]
            table = table[np.isfinite(table).all(axis=1)]
            start = own.get("start", len(table) // 10) if ahead == 1 else 100 + ahead
            yield Task(name, np.ascontiguousarray(table[:, :-1]), table[:, -1].copy(), ahead, start)
