"""Rows as a reader hands them on: columns of Arrow, and where they stand in the file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from driftline.files.opening import Opened

NULLS = ("", "NA", "N/A", "n/a", "na", "#N/A", "NaN", "nan", "-nan", "NULL", "null", "None", "none", "?")


@dataclass(frozen=True)
class Options:
    """How a file is to be read.

    Attributes:
        columns: those that are wanted; None for all.
        text: columns to be taken as text whatever they look like.
        na: further spellings of a missing value.
        delimiter: between the values of a line; None to find out.
        time: the column that says when.
        time_format: how its times are written, as in ``strptime``.
        target: the column that is predicted.
        drop: columns that are not wanted.
        target_needed: whether rows without a target are of no use.
    """

    columns: tuple[str, ...] | None = None
    text: tuple[str, ...] = ()
    na: tuple[str, ...] = ()
    delimiter: str | None = None
    time: str | None = None
    time_format: str | None = None
    target: str | None = None
    drop: tuple[str, ...] = ()
    target_needed: bool = True

    def __post_init__(self) -> None:
        both = [name for name in self.columns or () if name in self.drop]
        if both:
            raise ValueError(f"{both[0]!r} is among the features and among those to drop; name it once")

    def wants(self, name: str) -> bool:
        """Whether a column is to be read."""
        return name in (self.time, self.target) or self.is_feature(name)

    def is_feature(self, name: str) -> bool:
        """Whether a column is there to predict from. The column that says when may serve for that alone."""
        return name != self.target and name not in self.drop and (self.columns is None or name in self.columns)

    @property
    def nulls(self) -> list[str]:
        """Every spelling of a missing value."""
        return [*NULLS, *self.na]


@dataclass(frozen=True)
class RawBlock:
    """Some rows: a table of Arrow, the index of its first row, and the words for the place of a row in it.

    ``kinds`` says what the columns hold; a column that has held nothing so far is not in it.
    """

    table: Any
    start: int
    kinds: dict[str, str]
    place: Callable[[int], str]
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


class Reader(ABC):
    """Reads a source in blocks, in bounded memory.

    Args:
        opened: the source.
        options: how to read it.
        types: what was found out about the columns when it was read before.
    """

    def __init__(self, opened: Opened, options: Options, types: dict[str, str] | None = None) -> None:
        self.opened, self.options = opened, options
        self.types: dict[str, str] = dict(types or {})
        self.decimal = "."  # of numbers in text
        self.seen = 0  # rows so far, those that were skipped included

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The columns of the source, as far as they are known."""

    @abstractmethod
    def blocks(self, skip: int = 0) -> Iterator[RawBlock]:
        """The rows from the row ``skip`` on."""

    @property
    def rows(self) -> int | None:
        """How many rows there are, where the file says so."""
        return None

    def close(self) -> None:
        """Closes the source."""
        self.opened.close()
