"""Entries of a queue, how they become rows, and the interface of a source."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple, Protocol

Json = dict[str, Any]


class Entry(NamedTuple):
    """One entry of a queue.

    Attributes:
        id: identifies the entry, the same each time it is delivered; None if the queue has no such thing.
        content: its fields, or JSON.
        label: whether it comes from the place of the labels.
        position: the part of the queue and a place in it that only grows; None if the queue has no such thing.
        text: whether the queue knows only text: a feature is a number if it can be read as one, and null if it is empty.
    """

    id: str | None
    content: Mapping[str, Any] | str | bytes | None
    label: bool = False
    position: tuple[str, Any] | None = None
    text: bool = False


class Row(NamedTuple):
    """What an entry holds: a row if it has features, a label if it has a y, or both."""

    entry: Entry
    id: str
    key: str | None
    x: Json | None
    y: float | None


@dataclass
class Reply:
    """What became of an entry.

    Attributes:
        prediction: the record for the place of the predictions, if its row was predicted.
        error: why it was set aside, if it was.
        result: ``"learned"``, ``"known"``, ``"early"``, ``"waiting"`` or ``"rejected"``.
    """

    prediction: Json | None = None
    error: str | None = None
    result: str = "waiting"


class Source(Protocol):
    """A queue. Entries that were read and not finished must come again after ``open``, and after a crash."""

    lost: tuple[type[Exception], ...] = ()
    """What the methods raise if the connection is lost; ``open`` is then called again."""

    def open(self) -> None:
        """Connects, and goes to the first entry that is not finished."""

    def read(self, most: int, seconds: float) -> Sequence[Entry]:
        """The next entries, at most so many; none if none come within the seconds."""

    def finish(self, entries: Sequence[Entry], predictions: Sequence[Json], rejected: Sequence[Json]) -> None:
        """Sends the records to their places, then commits the entries; both at once if the queue can."""

    def close(self) -> None:
        """Disconnects."""


class Queue(Source):
    """The base class of the adapters: a place of rows, and others of labels, predictions and entries that were set aside.

    Args:
        url: the address.
        rows, labels, predictions, rejected: the names of the places; labels may come with the rows, and predictions are sent
            only to a place.
        group: the name under which the queue keeps what was consumed.
    """

    set_aside = "{rows}.rejected"  # the place, if no other is given

    def __init__(
        self,
        url: str,
        rows: str,
        *,
        labels: str | None = None,
        predictions: str | None = None,
        rejected: str | None = None,
        group: str = "driftline",
    ) -> None:
        self.url, self.labels, self.predictions, self.group = url, labels, predictions, group
        self.rejected = rejected or self.set_aside.format(rows=rows, group=group)
        self.read_from = [*dict.fromkeys([rows, labels or rows])]

    def records(self, predictions: Sequence[Json], rejected: Sequence[Json]) -> Iterator[tuple[str, Json]]:
        """Each record with its place."""
        for place, records in ((self.predictions, predictions), (self.rejected, rejected)):
            yield from ((place, record) for record in records if place is not None)


@dataclass(frozen=True)
class Fields:
    """Which fields of an entry are not features.

    Attributes:
        target: the label. An entry without it, or with null, is a row that waits for its label.
        id: matches rows with labels; an entry that lacks it goes by its own id.
        key: the key of a keyed model.
        drop: fields to leave out.
    """

    target: str = "y"
    id: str = "id"
    key: str | None = None
    drop: Sequence[str] = ()

    def read(self, entry: Entry) -> Row:
        """Reads an entry; raises ValueError if it is neither a row nor a label."""
        content = entry.content
        if isinstance(content, (str, bytes)):
            content = json.loads(content)
        if not isinstance(content, Mapping):
            raise ValueError(f"an entry must be an object of names and values, got {type(content).__name__}")
        x = dict(content)
        found, y, key = x.pop(self.id, None), x.pop(self.target, None), None if self.key is None else x.pop(self.key, None)
        for name in self.drop:
            x.pop(name, None)
        if (id := entry.id if found is None else str(found)) is None:
            raise ValueError(f"there is no field {self.id!r}, and the queue gives its entries no ids")
        if entry.text:
            x, y = {name: _read(value) for name, value in x.items()}, _read(y)
        _value(self.id, id)
        if y is not None and (isinstance(y, str) or not isfinite(y := float(y))):
            raise ValueError(f"{self.target} must be a number, got {y!r}")
        if entry.label or not x:
            if y is None:
                raise ValueError(f"there is neither a feature nor a {self.target}")
            return Row(entry, id, None, None, y)
        if self.key is not None and key is None:
            raise ValueError(f"there is no field {self.key!r}, the key")
        key = None if key is None else _value("key", str(key))
        return Row(entry, id, key, {name: _value(name, each) for name, each in x.items()}, y)


def _value(name: str, value: Any) -> Any:
    (name + value if isinstance(value, str) else name).encode()  # ValueError for half a surrogate pair
    if isinstance(value, (int, float)) and not isfinite(value):  # OverflowError for an integer beyond all floats
        raise ValueError(f"{name} must be finite, got {value!r}")
    if value is not None and not isinstance(value, (str, int, float, bool)):
        raise ValueError(f"{name} must be a number, text, true, false or null, got {type(value).__name__}")
    return value


def _read(value: Any) -> Any:
    """A value that came as text."""
    if not isinstance(value, str):
        return value
    try:
        return float(value) if value else None
    except ValueError:
        return value
