"""Streams one after the other."""

from __future__ import annotations

import bisect
import itertools
from dataclasses import dataclass
from typing import Self

import numpy as np

from driftline.streams.base import Replay, Rows, Stream
from driftline.streams.combined import Successive, check_streams, seeds_of_parts


@dataclass(frozen=True, repr=False, init=False)
class Concat(Successive):
    """The rows of several streams, one stream after the other; ``a + b`` is the same.

    All but the last must be finite, such as ``stream.first(rows)``. Streams with the same seed may share their
    random numbers; give them different seeds.

    Args:
        parts: streams with the same number of inputs.

    >>> from driftline.streams import SEA
    >>> stream = SEA(thresholds=[7], rows=1000) + SEA(thresholds=[9], rows=500, seed=1)
    >>> len(stream), stream.starts
    (1500, (0, 1000))
    """

    parts: tuple[Stream, ...]

    def __init__(self, *parts: Stream) -> None:
        if not parts:
            raise ValueError("Concat: it takes one or more streams, got none")
        check_streams("Concat", **{f"parts[{i}]": part for i, part in enumerate(parts)})
        flat = [inner for part in parts for inner in (part.parts if isinstance(part, Concat) else (part,))]
        for i, part in enumerate(flat[:-1]):
            if part.length is None:
                raise ValueError(f"Concat: parts[{i}] must be finite, such as .first(rows), got {part!r}")
        object.__setattr__(self, "parts", tuple(flat))

    def __repr__(self) -> str:
        return f"Concat({', '.join(map(repr, self.parts))})"

    def _parts(self) -> tuple[Stream, ...]:
        return self.parts

    @property
    def length(self) -> int | None:
        """The sum of the parts' rows; None if the last is endless."""
        last = self.parts[-1].length
        return None if last is None else self.starts[-1] + last

    @property
    def starts(self) -> tuple[int, ...]:
        """The row at which each part begins."""
        return tuple(itertools.accumulate((part.length or 0 for part in self.parts[:-1]), initial=0))

    def reseeded(self, seed: int) -> Self:
        """The same streams with other random numbers, different ones in each part."""
        seeds = seeds_of_parts(seed, len(self.parts), "Concat.reseeded")
        return type(self)(*(part.reseeded(own) for part, own in zip(self.parts, seeds, strict=True)))

    def _pieces(self, start: int, stop: int, replay: Replay) -> list[tuple[Stream, int, int, Replay]]:
        first, last = self._part(start), self._part(max(start, stop - 1))
        return [
            (part, max(start - begin, 0), stop - begin if part.length is None else min(stop - begin, part.length), replay)
            for part, begin in zip(self.parts[first : last + 1], self.starts[first : last + 1], strict=True)
        ]

    def _part(self, t: int) -> int:
        return bisect.bisect_right(self.starts, t) - 1

    def _fresh(self, t: int, n: int, rng: np.random.Generator) -> Rows:
        part = self._part(t)
        return self.parts[part]._fresh(t - self.starts[part], n, rng)


Stream._concat = Concat
