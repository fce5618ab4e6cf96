"""Rows as a reader returns them: Arrow columns, and their places in the file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from driftline.files.opening import Opened
from driftline.files.options import Options

Place = Callable[[int], str]  # describes where in the source a row of a block is


@dataclass(frozen=True)
class RawBlock:
    """Rows as an Arrow table, with the index of the first row and a function that describes a row's place.

    ``kinds`` says what the columns hold; a column without a value so far is not in it. ``digests`` has a digest of each row
    if the run is saved.
    """

    table: Any
    start: int
    kinds: dict[str, str]
    place: Place
    consumed: int | None = None
    digests: Any = None

    def __len__(self) -> int:
        return len(self.table)

    def piece(self, begin: int, end: int) -> RawBlock:
        """The rows from ``begin`` to ``end``."""
        if begin == 0 and end == len(self):
            return self
        place = self.place
        table = self.table.slice(begin, end - begin)
        digests = None if self.digests is None else self.digests[begin:end]
        return RawBlock(table, self.start + begin, self.kinds, lambda row: place(begin + row), self.consumed, digests)

    def only(self, rows: list[int]) -> RawBlock:
        """Some of the rows."""
        if len(rows) == len(self):
            return self
        place = self.place
        table = self.table.take(pa.array(rows, pa.int64()))
        return RawBlock(table, self.start, self.kinds, lambda row: place(rows[row]), self.consumed)


class Reader(ABC):
    """Reads a source in blocks, in bounded memory.

    Args:
        opened: the source.
        options: how to read it.
        types: what an earlier reading found out about the columns.
    """

    def __init__(self, opened: Opened, options: Options, types: dict[str, str] | None = None) -> None:
        self.opened, self.options = opened, options
        self.types: dict[str, str] = dict(types or {})
        self.names: list[str] = []  # the columns of the source, as far as known
        self.decimal = "."  # decimal mark of numbers in text

    def wanted(self) -> list[str]:
        """The columns that are read."""
        return [name for name in self.names if self.options.wants(name)]

    @abstractmethod
    def blocks(self) -> Iterator[RawBlock]:
        """The rows."""

    @property
    def rows(self) -> int | None:
        """How many rows there are, if the file says so."""
        return None

    def close(self) -> None:
        """Closes the source."""
        self.opened.close()
