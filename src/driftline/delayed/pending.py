"""Rows that wait for their labels by id."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from numbers import Real
from typing import Any, Self

import numpy as np

from driftline._core import Guard, SparseRows
from driftline.base import replay
from driftline.base.learner import Learner
from driftline.base.levels import NO_SPREAD, QUANTILES, Levels, Spread, as_spread, of_levels
from driftline.base.rules import COUNT
from driftline.base.ticket import ByColumns, Ticket, mark_of
from driftline.delayed.stepper import Stepper
from driftline.ensembles.labels import as_label
from driftline.errors import ModelFileError
from driftline.storage import codec
from driftline.storage.model_file import Saved
from driftline.tables.columns import Filled
from driftline.tables.inputs import Array

Id = str | int


class Pending(Saved):
    """A learner whose labels come later, by id and in any order.

    Each id, a string or an integer, is learned once; an id that was learned or withdrawn cannot be used again. The last
    ``most`` such ids are remembered; an older one counts as new. A row is learned as it was when it was predicted
    (:meth:`driftline.Learner.tell`), and coverage counts the interval given then. Waiting rows are saved with the learner.

    The learner's parameters must not change while rows wait, because their tickets are valid only for the old parameters.

    Args:
        learner: any learner. It is used directly, not copied.
        most: the largest number of waiting rows. Beyond that, the oldest is dropped without being learned, and counted in
            ``n_dropped_``.

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
        self._guard = Guard("Pending")
        self._learner, self._most = learner, COUNT.require("Pending", "most", most)
        self._stepper = Stepper(learner)
        self._tickets: dict[Id, Ticket] = self._stepper.by_id
        self._held: dict[Id, Any] = {}  # labels that are not learned yet
        self._settled: OrderedDict[Id, bool] = OrderedDict()  # the last ids that were learned (True) or withdrawn (False)
        self._dropped = 0

    @property
    def learner(self) -> Learner:
        """The learner."""
        return self._learner

    @property
    def most(self) -> int:
        """The largest number of waiting rows."""
        return self._most

    @property
    def n_dropped_(self) -> int:
        """The number of rows dropped because too many were waiting."""
        return self._dropped

    def __len__(self) -> int:
        return len(self._tickets)

    def __contains__(self, id: object) -> bool:
        return id in self._tickets

    def __iter__(self) -> Iterator[Id]:
        return iter(self._tickets)

    # Asking.

    def predict_one(self, id: Id, x: Any, *, at: Any = None) -> Any:
        """Predicts a row, which then waits for the label of its id. Calling it again returns the same answer.

        Args:
            id: the id.
            x: the row.
            at: the row's time, if rows have times.
        """
        return self._ask(id, x, "predict_one", at=at).prediction

    def predict_interval(self, id: Id, x: Any, level: float = 0.9, *, at: Any = None) -> tuple[float, float]:
        """Both ends of the interval around the prediction; the row waits for its label as after :meth:`predict_one`."""
        spread = as_spread("Pending.predict_interval", level)
        return self._ask(id, x, "predict_interval", spread, at).interval(level)

    def predict_quantiles(self, id: Id, x: Any, levels: Levels = QUANTILES, *, at: Any = None) -> Array:
        """Quantiles of the label, (k,); the row waits for its label as after :meth:`predict_one`."""
        spread = of_levels(levels, "Pending.predict_quantiles")
        return self._ask(id, x, "predict_quantiles", spread, at).quantiles(levels)

    def _ask(self, id: Id, x: Any, verb: str, spread: Spread = NO_SPREAD, at: Any = None) -> Ticket:
        where, id = f"Pending.{verb}", _plain(id, f"Pending.{verb}")
        with self._guard.change(only=True):
            self._refuse_settled(id, where)
            known = self._tickets.get(id)
            if known is not None:
                _refuse_other_row(known.x, self._learner.ask(x).x, id, where, self._learner.dtype == "float32")
                return known
            ticket: Ticket = self._stepper.ask(id, x, spread, at)
            if len(self._tickets) > self._most:
                oldest = next(iter(self._tickets))
                del self._tickets[oldest]
                self._held.pop(oldest, None)
                self._dropped += 1
            return ticket

    # Telling.

    def learn_one(self, id: Id, y: Any, *, sample_weight: float | None = None) -> None:
        """Learns the label of an id. If the label is rejected, the row keeps waiting."""
        self._tell(_plain(id, "Pending.learn_one"), y, sample_weight, "Pending.learn_one")

    def _tell(self, id: Id, y: Any, sample_weight: float | None, where: str) -> None:
        with self._guard.change(only=True):
            ticket = self._ticket(id, where)
            try:
                self._stepper.tell(id, y, sample_weight=sample_weight)
            except ValueError as error:
                if ticket.model == mark_of(self._learner):
                    raise
                raise ValueError(
                    f"{where}: the learner's parameters have changed since the row of the id {id!r} was predicted; "
                    "set them back, or withdraw the row"
                ) from error
            self._settle(id, told=True)

    def hold_one(self, id: Id, y: Any) -> None:
        """Holds a label that may still change. Holding it again corrects it; :meth:`learn_held` learns it."""
        where, id = "Pending.hold_one", _plain(id, "Pending.hold_one")
        with self._guard.change(only=True):
            self._ticket(id, where)
            self._held[id] = _plain_label(self._learner, y, where)

    def withdraw_one(self, id: Id) -> None:
        """Removes a row whose label will never arrive, and any label held for it."""
        where, id = "Pending.withdraw_one", _plain(id, "Pending.withdraw_one")
        with self._guard.change(only=True):
            self._ticket(id, where)
            self._settle(id, told=False)

    def learn_held(self) -> int:
        """Learns the held labels in the order in which their rows were predicted; returns their number."""
        ids = [id for id in self._tickets if id in self._held]
        for id in ids:
            try:
                self._tell(id, self._held[id], None, "Pending.learn_held")
            except Exception as error:
                error.add_note(f"Pending.learn_held: at the label held for {id!r}")
                raise
        return len(ids)

    def _ticket(self, id: Id, where: str) -> Ticket:
        self._refuse_settled(id, where)
        if id not in self._tickets:
            raise ValueError(f"{where}: no row with the id {id!r} is waiting for its label")
        return self._tickets[id]

    def _refuse_settled(self, id: Id, where: str) -> None:
        told = self._settled.get(id)
        if told is not None:
            raise ValueError(f"{where}: the id {id!r} {'already has its label' if told else 'was withdrawn'}")

    def _settle(self, id: Id, told: bool) -> None:
        """Ends the wait of an id."""
        self._settled[id] = told
        self._held.pop(id, None)
        self._tickets.pop(id, None)
        while len(self._settled) > self._most:
            self._settled.popitem(last=False)

    # Keeping.

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        with self._guard.claim(only=True):
            return {
                "learner": self._learner,
                "most": self._most,
                "dropped": self._dropped,
                "waiting": [list(item) for item in self._tickets.items()],
                "held": [list(item) for item in self._held.items()],
                "settled": [list(item) for item in self._settled.items()],
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["learner"], state["most"])  # type: ignore[misc]
        self._dropped = codec.require_count(state.get("dropped", 0), "the number of rows dropped")
        self._tickets.update(state["waiting"])
        self._held.update(state.get("held", []))
        self._settled.update(state.get("settled", []))
        ids = [*self._tickets, *self._settled]
        sound = (
            all(type(id) in (str, int) for id in ids) and len({*ids}) == len(ids) and self._held.keys() <= {*self._tickets}
        )
        if not sound or len(ids) != len(state["waiting"]) + len(state.get("settled", [])) or len(self) > self._most:
            raise ModelFileError("the ids are not distinct texts or whole numbers, or not those of the tickets")
        if not all(isinstance(ticket, Ticket) for ticket in self._tickets.values()):
            raise ModelFileError("a row that waits has no ticket")

    def __repr__(self) -> str:
        return f"Pending({self._learner!r}, most={self._most}): {len(self)} waiting"


