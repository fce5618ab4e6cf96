"""Base class of streams that are derived from another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from driftline.streams.base import Stream, Task
from driftline.streams.parts import check_streams


@dataclass(frozen=True, repr=False)
class Derived(Stream):
    """A stream made of another one: it has its inputs, its task and its random numbers.

    Args:
        stream: any stream.
    """

    stream: Stream

    def __post_init__(self) -> None:
        super().__post_init__()
        check_streams(type(self).__name__, stream=self.stream)

    @property
    def d(self) -> int:
        """Inputs of a row."""
        return self.stream.d

    @property
    def task(self) -> Task:
        """The stream's."""
        return self.stream.task

    def reseeded(self, seed: int) -> Self:
        """The same of the stream with other random numbers."""
        return replace(self, stream=self.stream.reseeded(seed))

    def _seeds(self) -> tuple[int, ...]:
        return self.stream._seeds()
