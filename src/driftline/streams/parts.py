"""Helpers for streams that combine others."""

from __future__ import annotations

import numpy as np

from driftline.base.rules import WHOLE
from driftline.streams.base import Stream


def check_streams(owner: str, **parts: Stream) -> None:
    """Raises where a part is not a stream, or the parts do not fit together."""
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
    """A seed for each of several parts, made from one.

    >>> len(set(seeds_of_parts(0, 3, "here")))
    3
    """
    seed = WHOLE.require(where, "seed", seed)
    return [int(part) for part in np.random.SeedSequence(seed).generate_state(count)]
