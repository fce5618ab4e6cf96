"""The beginning of a stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftline.base.rules import Count
from driftline.streams.base import Replay, Rows, Stream
from driftline.streams.combined import Derived


@dataclass(frozen=True, repr=False)
class First(Derived):
    """The first rows of a stream; ``stream.first(rows)`` is the same.

    Args:
        stream: any stream.
        rows: the number of rows, at most the stream's.

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

    def _pieces(self, start: int, stop: int, replay: Replay) -> list[tuple[Stream, int, int, Replay]]:
        return [(self.stream, start, stop, replay)]

    def _fresh(self, t: int, n: int, rng: np.random.Generator) -> Rows:
        return self.stream._fresh(t, n, rng)


Stream._first = First
