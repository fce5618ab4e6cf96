"""Tickets: predicted rows that wait for their labels."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from driftline import _core
from driftline._core import SparseRows
from driftline.base.levels import QUANTILES, Levels, as_level, as_levels
from driftline.base.scale import Scale
from driftline.errors import ModelFileError
from driftline.storage import codec, model_file
from driftline.tables.calendar import Moment
from driftline.tables.cells import Row
from driftline.tables.columns import Filled
from driftline.tables.inputs import Array
from driftline.tables.kinds import CLOCK, DATE, TIMESTAMP

if TYPE_CHECKING:
    from driftline.base.learner import Learner

_BOUNDS = slice(8, 24)  # the interval bounds among a ticket's numbers, one for each level
_MOST_BOUND = 1e300  # keeps a model's own bounds finite


class Ticket(_core.Ticket):
    """A predicted row that waits for its label.

    :meth:`driftline.Learner.ask` returns one, and :meth:`driftline.Learner.tell` takes it together with the label. It holds
    a copy of the row, its prediction and intervals, and what the model knew at the time.

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
        """Both ends of the interval from when the row was predicted; infinite if too few labels were known."""
        if self.labelled:
            raise ValueError("Ticket.interval: class labels have no interval")
        if self.predictions.size:
            raise ValueError("Ticket.interval: intervals need a single label per row")
        return self.ends(as_level(level, "Ticket.interval"))

    def quantiles(self, levels: Levels = QUANTILES) -> Array:
        """Quantiles of the label, from when the row was predicted: (k,), infinite if too few labels were known."""
        if self.labelled:
            raise ValueError("Ticket.quantiles: class labels have no quantiles")
        if self.predictions.size:
            raise ValueError("Ticket.quantiles: quantiles need a single label per row")
        return self._quantiles(as_levels(levels, "Ticket.quantiles"))

    def _quantiles(self, levels: Array) -> Array:
        if self.scale is None:
            found: Array = self.quantiles_at(levels)
            return found
        if self.parts is None and isinstance(self.x, ByColumns):
            return self.x.ticket._quantiles(levels)
        inner: Array = self.parts[0]._quantiles(levels)
        return inner if self.scale is True else self.scale.ends(inner)

    def ends(self, level: Any) -> tuple[float, float]:
        """Both ends of the interval at a level as the core takes it."""
        within = self.x if self.scale is True and self.parts is None else None
        return within.ticket.ends(level) if isinstance(within, ByColumns) else super().ends(level)

    @property
    def wanted(self) -> bool:
        """Whether the label is wanted; always, unless the model is :class:`driftline.Selective`."""
        choice = self._choice
        return choice is None or bool(choice["wanted"])

    @property
    def chance(self) -> float:
        """The probability with which the label was wanted."""
        choice = self._choice
        return 1.0 if choice is None else float(choice["chance"])

    @property
    def _choice(self) -> Mapping[str, float] | None:
        if isinstance(self.x, ByColumns):
            return self.x.ticket._choice
        for part in reversed(self.parts or ()):
            if isinstance(part.x, Mapping) and part.x.keys() == {"chance", "wanted"}:
                return part.x
            if (found := part._choice) is not None:
                return found  # type: ignore[no-any-return]
        return None

    def to_bytes(self) -> bytes:
        """The ticket in the format of a model file; :meth:`from_bytes` reads it back."""
        return model_file.to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The ticket that :meth:`to_bytes` wrote; raises :class:`driftline.ModelFileError` if it is invalid."""
        ticket = model_file.from_bytes(data)
        if not isinstance(ticket, cls):
            raise ModelFileError(f"holds {type(ticket).__name__}, not a ticket")
        return ticket

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return copy.copy(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return f"Ticket(prediction={self.prediction!r}, delay={self.delay}, told={self.told})"


@dataclass(frozen=True)
class ByColumns:
    """The row of a ticket that has columns of text or times, or a filled-in missing value.

    Attributes:
        cells: the row by columns.
        ticket: the ticket for the row as the core saw it.
    """

    cells: Row
    ticket: Ticket


def of_columns(cells: Row, ticket: Ticket) -> Ticket:
    """Wraps a ticket, so that ``tell`` encodes its row again with the columns known by then."""
    made = Ticket(ByColumns(cells, ticket), ticket.model, ticket.numbers, ticket.predictions, places=ticket.places)
    made.scale, made.at = None if ticket.scale is None else True, ticket.at
    return made


def with_row(ticket: Ticket, x: Any, parts: list[Any] | None = None) -> Ticket:
    """A copy of the ticket with another row, and with other parts if they are given."""
    made = Ticket(x, ticket.model, ticket.numbers, ticket.predictions, parts or copy.copy(ticket).parts, ticket.places)
    made.scale, made.at = ticket.scale, ticket.at
    return made


def mark_of(learner: Learner) -> int:
    """Identifies a model's class and parameters: a 64-bit digest of them."""
    values, mark = learner._known_mark
    if values is learner._values:
        return mark
    try:
        text = json.dumps(_without_defaults(codec.encode_model("", learner)), sort_keys=True)
    except ValueError:  # a parameter that cannot be saved, such as a function
        text = re.sub(r" at 0x[0-9a-f]+", "", repr(learner))
    mark = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") | 1  # never 0
    learner._known_mark = learner._values, mark
    return mark


