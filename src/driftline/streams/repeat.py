"""A stream that repeats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftline.base.rules import CountOrNone
from driftline.streams.base import Replay, Rows
from driftline.streams.derived import Derived
from driftline.tables.inputs import Array


def _inner(replay: Replay, turn: int) -> Replay:
    """The repetition that a turn is within another one; the very first is the stream itself, at any depth."""
    return (*replay, turn) if replay or turn else ()


@dataclass(frozen=True, repr=False)
class Repeat(Derived):
    """Repeats a stream: the same distributions return, with new rows.

    The first time the rows are the stream's own. ``Repeat(a + b)`` is a recurrent drift.

    Args:
        stream: a stream with an end.
        times: how often; None is without end.

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
            raise ValueError(f"Repeat: stream must have an end, such as .first(rows), got {self.stream!r}")

    @property
    def length(self) -> int | None:
        """``times`` the stream's rows; None where it has no end."""
        return None if self.times is None else self.times * len(self.stream)

    def _rows(self, start: int, stop: int, replay: Replay) -> Rows:
        pieces = [self.stream._rows(low, high, own) for low, high, own in self._pieces(start, stop, replay)]
        return np.concatenate([X for X, _ in pieces]), np.concatenate([y for _, y in pieces])

    def _targets(self, start: int, stop: int, replay: Replay) -> Array | None:
        pieces = [self.stream._targets(low, high, own) for low, high, own in self._pieces(start, stop, replay)]
        known = [piece for piece in pieces if piece is not None]
        return np.concatenate(known) if len(known) == len(pieces) else None

    def _pieces(self, start: int, stop: int, replay: Replay) -> list[tuple[int, int, Replay]]:
        """The stream's rows in each repetition that rows ``start`` to ``stop`` touch, at least one."""
        rows = len(self.stream)
        return [
            (max(start - turn * rows, 0), min(stop - turn * rows, rows), _inner(replay, turn))
            for turn in range(start // rows, max(start, stop - 1) // rows + 1)
        ]

    def _fresh(self, t: int, n: int, rng: np.random.Generator) -> Rows:
        return self.stream._fresh(t % len(self.stream), n, rng)
