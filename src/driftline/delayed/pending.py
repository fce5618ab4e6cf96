"""Rows that wait for their labels by id."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from driftline._core import SparseRows
from driftline.base import record as records
from driftline.base.learner import Learner
from driftline.base.rules import COUNT
from driftline.base.ticket import Columns, Ticket
from driftline.delayed import packed
from driftline.errors import ModelFileError
from driftline.storage import codec, model_file
from driftline.storage.model_file import Record
from driftline.tables.cells import Filled


class Pending:
    """A learner whose labels come later, by id and in any order.

    Every id is asked once and told once. A row is learned as of when it was predicted (:meth:`driftline.Learner.tell`), and
    its interval is judged as it was promised. All of it is saved, the rows that wait included.

    Args:
        learner: any learner; it learns, and is the same object.
        most: how many rows may wait. Beyond that the oldest is let go without being learned, and counted in ``n_dropped_``.

    >>> import driftline as dl
    >>> orders = dl.Pending(dl.RLS())
    >>> orders.predict_one("order 17", {"items": 3.0})
    0.0
    >>> orders.predict_one("order 18", {"items": 5.0})
    0.0
    >>> orders.learn_one("order 18", 50.0)
    >>> orders.learn_one("order 17", 30.0)
    >>> len(orders), orders.learner.n_seen_
    (0, 2)
    """

    def __init__(self, learner: Learner, most: int = 100_000) -> None:
        if not isinstance(learner, Learner):
            raise TypeError(f"Pending: learner must be a learner, got {type(learner).__name__}")
        self._learner, self._most = learner, COUNT.require("Pending", "most", most)
        self._tickets: OrderedDict[Hashable, Ticket] = OrderedDict()
        self._held: dict[Hashable, Any] = {}  # labels that are not learned yet
        self._told: OrderedDict[Hashable, None] = OrderedDict()  # the last ids that were told
        self._dropped = 0

    @property
    def learner(self) -> Learner:
        """The learner."""
        return self._learner

    @property
    def most(self) -> int:
        """How many rows may wait."""
        return self._most

    @property
    def n_dropped_(self) -> int:
        """How many rows were let go because too many waited."""
        return self._dropped

    def __len__(self) -> int:
        return len(self._tickets)

    def __contains__(self, id: object) -> bool:
        return id in self._tickets

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._tickets)

    # Asking.

    def predict_one(self, id: Hashable, x: Any) -> Any:
        """The prediction for a row, which then waits for the label of its id. Asked again, it is the same answer."""
        return self._ask(id, x, "predict_one").prediction

    def predict_interval(self, id: Hashable, x: Any, level: float = 0.9) -> tuple[float, float]:
        """Both ends of the interval around the prediction; the row waits for its label as after :meth:`predict_one`."""
        return self._ask(id, x, "predict_interval").interval(level)

    def _ask(self, id: Hashable, x: Any, verb: str) -> Ticket:
        if id in self._told:
            raise ValueError(f"Pending.{verb}: the id {id!r} was told before")
        ticket = self._learner.ask(x)
        known = self._tickets.get(id)
        if known is not None:
            if not _same_row(known.x, ticket.x):
                raise ValueError(f"Pending.{verb}: the id {id!r} waits with another row")
            return known
        self._tickets[id] = ticket
        if len(self._tickets) > self._most:
            oldest, _ = self._tickets.popitem(last=False)
            self._held.pop(oldest, None)
            self._dropped += 1
        return ticket

    # Telling.

    def learn_one(self, id: Hashable, y: Any, *, sample_weight: float | None = None) -> None:
        """Learns the label of an id. A label that is refused leaves the row waiting."""
        self._learner.tell(self._ticket(id, "learn_one"), y, sample_weight=sample_weight)
        self._settle(id)

    def hold_one(self, id: Hashable, y: Any) -> None:
        """Keeps a label that may still change. Held again, it is corrected; :meth:`learn_held` learns it."""
        self._ticket(id, "hold_one")
        self._held[id] = y

    def withdraw_one(self, id: Hashable) -> None:
        """Lets a row go that will not be learned, with the label that may be held for it."""
        self._ticket(id, "withdraw_one")
        self._settle(id)

    def learn_held(self) -> int:
        """Learns the labels that are held, in the order in which their rows were predicted; returns how many."""
        ids = [id for id in self._tickets if id in self._held]
        for id in ids:
            self.learn_one(id, self._held[id])
        return len(ids)

    def _ticket(self, id: Hashable, verb: str) -> Ticket:
        if id in self._tickets:
            return self._tickets[id]
        if id in self._told:
            raise ValueError(f"Pending.{verb}: the id {id!r} was told before")
        raise ValueError(f"Pending.{verb}: the id {id!r} is not known: no row waits under it")

    def _settle(self, id: Hashable) -> None:
        del self._tickets[id]
        self._held.pop(id, None)
        self._told[id] = None
        if len(self._told) > self._most:
            self._told.popitem(last=False)

    # Keeping.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the learner and all that waits to a file, atomically; :func:`driftline.load` reads it back."""
        model_file.save(self._record(), path)

    def to_bytes(self) -> bytes:
        """What :meth:`save` would write; :func:`driftline.from_bytes` reads it back."""
        return model_file.to_bytes(self._record())

    def _record(self) -> Record:
        for id in [*self._tickets, *self._told]:
            if type(id) not in (str, int):
                raise ValueError(f"Pending.save: the id {id!r} is neither text nor a whole number, which a file needs")
        heads, numbers = packed.pack(list(self._tickets.values()))
        inner = records.of(self._learner)
        waiting = {
            "ids": list(self._tickets),
            "tickets": heads,
            "held": codec.spell_infinities([[id, label] for id, label in self._held.items()]),
            "told": list(self._told),
        }
        own = {"waiting": packed.text_of(waiting), "numbers": numbers}
        head = {"learner": inner.head, "most": self._most, "dropped": self._dropped}
        return Record("pending", head, {**own, **{f"learner.{name}": array for name, array in inner.arrays.items()}})

    @classmethod
    def _read(cls, record: Record) -> Pending:
        head, arrays = record.head, dict(record.arrays)
        rows = packed.of_text(arrays.pop("waiting"))
        waiting = packed.unpack(rows["tickets"], arrays.pop("numbers"))
        inner = {name.removeprefix("learner."): array for name, array in arrays.items()}
        pending = cls(records.read(Record("learner", head["learner"], inner)), head["most"])
        ids, told, held = rows["ids"], rows["told"], codec.read_infinities(rows["held"])
        sound = all(type(id) in (str, int) for id in [*ids, *told]) and len({*ids, *told}) == len(ids) + len(told)
        if not sound or len(ids) != len(waiting) or len(ids) > pending.most or not {id for id, _ in held} <= {*ids}:
            raise ModelFileError("the ids are not distinct texts or whole numbers, or not those of the tickets")
        pending._tickets = OrderedDict(zip(ids, waiting, strict=True))
        pending._told = OrderedDict.fromkeys(told)
        pending._held = dict(held)
        pending._dropped = codec.decode_count(head["dropped"], "the number of rows let go")
        return pending

    def __repr__(self) -> str:
        return f"Pending({self._learner!r}, most={self._most}): {len(self)} waiting"


def _same_row(one: Any, other: Any) -> bool:
    one, other = _as_given(one), _as_given(other)
    if isinstance(one, SparseRows) and isinstance(other, SparseRows):
        same = one.width == other.width and np.array_equal(one.values, other.values)
        return same and np.array_equal(one.columns, other.columns)
    if isinstance(one, dict) and isinstance(other, dict):  # a feature that is not there is 0
        return all(one.get(name, 0.0) == other.get(name, 0.0) for name in {*one, *other})
    if isinstance(one, dict) or isinstance(other, dict):
        return False
    return np.array_equal(np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64), equal_nan=True)


def _as_given(x: Any) -> Any:
    """A ticket's row, without what was filled in."""
    if not isinstance(x, Columns):
        return x
    return {name: None if isinstance(value, Filled) else value for name, value in x.cells.items()}


model_file.register("pending", Pending._read)