def _without_defaults(encoded: Any) -> Any:
    """Encoded parameters other than the defaults, so that a parameter that is added later does not change the mark."""
    if isinstance(encoded, list):
        return [_without_defaults(item) for item in encoded]
    if not isinstance(encoded, dict) or "fields" not in encoded:
        return encoded
    known = getattr(codec.class_of(encoded["object"]), "_params", {})
    own = {
        name: _without_defaults(value)
        for name, value in encoded["fields"].items()
        if name not in known or type(known[name].default) is not type(value) or known[name].default != value
    }
    return {**encoded, "fields": own}


def check_ticket(learner: Learner, ticket: Any, where: str) -> None:
    """Raises an error, with the reason, if a learner cannot take a ticket."""
    if not isinstance(ticket, Ticket):
        raise TypeError(f"{where}: expected a Ticket from ask, got {type(ticket).__name__}")
    if ticket.told:
        raise ValueError(f"{where}: the ticket has already been told its label")
    if ticket.parts is not None and not ticket.parts:
        raise ValueError(f"{where}: the ticket lacks the tickets of the model's parts")
    if ticket.model != mark_of(learner):
        raise ValueError(f"{where}: the ticket belongs to another model: its class or its parameters differ")
    known = 0 if learner._core is None else int(learner._sums()["rows"])
    if ticket.labels > known:
        raise ValueError(
            f"{where}: the ticket belongs to another model: {ticket.labels} labels were known when it was made, "
            f"and this one has learned {known}"
        )


def copy_of(x: Any) -> Any:
    """A copy of a row that its owner cannot change."""
    if isinstance(x, Mapping):
        return dict(x)
    return x.copy() if isinstance(x, np.ndarray) else x


# Files.


def _fields_of(ticket: Ticket) -> dict[str, Any]:
    """What files hold of a ticket; raises ValueError if they cannot."""
    fields: dict[str, Any] = {"model": ticket.model, "told": ticket.told, "numbers": _bounded(ticket.numbers)}
    if ticket.places.size:
        fields["places"] = ticket.places
    if ticket.predictions.size:
        fields["predictions"] = ticket.predictions
    if not math.isnan(ticket.at):
        fields["at"] = ticket.at
    if ticket.scale is not None:
        fields["scale"] = ticket.scale
    if ticket.labelled:
        label = ticket.prediction
        if label is not None and type(label) not in (str, int, float, bool):
            raise ValueError(f"Ticket.to_bytes: the label {label!r} is neither text nor a number, so it cannot be saved")
        fields["label"] = [label]
    if ticket.parts is not None:
        fields["parts"] = list(ticket.parts)
    x = ticket.x
    if isinstance(x, ByColumns):
        codec.require_text("Ticket", list(x.cells))
        return {**fields, "row": plain_row(x.cells), "named": x.cells.named, "inner": x.ticket}
    if isinstance(x, SparseRows):
        return {**fields, "x": x.values, "columns": x.columns, "width": x.width}
    if isinstance(x, Mapping):
        codec.require_text("Ticket", list(x))
        return {**fields, "x": np.array([float(value) for value in x.values()]), "names": list(x)}
    return {**fields, "x": np.ascontiguousarray(x, dtype=None if isinstance(x, np.ndarray) else np.float64)}


