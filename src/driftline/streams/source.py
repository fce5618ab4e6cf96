"""Base class of streams that are generated from random numbers."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import Self

import numpy as np

from driftline.base.rules import WHOLE
from driftline.streams.base import Replay, Rows, Stream
from driftline.streams.keyed import CHUNK, ROWS, generator
from driftline.tables.inputs import Array


class Source(Stream):
    """Base class for seeded streams; a subclass defines how rows are drawn.

    A subclass is a frozen dataclass with a field ``seed`` and a property or field ``d``. ``_draw(rng, at)`` returns one row
    from the distribution at each of the row indices ``at``; ``take``, ``blocks`` and ``holdout`` all use it. If the target
    has weights, ``_target(at)`` returns them.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, repr=False)
    ... class Sine(Source):
    ...     period: float = 100.0
    ...     seed: int = 0
    ...     d = 1
    ...
    ...     def _target(self, at):
    ...         return np.sin(2 * np.pi * at / self.period)[:, None]
    ...
    ...     def _draw(self, rng, at):
    ...         X = rng.normal(size=(len(at), 1))
    ...         return X, (X * self._target(at)).sum(axis=1)
    >>> stream = Sine(period=50.0)
    >>> X, y = stream.take(2000)
    >>> stream.weights.shape, bool(np.allclose(y, X[:, 0] * stream.weights[:, 0]))
    ((2000, 1), True)
    """

    seed: int

    @abstractmethod
    def _draw(self, rng: np.random.Generator, at: Array) -> Rows:
        """One row from the distribution of each of the rows ``at``."""

    def _target(self, at: Array) -> Array | None:
        """The true weights at the rows ``at``; None if the target has none."""
        return None

    def reseeded(self, seed: int) -> Self:
        """The same kind of stream with other random numbers, for its target too."""
        seed = WHOLE.require(f"{type(self).__name__}.reseeded", "seed", seed)
        return dataclasses.replace(self, seed=seed)  # type: ignore[type-var]

    def _rows(self, start: int, stop: int, replay: Replay) -> Rows:
        X, y = np.empty((stop - start, self.d)), np.empty(stop - start)
        while start < stop:
            chunk, skip = divmod(start, CHUNK)
            more = min(CHUNK - skip, stop - start)
            X_chunk, y_chunk = self._kept(chunk, replay)
            here = len(y) - (stop - start)
            X[here : here + more], y[here : here + more] = X_chunk[skip : skip + more], y_chunk[skip : skip + more]
            start += more
        return X, y

    def _kept(self, chunk: int, replay: Replay) -> Rows:
        """A chunk; the last one is kept, because small blocks request the same chunk repeatedly."""
        key, rows = self.__dict__.get("_last", (None, None))
        if key != (chunk, replay):
            rows = self._chunk(chunk, replay)
            self.__dict__["_last"] = (chunk, replay), rows
        kept: Rows = rows
        return kept

    def _chunk(self, chunk: int, replay: Replay) -> Rows:
        return self._draw(generator(self.seed, ROWS, *replay, chunk), self._span(chunk))

    def _span(self, chunk: int) -> Array:
        stop = (chunk + 1) * CHUNK
        return np.arange(chunk * CHUNK, stop if self.length is None else min(stop, self.length))

    def _targets(self, start: int, stop: int, replay: Replay) -> Array | None:
        return self._target(np.arange(start, stop))

    def _fresh(self, t: int, n: int, rng: np.random.Generator) -> Rows:
        return self._draw(rng, np.full(n, t))

    def _seeds(self) -> tuple[int, ...]:
        return (self.seed,)
