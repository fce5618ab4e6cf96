"""A stream that repeats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftline.base.rules import CountOrNone
from driftline.streams.base import Replay, Rows, Stream
from driftline.streams.combined import Derived


def _inner(replay: Replay, turn: int) -> Replay:
    """A turn within a repetition; the very first turn is the stream itself, at any depth."""
    return (*replay, turn) if replay or turn else ()


@dataclass(frozen=True, repr=False)
class Repeat(Derived):
    """Repeats a stream: the same distributions return, with new rows.

    The first repetition has the rows of the stream itself. ``Repeat(a + b)`` is recurrent drift.

    Args:
        stream: a finite stream.
        times: the number of repetitions; None for endless ones.

    >>> from driftline.streams import SEA
    >>> seasons = Repeat(SEA(rows=1000), times=3)
    >>> X, y = seasons.take()
    >>> len(y), bool((X[:1000] == SEA(rows=1000).take()[0]).all()), bool((X[1000:2000] == X[:1000]).any())
    (3000, True, False)
    """

    times: CountOrNone = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stream.length is None:
            raise ValueError(f"Repeat: stream must be finite, such as .first(rows), got {self.stream!r}")

    @property
    def length(self) -> int | None:
        """``times`` the length of the stream; None if it is endless."""
        return None if self.times is None else self.times * len(self.stream)

    def _pieces(self, start: int, stop: int, replay: Replay) -> list[tuple[Stream, int, int, Replay]]:
        rows = len(self.stream)
        return [
            (self.stream, max(start - turn * rows, 0), min(stop - turn * rows, rows), _inner(replay, turn))
            for turn in range(start // rows, max(start, stop - 1) // rows + 1)
        ]

    def _fresh(self, t: int, n: int, rng: np.random.Generator) -> Rows:
        return self.stream._fresh(t % len(self.stream), n, rng)
