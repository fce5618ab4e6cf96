"""Tickets of fleets: predicted rows of a key that wait for their labels."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from driftline._core import age_bands
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
        """The ticket in the format of a model file; :meth:`from_bytes` reads it back.

        The key must be text, a whole number or a tuple of these.
        """
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


class PooledTicket(FleetTicket):
    """A ticket of a fleet whose keys learn from each other.

    Attributes:
        pool: the ticket of the shared model.
        share: the ticket of the regression of the label on both models, on the scale of the errors.
        strangers: the ticket of the regression for young keys.
        age: the place of the first regression.
        scales: the size of the errors to expect of the key and of all keys, and the level of all keys.
        limits: the range of the labels.
    """

    __slots__ = ("age", "limits", "pool", "scales", "share", "strangers")

    def __init__(
        self, key: Key, ticket: Ticket, pool: Ticket, share: Ticket, strangers: Ticket, age: int,
        scales: tuple[float, float, float], limits: tuple[float | None, float | None],
    ) -> None:  # fmt: skip
        super().__init__(key, ticket)
        self.pool, self.share, self.strangers, self.age, self.scales, self.limits = (
            pool,
            share,
            strangers,
            age,
            scales,
            limits,
        )

    @property
    def prediction(self) -> float:
        """The prediction of the row."""
        return self._ends(lambda ticket: [ticket.prediction], 1)[0]

    def interval(self, level: float = 0.9) -> tuple[float, float]:
        """Both ends of the interval from when the row was predicted; infinite if too few labels were known."""
        lower, upper = self._ends(lambda ticket: ticket.interval(level))
        return lower, upper

    def quantiles(self, levels: Levels = QUANTILES) -> Array:
        """Quantiles of the label, from when the row was predicted: (k,), infinite if too few labels were known."""
        return np.array(self._ends(lambda ticket: ticket.quantiles(levels)))

    def _ends(self, of: Callable[[Ticket], Any], parts: int = 2) -> list[float]:
        """The first finite ends of the regressions, on their scales around the shared model, or those of this alone."""
        found = np.asarray(of(self.pool), dtype=np.float64)
        for part, scale in list(zip((self.share, self.strangers), self.scales, strict=False))[:parts]:
            own = self.pool.prediction + scale * np.asarray(of(part), dtype=np.float64)
            if np.isfinite(own).all():
                found = own
                break
        ends: list[float] = (found if self.limits == (None, None) else np.clip(found, *self.limits)).tolist()
        return ends

    def __copy__(self) -> Self:
        own, pool, share, strangers = map(copy.copy, (self.ticket, self.pool, self.share, self.strangers))
        return type(self)(self.key, own, pool, share, strangers, self.age, self.scales, self.limits)


def _fields_of(ticket: FleetTicket) -> dict[str, Any]:
    own = {"key": require_saved(ticket.key, "FleetTicket.to_bytes"), "ticket": ticket.ticket}
    return own | {name: getattr(ticket, name) for name in PooledTicket.__slots__ if hasattr(ticket, name)}


def _made(key: Any, ticket: Any, **pooled: Any) -> FleetTicket:
    tickets = [ticket, *(pooled[name] for name in ("pool", "share", "strangers") if pooled)]
    key = read_back(key)
    if not all(isinstance(part, Ticket) for part in tickets):
        raise ModelFileError("the ticket of a fleet is damaged")
    if not pooled:
        return FleetTicket(key, ticket)
    age, scales, limits = pooled["age"], tuple(pooled["scales"]), tuple(pooled["limits"])
    if not (type(age) is int and 0 <= age < age_bands and len(scales) == 3 and len(limits) == 2):
        raise ModelFileError("the ticket of a fleet is damaged")
    return PooledTicket(key, ticket, pooled["pool"], pooled["share"], pooled["strangers"], age, scales, limits)


def require_saved(key: Key, where: str) -> Key:
    """The key; raises ValueError if a file cannot hold it."""
    if not all(type(part) in (str, int) for part in (key if type(key) is tuple else (key,))):
        raise ValueError(
            f"{where}: the key {key!r} cannot be saved: a model file takes text, whole numbers and tuples of these; "
            "pickle takes any key"
        )
    return key


def read_back(key: Any) -> Key:
    """The key of a file, which has tuples as lists; raises ModelFileError if it is none."""
    found = tuple(key) if type(key) is list else key
    if not all(type(part) in (str, int) for part in (found if type(found) is tuple else (found,))):
        raise ModelFileError(f"the key {key!r} is not text, a whole number or a tuple of these")
    return found


codec.register(FleetTicket, "fleet_ticket", _fields_of, _made)
codec.register(PooledTicket, "pooled_ticket", _fields_of, _made)
