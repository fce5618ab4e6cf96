"""Rows that were predicted and wait for their labels."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from driftline import _core
from driftline._core import SparseRows
from driftline.base import levels
from driftline.errors import ModelFileError
from driftline.storage import codec, model_file
from driftline.storage.model_file import Record
from driftline.tables.inputs import Array

if TYPE_CHECKING:
    from driftline.base.learner import Learner


class Ticket(_core.Ticket):
    """A row that was predicted and waits for its label.

    :meth:`driftline.Learner.ask` gives one, and :meth:`driftline.Learner.tell` takes it together with the label. It holds a
    copy of the row, what was predicted and promised about it, and what the model knew at the time.

    >>> import driftline as dl
    >>> model = dl.RLS()
    >>> ticket = model.ask([1.0, 2.0])
    >>> ticket.prediction
    0.0
    >>> model.tell(ticket, 3.0)
    >>> model.n_seen_
    1
    """

    __slots__ = ()

    def interval(self, level: float = 0.9) -> tuple[float, float]:
        """Both ends of the interval that was promised when the row was predicted; infinite while it was not earned."""
        if self.labelled:
            raise ValueError("Ticket.interval: there is no interval around a label")
        if self.predictions.size:
            raise ValueError("Ticket.interval: intervals are for one label a row")
        return self.ends(levels.as_level(level, "Ticket.interval"))

    def to_bytes(self) -> bytes:
        """The ticket in the format of a model file; :meth:`from_bytes` reads it back."""
        arrays: dict[str, Array] = {}
        return model_file.to_bytes(Record("ticket", head_of(self, "", arrays), arrays))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The ticket that :meth:`to_bytes` wrote; raises :class:`driftline.ModelFileError` where it is not sound."""
        ticket = model_file.from_bytes(data)
        if not isinstance(ticket, cls):
            raise ModelFileError(f"holds a {type(ticket).__name__}, not a ticket")
        return ticket

    def __repr__(self) -> str:
        return f"Ticket(prediction={self.prediction!r}, ahead={self.ahead}, told={self.told})"


def mark_of(learner: Learner) -> int:
    """A number that models of the same class with the same parameters share, and others hardly ever."""
    try:
        text = json.dumps(codec.encode_model("", learner), sort_keys=True)
    except ValueError:  # a parameter that no file holds, such as a function
        text = re.sub(r" at 0x[0-9a-f]+", "", repr(learner))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") | 1  # never 0


def refuse_unfit(learner: Learner, ticket: Any, where: str) -> None:
    """Says why a ticket cannot be told to a learner."""
    if not isinstance(ticket, Ticket):
        raise TypeError(f"{where}: expected a Ticket that ask gave, got {type(ticket).__name__}")
    if ticket.told:
        raise ValueError(f"{where}: the ticket was told before")
    if ticket.model != mark_of(learner):
        raise ValueError(f"{where}: the ticket is of another model: its class or its parameters differ")
    if ticket.labels > learner.n_seen_:
        raise ValueError(
            f"{where}: the ticket is of another model: {ticket.labels} labels were known when it was asked for, "
            f"and this one has learned {learner.n_seen_}"
        )


def copy_of(x: Any) -> Any:
    """A row that its owner cannot change any more."""
    if isinstance(x, Mapping):
        return dict(x)
    return x.copy() if isinstance(x, np.ndarray) else x


# As a record.


def head_of(ticket: Ticket, prefix: str, arrays: dict[str, Array]) -> dict[str, Any]:
    """What a ticket is as JSON has it; its arrays are added to those given."""
    arrays[f"{prefix}numbers"] = ticket.numbers
    head: dict[str, Any] = {"model": ticket.model, "told": ticket.told}
    if ticket.predictions.size:
        arrays[f"{prefix}predictions"] = ticket.predictions
    if ticket.labelled:
        label = ticket.prediction
        if label is not None and type(label) not in (str, int, float, bool):
            raise ValueError(f"Ticket.to_bytes: the label {label!r} is neither text nor a number, which bytes need")
        head["label"] = codec.spell_infinities([label])
    x = ticket.x
    if isinstance(x, SparseRows):
        arrays[f"{prefix}x"], arrays[f"{prefix}columns"] = x.values, x.columns
        head["width"] = x.width
    elif isinstance(x, Mapping):
        head["names"] = codec.encode_names("Ticket", list(x))
        arrays[f"{prefix}x"] = np.array([float(value) for value in x.values()])
    else:
        arrays[f"{prefix}x"] = np.ascontiguousarray(x, dtype=None if isinstance(x, np.ndarray) else np.float64)
    if ticket.parts is not None:
        head["parts"] = [head_of(part, f"{prefix}{number}.", arrays) for number, part in enumerate(ticket.parts)]
    return head


def _read(record: Record) -> Ticket:
    return ticket_of(record.head, "", dict(record.arrays))


def ticket_of(head: dict[str, Any], prefix: str, arrays: dict[str, Array]) -> Ticket:
    """What :func:`head_of` gave; raises ModelFileError or ValueError where it is not sound."""
    row = arrays[f"{prefix}x"]
    if row.ndim != 1 or row.dtype not in (np.float64, np.float32):
        raise ModelFileError("the ticket's row is not one of numbers")
    x: Any = row
    if head.get("names") is not None:
        names = codec.decode_names(head["names"])
        assert names is not None
        x = dict(zip(names, row.tolist(), strict=True))
    elif "width" in head:
        columns = arrays[f"{prefix}columns"]
        x = SparseRows(
            row,
            columns,
            np.array([0, len(row)], dtype=columns.dtype),
            codec.decode_count(head["width"], "the ticket's width"),
        )
    numbers = arrays[f"{prefix}numbers"]
    parts = None
    if "parts" in head:
        parts = [ticket_of(part, f"{prefix}{number}.", arrays) for number, part in enumerate(head["parts"])]
    ticket = Ticket(
        x, codec.decode_count(head["model"], "the ticket's mark", 2**64), numbers, arrays.get(f"{prefix}predictions"), parts
    )
    if "label" in head:
        ticket.set_label(*codec.read_infinities(head["label"]))
    ticket.told = bool(head["told"])
    return ticket


model_file.register("ticket", _read)
