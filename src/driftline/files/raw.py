"""Rows of a file: Arrow columns with their places, and what learners take of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from driftline.files.opening import Opened
from driftline.files.options import Options
from driftline.files.types import type_name
from driftline.files.written_times import TextColumn, with_times
from driftline.tables.inputs import Array
from driftline.tables.kinds import TEXT

Place = Callable[[int], str]  # describes where in the source a row of a block is


@dataclass(frozen=True, eq=False)
class Block:
    """A block of rows. A reader returns their Arrow table; X, y and times are read of it.

    Attributes:
        X: the features by column, as numbers, text and times; every method that learns or predicts takes them.
        y: (n,) labels, NaN where one is missing; classes as objects, None where one is missing. None if the file has no
            target.
        times: (n,) values of the time column, in UTC if they have a zone; None if there is no such column.
        start: the index of the first row in the file.
        place: describes where in the file a row of the block is.
        consumed: bytes of the file read so far, if known.
        zone: time zone of the times, if they have one.
        table: the rows as they were read.
        kinds: what the columns hold; a column without a value so far is not in it.
        digests: a digest of each row, if the run is saved.
    """

    X: Any = None
    y: Array | None = None
    times: Array | None = None
    start: int = 0
    place: Place = str
    consumed: int | None = None
    zone: str | None = None
    table: Any = None
    kinds: dict[str, str] = field(default_factory=dict)
    digests: Any = None

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [str(name) for name in self.X.names or ()]

    def __len__(self) -> int:
        return len(self.table if self.X is None else self.X)

    def piece(self, begin: int, end: int) -> Block:
        """The rows from ``begin`` to ``end``, not read yet."""
        if begin == 0 and end == len(self):
            return self
        place, table = self.place, self.table.slice(begin, end - begin)
        digests = None if self.digests is None else self.digests[begin:end]
        return replace(self, table=table, start=self.start + begin, place=lambda row: place(begin + row), digests=digests)

    def only(self, rows: list[int]) -> Block:
        """Some of the rows, not read yet."""
        if len(rows) == len(self):
            return self
        place, table = self.place, self.table.take(pa.array(rows, pa.int64()))
        return replace(self, table=table, place=lambda row: place(rows[row]), digests=None)


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
        self.cut_off = False  # whether reading was asked to end within a row

    def wanted(self) -> list[str]:
        """The columns that are read."""
        return [name for name in self.names if self.options.wants(name)]

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """The rows."""

    def _settle(self, table: Any, place: Place) -> None:
        """Decides what each column holds, from these rows. A column without values is left for later."""
        for name in table.schema.names:
            if name in self.types or not self.options.wants(name):
                continue
            column = table.column(name)
            if name in self.options.texts:
                kind: str | None = TEXT
            elif pa.types.is_null(column.type):
                kind = None
            else:
                kind = type_name(column.type)
                kind = self._kind_of_texts(name, column, place) if kind == TEXT else kind
            self.types |= {} if kind is None else {name: kind}

    def _kind_of_texts(self, name: str, column: Any, place: Place) -> str | None:
        """What a column of text holds: text, or times; None if it has no value."""
        return TextColumn(name, column, self.options, place, self.opened.name).kind()

    def _block(self, table: Any, start: int, place: Place) -> Block:
        """The rows of a table, from row ``start`` of the file on."""
        table, kinds = with_times(table, self.types, self.options, place, self.opened.name)
        return Block(table=table, start=start, kinds=kinds, place=place, consumed=self._consumed())

    def _consumed(self) -> int | None:
        """The bytes read so far, if known."""
        return self.opened.consumed()

    @property
    def rows(self) -> int | None:
        """How many rows there are, if the file says so."""
        return None

    def close(self) -> None:
        """Closes the source."""
        self.opened.close()