def _made(
    model: int,
    numbers: Array,
    told: bool = False,
    predictions: Array | None = None,
    label: list[Any] | None = None,
    parts: list[Ticket] | None = None,
    scale: Any = None,
    places: Array | None = None,
    at: float = math.nan,
    **row: Any,
) -> Ticket:
    """The ticket of these fields; raises ModelFileError or ValueError if they are invalid."""
    parts = None if parts is None else [_require_ticket(part) for part in parts]
    mark = codec.require_count(model, "the ticket's mark", 2**64)
    ticket = Ticket(_row_of(**row), mark, _bounded(numbers), predictions, parts, places)
    if label is not None:
        ticket.set_label(*label)
    if scale is not None:
        if not (scale is True or isinstance(scale, Scale)) or not (parts or isinstance(ticket.x, ByColumns)):
            raise ModelFileError("the ticket's scale is damaged")
        ticket.scale = scale
    if type(at) is not float or math.isinf(at):
        raise ModelFileError("the ticket's time is damaged")
    ticket.told, ticket.at = bool(told), at
    return ticket


def _bounded(numbers: Array) -> Array:
    """A ticket's numbers, with the bounds capped to a size that models can keep."""
    numbers = numbers.copy()
    numbers[_BOUNDS] = np.minimum(numbers[_BOUNDS], _MOST_BOUND)
    return numbers


def _require_ticket(value: Any) -> Ticket:
    if not isinstance(value, Ticket):
        raise ModelFileError("a part of the ticket is not a ticket")
    return value


def _row_of(
    x: Any = None,
    names: Any = None,
    columns: Any = None,
    width: Any = None,
    row: Any = None,
    named: Any = True,
    inner: Any = None,
) -> Any:
    if row is not None:
        return ByColumns(row_of(row, bool(named)), _require_ticket(inner))
    codec.require_names(names)
    if not isinstance(x, np.ndarray) or x.ndim != 1 or x.dtype not in (np.float64, np.float32):
        raise ModelFileError("the ticket's row does not hold numbers")
    if names is not None:
        return dict(zip(names, x.tolist(), strict=True))
    if width is None:
        return x
    starts = np.array([0, len(x)], dtype=columns.dtype)
    return SparseRows(x, columns, starts, codec.require_count(width, "the ticket's width"))


def plain_row(row: Row) -> list[list[Any]]:
    """The names of a row by columns, and its values as plain values for JSON."""
    return [list(row), [_plain(value) for value in row.values()]]


def row_of(plain: Any, named: bool = True) -> Row:
    """Inverts :func:`plain_row`; raises ModelFileError if a name or a value is invalid."""
    names, values = plain
    codec.require_names(names)
    return Row(zip(names, map(_cell, values), strict=True), named)


def _plain(value: Any) -> Any:
    """A value of a row as a plain value for JSON."""
    if isinstance(value, Filled):
        return {"filled": value.value}
    return {value.kind: value.at} if isinstance(value, Moment) else value


def _cell(plain: Any) -> Any:
    """Inverts :func:`_plain`; raises ModelFileError if the value is invalid."""
    if plain is None or type(plain) in (str, float):
        return plain
    (kind, value), *more = plain.items()
    if not more and kind == "filled" and type(value) is float:
        return Filled(value)
    if more or kind not in (DATE, CLOCK, TIMESTAMP) or type(value) is not int or not -(2**62) < value < 2**62:
        raise ModelFileError("the ticket's row has a value of unknown kind")
    return Moment(kind, value)


codec.register(Ticket, "ticket", _fields_of, _made)
