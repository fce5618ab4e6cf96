"""Tickets of fleets: predicted rows of a key that wait for their labels."""

from __future__ import annotations

import copy
from typing import Any, Self

from driftline.base.levels import QUANTILES, Levels
from driftline.base.ticket import Ticket
from driftline.errors import ModelFileError
from driftline.fleet.names import Key
from driftline.storage import codec, model_file
from driftline.tables.inputs import Array


class FleetTicket:
    """A predicted row of one key that waits for its label.

    :meth:`driftline.Fleet.ask` returns one, and :meth:`driftline.Fleet.tell` takes it together with the label.

    Attributes:
        key: the key of the row.
        ticket: the ticket of the key's model.
    """

    __slots__ = ("key", "ticket")

    def __init__(self, key: Key, ticket: Ticket) -> None:
        self.key, self.ticket = key, ticket

    @property
    def prediction(self) -> Any:
        """The prediction of the row."""
        return self.ticket.prediction

    @property
    def told(self) -> bool:
        """Whether the label has been told."""
        return bool(self.ticket.told)

    def interval(self, level: float = 0.9) -> tuple[float, float]:
        """Both ends of the interval from when the row was predicted; infinite if too few labels were known."""
        return self.ticket.interval(level)

    def quantiles(self, levels: Levels = QUANTILES) -> Array:
        """Quantiles of the label, from when the row was predicted: (k,), infinite if too few labels were known."""
        return self.ticket.quantiles(levels)

    def to_bytes(self) -> bytes:
        """The ticket in the format of a model file; :meth:`from_bytes` reads it back. The key must be text or a number."""
        return model_file.to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The ticket that :meth:`to_bytes` wrote; raises :class:`driftline.ModelFileError` if it is invalid."""
        ticket = model_file.from_bytes(data)
        if not isinstance(ticket, cls):
            raise ModelFileError(f"holds {type(ticket).__name__}, not a ticket of a fleet")
        return ticket

    def __copy__(self) -> Self:
        return type(self)(self.key, copy.copy(self.ticket))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return copy.copy(self)

    def __repr__(self) -> str:
        return f"FleetTicket(key={self.key!r}, prediction={self.prediction!r}, told={self.told})"


def _fields_of(ticket: FleetTicket) -> dict[str, Any]:
    return {"key": require_saved(ticket.key, "FleetTicket.to_bytes"), "ticket": ticket.ticket}


def _made(key: Any, ticket: Any) -> FleetTicket:
    if type(key) not in (str, int) or not isinstance(ticket, Ticket):
        raise ModelFileError("the ticket of a fleet is damaged")
    return FleetTicket(key, ticket)


def require_saved(key: Key, where: str) -> Key:
    """The key; raises ValueError if a file cannot hold it."""
    if type(key) not in (str, int):
        raise ValueError(
            f"{where}: the key {key!r} cannot be saved: a model file takes text and whole numbers; pickle takes any key"
        )
    return key


codec.register(FleetTicket, "fleet_ticket", _fields_of, _made)