def _plain(id: Any, where: str) -> Id:
    """The id as a plain string or integer, which can be saved."""
    if isinstance(id, (np.integer, np.str_)):
        id = id.item()
    if type(id) not in (str, int):
        raise TypeError(f"{where}: an id must be a string or an integer, got {id!r}")
    return id  # type: ignore[no-any-return]


def _plain_label(learner: Learner, y: Any, where: str) -> Any:
    """The label as a plain value that the learner accepts and that can be saved."""
    if learner._estimator_type == "classifier":
        label = as_label(y, where)
        if label is not None and type(label) not in (str, int, float, bool):
            raise TypeError(f"{where}: a held label must be a string or a number, got {y!r}")
        if label is None and learner.missing == "raise":
            raise ValueError(f"{where}: y is missing")
        return label
    label = replay.as_label(learner, y, where)
    if learner.missing == "raise" and not learner._door.is_whole(label):
        learner._door.refuse_bad_label(label, where)
    learner._check_labels(np.atleast_1d(label)[None], where, None)
    return label.tolist() if isinstance(label, np.ndarray) else label


def _refuse_other_row(known: Any, given: Any, id: Id, where: str, single: bool) -> None:
    known, given = _as_given(known), _as_given(given)
    if isinstance(known, Mapping) != isinstance(given, Mapping):
        now = "names, but now they have none" if isinstance(known, Mapping) else "no names, but now they have some"
        raise ValueError(f"{where}: the id {id!r} belongs to a waiting row whose features have {now}")
    if not _same_row(known, given, single):
        raise ValueError(f"{where}: the id {id!r} belongs to a different row, which is waiting for its label")


def _same_value(one: Any, other: Any, single: bool) -> bool:
    if single and isinstance(one, Real) and isinstance(other, Real):
        one, other = np.float32(one), np.float32(other)
    return bool(one == other or (one != one and other != other))  # NaN is NaN


def _same_row(one: Any, other: Any, single: bool) -> bool:
    """Whether two rows are equal, ``single`` in float32: a ticket keeps the numbers that the model has read."""
    if isinstance(one, SparseRows) or isinstance(other, SparseRows):
        if not (isinstance(one, SparseRows) and isinstance(other, SparseRows) and one.width == other.width):
            return False
        return np.array_equal(one.values, other.values, equal_nan=True) and np.array_equal(one.columns, other.columns)
    if isinstance(one, Mapping):  # a feature that is not there is 0
        return all(_same_value(one.get(name, 0.0), other.get(name, 0.0), single) for name in {*one, *other})
    dtype = np.float32 if single else np.float64
    return np.array_equal(np.asarray(one, dtype=dtype), np.asarray(other, dtype=dtype), equal_nan=True)


def _as_given(x: Any) -> Any:
    """A ticket's row as given, without filled-in values."""
    if not isinstance(x, ByColumns):
        return x
    return {name: None if isinstance(value, Filled) else value for name, value in x.cells.items()}


codec.register(Pending, "pending")
