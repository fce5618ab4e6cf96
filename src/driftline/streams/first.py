"""The beginning of a stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftline.base.rules import Count
from driftline.streams.base import Replay, Rows, Stream
from driftline.streams.derived import Derived
from driftline.tables.inputs import Array


@dataclass(frozen=True, repr=False)
class First(Derived):
    """The first rows of a stream; ``stream.first(rows)`` is the same.

    Args:
        stream: any stream.
        rows: how many of its rows; at most as many as it has.

    >>> from driftline.streams import Rotating
    >>> len(Rotating().first(500))
    500
    """

    rows: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stream.length is not None and self.rows > self.stream.length:
            raise ValueError(f"First: rows must be at most the stream's, {self.stream.length}, got {self.rows!r}")

    @property
    def length(self) -> int:
        """``rows``."""
        return self.rows

    def _rows(self, start: int, stop: int, replay: Replay) -> Rows:
        return self.stream._rows(start, stop, replay)

    def _targets(self, start: int, stop: int, replay: Replay) -> Array | None:
        return self.stream._targets(start, stop, replay)

    def _fresh(self, t: int, n: int, rng: np.random.Generator) -> Rows:
        return self.stream._fresh(t, n, rng)


Stream._first = First
