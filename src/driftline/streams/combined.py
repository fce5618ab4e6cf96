"""Base classes of streams that consist of other streams."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from driftline.base.rules import WHOLE
from driftline.streams.base import Replay, Rows, Stream, Task
from driftline.tables.inputs import Array


def check_streams(owner: str, **parts: Stream) -> None:
    """Raises TypeError or ValueError unless all parts are streams that fit together."""
    for name, part in parts.items():
        if not isinstance(part, Stream):
            raise TypeError(f"{owner}: {name} must be a stream, got {part!r}")
    (first, *others) = parts.items()
    for name, part in others:
        for what in ("d", "task"):
            if getattr(part, what) != getattr(first[1], what):
                ours, theirs = getattr(first[1], what), getattr(part, what)
                raise ValueError(f"{owner}: {name} must have the {what} of {first[0]}, {ours!r}, got {theirs!r}")


def seeds_of_parts(seed: int, count: int, where: str) -> list[int]:
    """A seed for each of several parts, derived from one.

    >>> len(set(seeds_of_parts(0, 3, "here")))
    3
    """
    seed = WHOLE.require(where, "seed", seed)
    return [int(part) for part in np.random.SeedSequence(seed).generate_state(count)]


class Combined(Stream):
    """A stream that consists of other streams, which have the same number of inputs and the same task."""

    @abstractmethod
    def _parts(self) -> tuple[Stream, ...]:
        """The streams."""

    @property
    def d(self) -> int:
        """The number of inputs."""
        return self._parts()[0].d

    @property
    def task(self) -> Task:
        """The task of the streams."""
        return self._parts()[0].task

    def _seeds(self) -> tuple[int, ...]:
        return tuple(seed for part in self._parts() for seed in part._seeds())


class Successive(Combined):
    """A stream whose rows come from one stream at a time."""

    @abstractmethod
    def _pieces(self, start: int, stop: int, replay: Replay) -> list[tuple[Stream, int, int, Replay]]:
        """The arguments of ``_rows`` for each part that rows ``start`` to ``stop`` touch, at least one."""

    def _rows(self, start: int, stop: int, replay: Replay) -> Rows:
        pieces = [part._rows(low, high, own) for part, low, high, own in self._pieces(start, stop, replay)]
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate([X for X, _ in pieces]), np.concatenate([y for _, y in pieces])

    def _targets(self, start: int, stop: int, replay: Replay) -> Array | None:
        pieces = [part._targets(low, high, own) for part, low, high, own in self._pieces(start, stop, replay)]
        known = [piece for piece in pieces if piece is not None]
        return np.concatenate(known) if len(known) == len(pieces) else None


@dataclass(frozen=True, repr=False)
class Derived(Successive):
    """A stream made from another one, with the same inputs, task and random numbers.

    Args:
        stream: any stream.
    """

    stream: Stream

    def __post_init__(self) -> None:
        super().__post_init__()
        check_streams(type(self).__name__, stream=self.stream)

    def _parts(self) -> tuple[Stream, ...]:
        return (self.stream,)

    def reseeded(self, seed: int) -> Self:
        """The same, made from the stream with other random numbers."""
        return replace(self, stream=self.stream.reseeded(seed))
