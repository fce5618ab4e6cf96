"""A change from one stream to another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from driftline.base.rules import Whole
from driftline.streams.base import Replay, Rows, Stream
from driftline.streams.combined import Combined, check_streams, seeds_of_parts
from driftline.streams.keyed import COINS, uniforms
from driftline.tables.inputs import Array

STEEPNESS = 10.0  # the sigmoid goes from 0.7 % to 99.3 % within the window


@dataclass(frozen=True, repr=False)
class Join(Combined):
    """A change from one stream to another, abrupt or gradual.

    Rows before ``at`` come from ``before``, and rows from ``at + width`` on come from ``after``. In between, each row comes
    from one of the two at random, and the probability of ``after`` grows. Row t is row t of ``before`` or row t - at of
    ``after``.

    Args:
        before: the first stream; it must last to the end of the change.
        after: the second stream; it starts at row ``at``.
        at: the row at which the change begins.
        width: the number of rows that the change takes; 0 for an abrupt change.
        shape: how the probability grows, "linear" or "sigmoid".
        seed: the seed of the choice between the two.

    >>> from driftline.streams import SEA
    >>> stream = Join(SEA(thresholds=[7]), SEA(thresholds=[9], seed=1), at=20_000, width=1000)
    >>> len(stream), [round(stream.chance(t), 4) for t in (19_999, 20_000, 20_500, 21_000)]
    (70000, [0.0, 0.0005, 0.5005, 1.0])
    """

    before: Stream
    after: Stream
    at: Whole
    width: Whole = 0
    shape: Literal["linear", "sigmoid"] = "linear"
    seed: Whole = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_streams("Join", before=self.before, after=self.after)
        for name, part, needed in (("before", self.before, self._end), ("after", self.after, self.width)):
            if part.length is not None and part.length < needed:
                raise ValueError(f"Join: {name} must have the {needed} rows to the end of the change, got {part.length}")

    def _parts(self) -> tuple[Stream, ...]:
        return self.before, self.after

    @property
    def length(self) -> int | None:
        """``at`` plus the length of ``after``; None if that is endless."""
        return None if self.after.length is None else self.at + self.after.length

    @property
    def _end(self) -> int:
        return self.at + self.width

    def chance(self, t: int) -> float:
        """The probability that row ``t`` comes from ``after``."""
        return float(self._chances(np.array([t]))[0])

    def _chances(self, at: Array) -> Array:
        done = np.clip((at - self.at + 0.5) / max(self.width, 1), 0, 1)
        shaped = done if self.shape == "linear" else 1 / (1 + np.exp(-STEEPNESS * (done - 0.5)))
        return np.where(at < self.at, 0.0, np.where(at >= self._end, 1.0, shaped))

    def _chosen(self, start: int, stop: int, replay: Replay) -> Array:
        """Whether each row comes from ``after``."""
        coins = uniforms(self.seed, (COINS, *replay), start, stop, 1)[:, 0]
        chosen: Array = coins < self._chances(np.arange(start, stop))
        return chosen

    def reseeded(self, seed: int) -> Self:
        """The same change with other random numbers in both streams and in the choice between them."""
        first, second, own = seeds_of_parts(seed, 3, "Join.reseeded")
        return replace(self, before=self.before.reseeded(first), after=self.after.reseeded(second), seed=own)

    def _rows(self, start: int, stop: int, replay: Replay) -> Rows:
        X, y = np.empty((stop - start, self.d)), np.empty(stop - start)
        for part, low, high, rows, mine in self._pieces(start, stop, replay):
            X_part, y_part = part._rows(low, high, replay)
            X[rows][mine], y[rows][mine] = X_part[mine], y_part[mine]
        return X, y

    def _targets(self, start: int, stop: int, replay: Replay) -> Array | None:
        weights = np.empty((stop - start, self.d))
        for part, low, high, rows, mine in self._pieces(start, stop, replay):
            targets = part._targets(low, high, replay)
            if targets is None:
                return None
            weights[rows][mine] = targets[mine]
        return weights

    def _pieces(self, start: int, stop: int, replay: Replay) -> list[tuple[Stream, int, int, slice, Array]]:
        """For each stream: its rows, their places between ``start`` and ``stop``, and which of them are chosen."""
        chosen = self._chosen(start, stop, replay)
        last, first = max(min(stop, self._end), start), min(max(start, self.at), stop)
        old, new = slice(0, last - start), slice(first - start, stop - start)
        pieces = []
        if last > start or self.at > start:
            pieces.append((self.before, start, last, old, ~chosen[old]))
        if stop > first or not pieces:
            pieces.append((self.after, first - self.at, stop - self.at, new, chosen[new]))
        return pieces

    def _fresh(self, t: int, n: int, rng: np.random.Generator) -> Rows:
        chosen = rng.random(n) < self._chances(np.array([t]))
        X, y = np.empty((n, self.d)), np.empty(n)
        for part, row, mine in ((self.before, t, ~chosen), (self.after, t - self.at, chosen)):
            if mine.any():
                X[mine], y[mine] = part._fresh(row, int(mine.sum()), rng)
        return X, y

    def _seeds(self) -> tuple[int, ...]:
        return (*super()._seeds(), self.seed)
