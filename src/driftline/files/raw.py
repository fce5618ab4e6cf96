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

    ``kinds`` says what the columns hold; a column without a value so far is not in it.
    """

    table: Any
    start: int
    kinds: dict[str, str]
    place: Place
    consumed: int | None = None

    def __len__(self) -> int:
        return len(self.table)

    def piece(self, begin: int, end: int) -> RawBlock:
        """The rows from ``begin`` to ``end``."""
        if begin == 0 and end == len(self):
            return self
        place = self.place
        table = self.table.slice(begin, end - begin)
        return RawBlock(table, self.start + begin, self.kinds, lambda row: place(begin + row), self.consumed)

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
        self.seen = 0  # rows so far, including skipped ones

    def _wanted(self) -> list[str]:
        return [name for name in self.names if self.options.wants(name)]

    @abstractmethod
    def blocks(self, skip: int = 0) -> Iterator[RawBlock]:
        """The rows from row ``skip`` on."""

    @property
    def rows(self) -> int | None:
        """How many rows there are, if the file says so."""
        return None

    def close(self) -> None:
        """Closes the source."""
        self.opened.close()
