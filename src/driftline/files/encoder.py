"""Turns the columns of a file into rows of numbers; new features may appear on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from driftline.files.block import BlockMaker
from driftline.files.columns import as_coded, as_moments, as_numbers, as_texts, zone_of
from driftline.files.errors import DataError
from driftline.files.options import Options
from driftline.files.raw import RawBlock
from driftline.tables import cells, encoder
from driftline.tables.calendar import MISSING
from driftline.tables.cells import Given
from driftline.tables.columns import Categories, Numbers, Unknown
from driftline.tables.inputs import Array
from driftline.tables.missing import MEAN, RAISE, SKIP


@dataclass(frozen=True, eq=False)
class Block:
    """A block of rows as numbers.

    Attributes:
        X: (n, d), with the d features known at the block's end; a feature is 0 before it appears.
        y: (n,) labels, NaN where one is missing; classes as objects, None where one is missing. None if the file has no
            target.
        names: names of the d features.
        growth: (row, d from this row on), in order, for the rows that bring new features.
        width_before: number of features before the block's first row.
        times: (n,) values of the time column, in UTC if they have a zone; None if there is no such column.
        zone: time zone of the times, if they have one.
        start: the index of the first row in the file.
        place: describes where in the file a row of the block is.
        consumed: bytes of the file read so far, if known.
    """

    X: Array
    y: Array | None
    names: list[str]
    growth: list[tuple[int, int]]
    times: Array | None
    start: int
    place: Callable[[int], str]
    consumed: int | None = None
    width_before: int = 0
    zone: str | None = None

    def __len__(self) -> int:
        return len(self.X)

    def spans(self) -> list[tuple[int, int, int]]:
        """Spans of rows with the same features: (first row, end, number of features)."""
        return encoder.spans(self.growth, self.width_before, len(self.X))


class Encoder(encoder.Columns):
    """Turns blocks of a file's columns into blocks of rows.

    Args:
        options: which columns are wanted, and how they become features.
    """

    def __init__(self, options: Options, maker: BlockMaker | None = None) -> None:
        super().__init__({"": MEAN, **options.missing}, limit=options.categories)
        self.options, self.maker = options, maker or BlockMaker(options)

    def encode(self, raw: RawBlock, *, learn: bool = True) -> Block:
        """The rows of a block. The columns learn from those that have a label, or are to get one by their id."""
        before, order = len(self.names), self.options.time if self.maker.is_order(raw) else None
        found = dict(zip(raw.table.schema.names, raw.table.columns, strict=True))
        for name in found:
            new = learn and name in raw.kinds and name not in self.columns
            if new and name != order and self.options.is_feature(name):
                self.add(name, raw.kinds[name])
        values = {name: self._read(name, found.get(name), raw) for name in self.columns if name != order}
        lost = self._lost(values, raw)
        labels, times = self.maker.labels(raw), self.maker.times(raw)
        X, growth = self.rows(values, len(raw), self._learned(labels, lost) if learn else np.zeros(len(raw), dtype=bool))
        for first, last, width in encoder.spans(growth, before, len(raw)) if lost.any() else ():
            X[first:last, :width][lost[first:last]] = np.nan
        names, zone = list(self.names), None if times is None else zone_of(raw.table.column(self.options.time))
        return Block(X, labels, names, growth, times, raw.start, raw.place, raw.consumed, before, zone)

    @property
    def has_more_than_numbers(self) -> bool:
        """Whether a feature is text or a time."""
        return not all(isinstance(column, Numbers | Unknown) for column in self.columns.values())

    def as_given(self, raw: RawBlock) -> pa.Table:
        """The columns of a block that become features, as they are, for a model that encodes them itself."""
        there, found = set(raw.table.schema.names), {}
        for name, column in self.columns.items():
            values = raw.table.column(name) if name in there else pa.nulls(len(raw.table))
            found[name] = as_texts(values) if isinstance(column, Categories) else values
        return pa.table(found)

    def _read(self, name: str, values: Any, raw: RawBlock) -> Any:
        """The values of a column in the form that its encoder takes; all are missing if the block lacks it."""
        column, rows = self.columns[name], len(raw.table)
        absent = values is None or pa.types.is_null(values.type)
        try:
            if isinstance(column, Numbers):
                return np.full(rows, np.nan) if absent else self.maker._finite(as_numbers(values), name, raw)
            if isinstance(column, Categories):
                return as_coded(pa.nulls(rows, pa.string()) if absent else values)
            return np.full(rows, MISSING) if absent else as_moments(values)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise DataError(f"holds {raw.kinds.get(name)}, but held {column.kind} before", column=name) from None

    def _learned(self, labels: Array | None, lost: Array) -> Array | None:
        """The rows that the columns learn from: those that are not left out and have a label; None for all."""
        learned = ~lost
        if self.options.target is not None and self.options.id is None:
            if labels is None:
                learned[:] = False
            elif labels.dtype == object:
                learned &= np.array([label is not None for label in labels], dtype=bool)
            else:
                learned &= ~np.isnan(labels)
        return None if learned.all() else learned

    def _lost(self, values: Mapping[str, Any], raw: RawBlock) -> Array:
        """The rows that are left out for lack of a value; raises DataError for the first that must not lack one."""
        lost, refused = np.zeros(len(raw), dtype=bool), []
        for name, given in values.items():
            column, word = self.columns[name], self.word(name)
            if word not in (SKIP, RAISE):
                continue
            absent = cells.missing_in(Given(column.kind, given))
            if not column.met:  # it counts from its first value on
                absent[: len(absent) if absent.all() else int(absent.argmin())] = False
            lost |= absent
            if word == RAISE and absent.any():
                refused.append((int(absent.argmax()), name))
        if refused:
            row, name = min(refused, key=itemgetter(0))
            raise DataError("the value is missing, which --missing raise refuses", place=raw.place(row), column=name)
        return lost
