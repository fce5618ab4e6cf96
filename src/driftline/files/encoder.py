"""Turns the columns of a file into rows of numbers; new features may appear on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from driftline.files.columns import as_coded, as_moments, as_numbers, as_texts, zone_of
from driftline.files.errors import DataError, Hint, left_out, not_as_values
from driftline.files.options import CLASSIFY, Options
from driftline.files.raw import RawBlock
from driftline.files.written_times import EXAMPLE, LIKE_EXAMPLE
from driftline.tables import cells, encoder, kinds
from driftline.tables.calendar import MISSING
from driftline.tables.cells import Given
from driftline.tables.columns import Categories, Numbers, Unknown, all_finite
from driftline.tables.inputs import Array
from driftline.tables.missing import MEAN, RAISE, SKIP
from driftline.tables.unseen import Averages, Row

RECENT = 11  # times to keep: enough to see the steps of two working weeks


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
        averages: what stands for a category that a model has not learned.
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
    averages: Averages = field(default_factory=dict)

    def row(self, place: int, width: int) -> Row:
        """A row by the names of its first features, for a model that may not know all of them."""
        return Row(zip(self.names, self.X[place, :width].tolist(), strict=False), self.averages)

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

    def __init__(self, options: Options) -> None:
        super().__init__({"": MEAN, **options.missing}, limit=options.categories)
        self.options = options
        self.recent: list[float] = []  # the last times, dates in seconds
        self.backwards = 0  # rows whose time is before the previous row's

    def encode(self, raw: RawBlock, *, learn: bool = True) -> Block:
        """The rows of a block. The columns learn from those that have a label, or are to get one by their id."""
        before, order = len(self.names), self.options.time if self._is_order(raw) else None
        found = dict(zip(raw.table.schema.names, raw.table.columns, strict=True))
        for name in found:
            new = learn and name in raw.kinds and name not in self.columns
            if new and name != order and self.options.is_feature(name):
                self.add(name, raw.kinds[name])
        values = {name: self._read(name, found.get(name), raw) for name in self.columns if name != order}
        lost = self._lost(values, raw)
        labels, times = self.labels(raw), self._times(raw)
        X, growth = self.rows(values, len(raw), self._learned(labels, lost) if learn else np.zeros(len(raw), dtype=bool))
        for first, last, width in encoder.spans(growth, before, len(raw)) if lost.any() else ():
            X[first:last, :width][lost[first:last]] = np.nan
        self.note_averages()
        names, zone = list(self.names), None if times is None else zone_of(raw.table.column(self.options.time))
        return Block(X, labels, names, growth, times, raw.start, raw.place, raw.consumed, before, zone, self.averages)

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

    def _is_order(self, raw: RawBlock) -> bool:
        """Whether the time is a plain number, which orders the rows and is not a feature."""
        return raw.kinds.get(self.options.time or "") == kinds.NUMBER

    def _read(self, name: str, values: Any, raw: RawBlock) -> Any:
        """The values of a column in the form that its encoder takes; all are missing if the block lacks it."""
        column, rows = self.columns[name], len(raw.table)
        absent = values is None or pa.types.is_null(values.type)
        try:
            if isinstance(column, Numbers):
                return np.full(rows, np.nan) if absent else self._finite(as_numbers(values), name, raw)
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

    def _finite(self, values: Array, name: str, raw: RawBlock) -> Array:
        if not all_finite(values) and (infinite := np.isinf(values)).any():
            row = int(infinite.argmax())
            what = "the target" if name == self.options.target else "the number"
            raise DataError(f"{what} is infinite", place=raw.place(row), column=name, hints=left_out(name, self.options))
        return values

    def labels(self, raw: RawBlock) -> Array | None:
        """The labels of a block, NaN where one is missing (None for classes); None if the file has no target."""
        name = self.options.target
        if name is None or name not in raw.table.schema.names:
            return None
        values, kind = raw.table.column(name), raw.kinds.get(name)
        if self.options.task == CLASSIFY:
            return as_classes(values)
        if kind is None or pa.types.is_null(values.type):
            return np.full(len(raw.table), np.nan)
        if kind not in (kinds.NUMBER, kinds.TRUTH):
            raise DataError(f"the target must hold numbers, but holds {kind.partition(' ')[0]}", column=name)
        return self._finite(as_numbers(values), name, raw)

    def _times(self, raw: RawBlock) -> Array | None:
        name = self.options.time
        if name is None or name not in raw.table.schema.names or name not in raw.kinds:
            return None
        if self._is_order(raw):
            times = as_numbers(raw.table.column(name))
            numbers = times
        elif raw.kinds[name] == kinds.TEXT:
            first = next((text for text in as_texts(raw.table.column(name)).to_pylist() if text is not None), "")
            raise DataError(
                f"{first[:40]!r} is not a time in a known format",
                place=raw.place(0),
                column=name,
                hints=[Hint("time_format", EXAMPLE, LIKE_EXAMPLE), *not_as_values(name, self.options)],
            )
        else:
            moments = as_moments(raw.table.column(name), local=False)
            times = moments.astype("datetime64[us]")
            numbers = np.where(moments == MISSING, np.nan, moments / 1e6)
        self._watch(numbers)
        return times

    def _watch(self, numbers: Array) -> None:
        """Counts the rows that go back in time."""
        numbers = numbers[~np.isnan(numbers)]
        if len(numbers):
            times = np.concatenate([self.recent, numbers])
            self.backwards += int((np.diff(times[max(len(self.recent) - 1, 0) :]) < 0).sum())
            self.recent = times[-RECENT:].tolist()

    def dated(self) -> str | None:
        """The first column of dates or timestamps, which could be the time of a row; None if there is none."""
        return next((name for name, column in self.columns.items() if column.kind in (kinds.DATE, kinds.TIMESTAMP)), None)

    def crowded(self) -> dict[str, int]:
        """Columns with more distinct texts than the limit for features of their own, and that limit."""
        return {
            name: column.limit
            for name, column in self.columns.items()
            if isinstance(column, Categories) and column.shared and column.limit
        }

    def state(self) -> dict[str, Any]:
        """The state, as plain values."""
        return super().state() | {"recent": self.recent, "backwards": self.backwards}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what :meth:`state` returned."""
        super().restore(state)
        self.recent = [float(time) for time in state["recent"]]
        self.backwards = int(state["backwards"])


def as_classes(values: Any) -> Array:
    """A column of classes as texts; None where one is missing."""
    found = np.full(len(values), None, dtype=object)
    if not pa.types.is_null(values.type):
        found[:] = as_texts(values).to_pylist()
    return found
