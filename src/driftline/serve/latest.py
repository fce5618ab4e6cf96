"""The latest rows of a model, for the live page."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from driftline.base.run import Run
from driftline.serve.unit import Answer, ScoredLabel
from driftline.tables.inputs import Array

KEPT = 300  # rows that the page shows


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows that were learned together, for the live page.

    Attributes:
        learned: rows that the model had learned before these, since the service started.
        before: rows that the unit had learned before these.
        key: the key of the unit.
        scored: the labels with their predictions, or the run of a table.
        y: the labels of a table.
    """

    learned: int
    before: int
    key: str
    scored: list[ScoredLabel] | Run
    y: Array | None = None

    def rows(self) -> list[tuple[Any, ...]]:
        """The latest rows: number, prediction, interval ends, label, key."""
        if isinstance(self.scored, list):
            all_rows = [(*outcome.answer[:3], outcome.y) for outcome in self.scored]
        else:
            columns = (self.scored.predictions, self.scored.lower, self.scored.upper, self.y)
            plain = zip(*(column[-KEPT:].tolist() for column in columns if column is not None), strict=True)
            all_rows = [(*Answer.of(*answer)[:3], y) for *answer, y in plain]
        count = len(self.scored)
        start = self.before + count - len(all_rows) + 1
        return [(start + number, *row, self.key) for number, row in enumerate(all_rows)][-KEPT:]


class Latest:
    """The latest rows, in the chunks in which they were learned; older chunks are dropped."""

    def __init__(self) -> None:
        self._chunks: deque[Chunk] = deque()
        self._rows = 0

    def add(self, chunk: Chunk) -> None:
        """Adds the newest rows."""
        self._chunks.append(chunk)
        self._rows += len(chunk.scored)
        while self._rows - len(self._chunks[0].scored) >= KEPT:
            self._rows -= len(self._chunks.popleft().scored)

    def since(self, learned: int, key: str | None) -> list[tuple[Any, ...]]:
        """The rows learned after the given number, of one key or of all."""
        chunks = [chunk for chunk in self._chunks if chunk.learned >= learned and key in (None, chunk.key)]
        return [row for chunk in chunks for row in chunk.rows()][-KEPT:]
