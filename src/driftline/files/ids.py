"""Rows with ids, some of which bring features and others only a label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute

from driftline.files.block import BlockMaker
from driftline.files.columns import as_texts
from driftline.files.digests import Digests
from driftline.files.errors import DataError, UnknownColumnError
from driftline.files.options import Options
from driftline.files.raw import Block
from driftline.files.rows import Rows
from driftline.files.written_times import in_words
from driftline.tables.inputs import Array

BACK_IN_TIME = "goes back in time; --labels needs both files in time order"


class Label(NamedTuple):
    """A line of a label file. ``time`` is a number that orders the lines."""

    id: str
    y: float
    time: float
    digest: int
    place: str


@dataclass(frozen=True)
class Identified:
    """Rows of a file, each with an id.

    Attributes:
        ids: the rows' ids.
        labels: the rows' labels, NaN where one is missing.
        block: the rows that have features.
        places: indices of the block's rows among all rows.
    """

    ids: list[str]
    labels: Array
    block: Block
    places: Array


def identified(raw: Block, rows: Rows) -> Identified:
    """Reads rows with ids.

    A row without any feature brings only a label; the time does not count as a feature.
    """
    ids, labels = ids_of(raw, rows.options), labels_of(raw, rows.maker)
    named = raw.table.schema.names
    features = [name for name in named if rows.options.is_feature(name) and name != rows.options.time]
    there = np.isnan(labels)  # a row without a label is always predicted
    for name in features:
        valid = pyarrow.compute.is_valid(raw.table.column(name))
        there |= np.asarray(valid.to_pylist(), dtype=bool)
    places = np.flatnonzero(there)
    return Identified(ids, labels, rows.read(raw.only(places.tolist())), places)


def ids_of(raw: Block, options: Options) -> list[str]:
    """The ids of some rows; raises DataError if one is missing."""
    return _texts_of(raw, options.id, "id")


def keys_of(raw: Block, options: Options) -> list[str]:
    """The keys of some rows; raises DataError if one is missing."""
    return _texts_of(raw, options.key, "key")


def _texts_of(raw: Block, column: str | None, what: str) -> list[str]:
    texts = as_texts(raw.table.column(column))
    found: list[str] = texts.to_pylist()
    if texts.null_count:
        row = next(row for row, text in enumerate(found) if text is None)
        raise DataError(f"the {what} is missing", place=raw.place(row), column=column)
    return found


def labels_of(raw: Block, maker: BlockMaker) -> Array:
    """The labels of some rows, NaN where one is missing."""
    labels = maker.labels(raw)
    return np.full(len(raw), np.nan) if labels is None else labels


def in_order(raw: Block, block: Block, column: str) -> tuple[Array, str]:
    """The times of some rows as numbers, and the kind of time in words; raises DataError if one is missing."""
    times = block.times
    if times is None:
        raise DataError("has no times, which are needed to put rows and labels in order", column=column)
    missing = np.isnat(times) if times.dtype.kind == "M" else np.isnan(times)
    if missing.any():
        raise DataError("the time is missing", place=block.place(int(missing.argmax())), column=column)
    numbers = times.astype("datetime64[us]").astype(np.float64) if times.dtype.kind == "M" else times
    return numbers, in_words(raw.kinds[column])


class Labels:
    """A label file in time order.

    Args:
        source: its path.
        options: how the rows are read; the id, target and time columns have the same names here.
        kept: what :meth:`state` returned, to continue after the lines already taken.

    Attributes:
        kind: the kind of the rows' times, in words; labels with times of another kind are refused. None if unknown.
    """

    def __init__(self, source: str, options: Options, kept: dict[str, Any] | None) -> None:
        named = {name: getattr(options, name) for name in ("target", "id", "time", "time_format", "na")}
        own = Options(**named, features=())
        self.kind: str | None = None
        self._done = Digests() if kept is None else Digests.restored(kept)
        self._taken: list[int] = []  # digests of lines, to be added to those
        self._latest = -np.inf if kept is None else float(kept["latest"])  # time of the last line taken
        try:
            self.rows = Rows(source, own, known=None if kept is None else kept["known"], done=self._done)
        except UnknownColumnError as error:
            needed = "A label file has the id, the target and the time at which each label became known"
            raise DataError(f"{error.what}. {needed}", source=error.source) from None
        self._lines = self._read()
        self._next: Label | None = None

    def _read(self) -> Iterator[Label]:
        latest = self._latest
        self.rows.start()
        while (raw := self.rows.next_raw()) is not None:
            try:
                ids, labels, block = ids_of(raw, self.rows.options), labels_of(raw, self.rows.maker), self.rows.read(raw)
                times = self._times(raw, block)
            except DataError as error:
                raise error.within(self.rows.name) from None
            lines = zip(ids, labels.tolist(), times.tolist(), raw.digests.tolist(), strict=True)
            for number, line in enumerate(lines):
                label = Label(*line, raw.place(number))
                if np.isnan(label.y):
                    raise DataError("has no label", source=self.rows.name, place=label.place)
                if label.time < latest:
                    raise DataError(BACK_IN_TIME, source=self.rows.name, place=label.place)
                latest = label.time
                yield label

    def _times(self, raw: Block, block: Block) -> Array:
        column = str(self.rows.options.time)
        times, kind = in_order(raw, block, column)
        if self.kind not in (None, kind):
            raise DataError(f"holds {kind}, but the rows have {self.kind}: these cannot be compared", column=column)
        return times

    def before(self, time: float) -> Iterator[Label]:
        """Takes the labels from before a time; each is returned once."""
        while True:
            if self._next is None:
                self._next = next(self._lines, None)
            if self._next is None or self._next.time >= time:
                return
            label, self._next = self._next, None
            self._taken.append(label.digest)
            self._latest = label.time
            yield label

    def count_left(self) -> int:
        """Counts the labels not taken, by reading the file to its end. No label can be taken afterwards."""
        return (self._next is not None) + sum(1 for _ in self._lines)

    def state(self) -> dict[str, Any]:
        """The lines that were taken, by their digests, and what is known about the file."""
        known = self.rows.state() | {"times": BlockMaker(self.rows.options).state()}  # lines are read ahead of those taken
        self._done.add(np.array(self._taken, dtype=np.uint64))
        self._taken = []
        return {"latest": self._latest, "known": known, **self._done.state()}

    def close(self) -> None:
        """Stops reading."""
        self.rows.close()
