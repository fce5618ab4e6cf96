"""Cores made of learners, with the methods of a native core."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from driftline._core import Guard, Level, Limits, Outputs, Status
from driftline.base import clock, slow_path
from driftline.base.batch import Batch
from driftline.base.learner import Learner
from driftline.base.processors import cores
from driftline.base.ticket import Ticket
from driftline.tables.inputs import Array, Name

C = TypeVar("C", bound="Composite")
P = ParamSpec("P")
R = TypeVar("R")

_WORTH_THREADS = 2**17  # operations; for fewer, starting threads costs more than it saves


def exclusive(method: Callable[Concatenate[C, P], R]) -> Callable[Concatenate[C, P], R]:
    """Makes a method raise if a second thread calls it meanwhile. Nested cores would notice, but only one after another."""

    @wraps(method)
    def alone(self: C, /, *arguments: P.args, **options: P.kwargs) -> R:
        with self.guard.claim():
            return method(self, *arguments, **options)

    return alone


class Composite:
    """A core made of learners that see the rows (members), and learners that see the members' predictions (above).

    The composite owns the learners. It handles names, growth and the state; the subclass defines how the parts predict and
    learn together.

    Args:
        members: the learners that see the rows.
        above: the learners that do not, each with its number of inputs.
        features: number of features of a row.
        intercept: whether the last weight is that of the constant feature.
        dtype: of the weights.

    Attributes:
        limits: the range of the label.
    """

    limits = Limits(None, None)

    def __init__(
        self, members: list[Learner], above: Sequence[tuple[Learner, int]], features: int, intercept: bool, dtype: str
    ) -> None:
        self.guard = Guard("driftline")
        self.mark = 0
        self.needs_time = False
        self._at = math.nan
        self.members, self.above = members, [learner for learner, _ in above]
        self.intercept, self.dtype = intercept, dtype
        self._features = features
        self._names: list[Name] | None = None
        for learner, width in above:
            learner._meet(np.zeros(width), None)

    @property
    def features(self) -> int:
        """Number of features of a row."""
        return self._features

    @property
    def at(self) -> float:
        """The time of the row that is predicted or learned next; NaN if it has none."""
        return self._at

    @at.setter
    def at(self, at: float) -> None:
        self._at = at
        for learner in (*self.members, *self.above):
            clock.set_time(learner, at)

    @property
    def by_feature(self) -> bool:
        """Whether there is exactly one weight for each feature."""
        return all(member._traits.by_feature for member in self.members)

    @property
    def width_within(self) -> int:
        """Number of features that the members see."""
        return self._features

    # Growth.

    def meet(self, row: Array) -> None:
        """Passes the first row to the members, which may derive parameters from it."""
        for member in self.members:
            member._meet(row, self._names)

    @exclusive
    def grow(self, more: int) -> None:
        """Adds features at their prior."""
        for member in self.members:
            core_of(member).grow(more)
        self._features += more

    @exclusive
    def set_names(self, names: list[Name]) -> None:
        """Sets the names of the features, in their order."""
        self._names = names
        for member in self.members:
            if member._core is not None:
                member._set_names(names)

    # The state.

    @exclusive
    def get_state(self) -> dict[str, Array]:
        """The whole state: arrays, and the states of the learners, by their numbers."""
        state: dict[str, Any] = {"weights": self.weights(), **self._own_state()}
        if not self.by_feature:
            state["features"] = np.array([float(self._features)])
        outer = ("params", "names", "skipped", "refused", "columns")  # the same as those of the model, or none
        for number, learner in enumerate([*self.members, *self.above]):
            state[str(number)] = {name: part for name, part in learner.__getstate__().items() if name not in outer}
        return state

    @exclusive
    def set_state(self, state: dict[str, Array]) -> None:
        """Restores what :meth:`get_state` returned, on a fresh composite; raises ValueError if it is invalid."""
        if not self.by_feature and "features" not in state:
            raise ValueError("the state lacks the number of features")
        for number, learner in enumerate([*self.members, *self.above]):
            inner: Any = state.get(str(number), {})
            if not {"core", *learner._kept} <= inner.keys():
                raise ValueError(f"the state lacks a part of learner {number}")
            width = self.width_within if learner in self.members else learner.n_features_in_
            learner._from_file({name: inner[name] for name in ("core", *learner._kept)})
            if learner.n_features_in_ != width:
                raise ValueError(f"the state of learner {number} has {learner.n_features_in_} features, expected {width}")
        self._set_own_state(state)
        given = state["weights"]
        if not isinstance(given, np.ndarray) or not np.array_equal(self.weights(), given):
            raise ValueError("the state's weights disagree with those of its learners")

    def _own_state(self) -> dict[str, Array]:
        """The composite's own state, besides its learners'."""
        return {}

    def _set_own_state(self, state: dict[str, Array]) -> None:
        """Checks and restores what :meth:`_own_state` returned."""

    @exclusive
    def adopt_params(self, members: list[Learner], above: list[Learner]) -> None:
        """Takes over the parameters of other learners, within an undo. Raises ValueError if they cannot change."""
        mine, theirs = [*self.members, *self.above], [*members, *above]
        if [type(learner) for learner in mine] != [type(learner) for learner in theirs]:
            raise ValueError
        for learner, other in zip(mine, theirs, strict=True):
            old, new = learner.get_params(deep=False), other.get_params(deep=False)
            learner.set_params(**{name: value for name, value in new.items() if value is not old[name]})

    # For subclasses to define.

    def sums(self) -> dict[str, float]:
        """The running sums that the certificate is computed from."""
        raise NotImplementedError

    def weights(self) -> Array:
        """The weights of the linear model that the parts form together."""
        raise NotImplementedError

    def predict(self, x: Any) -> Any:
        """The prediction, or None if Python must read the row."""
        raise NotImplementedError

    def predict_interval(self, x: Any, level: Level) -> tuple[float, float] | None:
        """Both ends of the interval, or None if Python must read the row."""
        raise NotImplementedError

    def predict_quantiles(self, x: Any, levels: Array) -> Array | None:
        """Quantiles of the label, or None if Python must read the row."""
        raise NotImplementedError

    def learn_row(self, x: Any, y: Any, weight: Any) -> Status:
        """Learns a row. If not ``DONE``, nothing has changed: the row takes an undo, or Python must read it."""
        return Status.UNREAD

    def replay(self, batch: Batch, out: Outputs) -> int:
        """Predicts and learns, or only predicts if there are no labels; returns how many rows were skipped."""
        raise NotImplementedError

    def ask(self, x: Any, delay: int | None, kind: type[Any]) -> Any:
        """A ticket for the row, with the parts' tickets; None if Python must read the row or there is no mark yet."""
        raise NotImplementedError

    def learn_ticket(self, ticket: Ticket, y: Any, weight: Any) -> Status:
        """Learns the label of a ticket that :meth:`takes` accepts; the status is as for :meth:`learn_row`."""
        return Status.UNREAD

    def tell_parts(self, ticket: Ticket, batch: Batch) -> None:
        """Learns the label of a ticket whose row Python has read, within an undo, since a part may raise an error."""
        raise NotImplementedError

    # Learning one row.

    def learn(self, x: Any, y: Any, weight: Any = None) -> Status:
        """Learns a row; nothing has changed unless the status is DONE."""
        with self.guard.change():
            known = self._may_be_label(y) and not (self.needs_time and math.isnan(self._at))
            return self.learn_row(x, y, weight) if known else Status.UNREAD

    def tell(self, ticket: Any, y: Any, weight: Any = None) -> Status:
        """Learns the label of a ticket; nothing has changed unless the status is DONE."""
        with self.guard.change():
            known = self.takes(ticket) and self._may_be_label(y) and self.needs_time is not math.isnan(ticket.at)
            status = self.learn_ticket(ticket, y, weight) if known else Status.UNREAD
            if status is Status.DONE:
                ticket.told = True
            return status

    @exclusive
    def tell_block(self, ticket: Ticket, batch: Batch) -> int:
        """Like :meth:`tell_parts`; returns how many rows were skipped."""
        self.tell_parts(ticket, batch)
        return 0

    # Shared by subclasses.

    def _may_be_label(self, y: Any) -> bool:
        """False for a number outside the limits, which Python refuses."""
        return not isinstance(y, float) or y != y or self.limits.contain(y)

    def marked(self, learner: Learner) -> Any:
        """The core of one of the learners, marked to give and take tickets of this model."""
        core = core_of(learner)
        core.mark = self.mark
        return core

    def ask_each_member(self, x: Any, delay: int | None, kind: type[Any]) -> list[Any] | None:
        """The members' tickets for a row; None if Python must read the row or there is no mark yet."""
        parts = [self.marked(member).ask(x, delay, kind) for member in self.members] if self.mark else [None]
        return None if None in parts else parts

    def kept_parts(self, ticket: Ticket, x: Any) -> list[Ticket]:
        """The parts of a ticket, with another row for the members to learn, from when it was asked."""
        members = [slow_path.keep(*own, x) for own in zip(self.members, ticket.parts, strict=False)]
        return [*members, *ticket.parts[len(members) :]]

    def parts_to_tell(self, ticket: Ticket, x: Any) -> list[Ticket]:
        """Copies of the parts of a ticket whose row is encoded differently now that its label has come."""
        parts = copy.copy(ticket).parts
        members = [slow_path.renewed(*own, x) for own in zip(self.members, parts, strict=False)]
        return [*members, *parts[len(members) :]]

    def takes(self, ticket: Any) -> bool:
        """Whether a ticket comes from this model and has not been told yet."""
        fits = isinstance(ticket, Ticket) and not ticket.told and 0 != self.mark == ticket.model
        return fits and ticket.parts is not None and ticket.labels <= self.rows

    def learn_each(self, parts: Sequence[tuple[Learner, Any, Any]], weight: Any) -> Status:
        """Each part learns its row and label. Only the first may refuse; then nothing has changed."""
        for number, (part, row, y) in enumerate(parts):
            if core_of(part).learn(row, y, weight) is not Status.DONE:
                if not number:
                    return Status.UNREAD
                part.learn_one(row, y, sample_weight=weight)
        return Status.DONE

    def tell_each(self, parts: Sequence[tuple[Learner, Ticket, Any]], weight: Any) -> Status:
        """Each part learns the label of its ticket. Only the first may refuse; then nothing has changed."""
        for number, (part, ticket, y) in enumerate(parts):
            if self.marked(part).tell(ticket, y, weight) is not Status.DONE:
                if not number:
                    return Status.UNREAD
                slow_path.tell_part(part, ticket, y, weight, f"{type(part).__name__}.tell")
        return Status.DONE

    @property
    def rows(self) -> int:
        """Rows learned."""
        return int(core_of((self.above or self.members)[0]).rows)

    @property
    def delay(self) -> int:
        """How many labels arrived between the last row's prediction and its label."""
        return int(core_of(self.members[0]).delay)

    def wide(self, weights: Array, learner: Learner) -> Array:
        """A learner's weights, (..., d); 0 for the constant feature if only other learners have one."""
        if not self.intercept or learner.intercept:
            return weights
        return np.concatenate([weights, np.zeros((*weights.shape[:-1], 1))], axis=-1)

    def replay_members(
        self, batch: Batch, y: Sequence[Array | None], every: int = 0, *, apart: bool = False
    ) -> tuple[Array, list[Array], int]:
        """Each member replays the rows with its own labels, in threads if that is faster; ``apart`` is as in Outputs.

        Returns the predictions, (rows, members), the snapshots of the weights, and the number of rows skipped.
        """
        predicted = np.empty((len(self.members), len(batch)))
        snapshots = [
            np.empty((len(batch) // every, len(core_of(member).weights()))) if every else None for member in self.members
        ]

        def work(number: int) -> int:
            own = Batch(batch.x, y[number], batch.weight, batch.where, batch.start, batch.names, batch.times)
            out = Outputs(predicted[number], weights=snapshots[number], every=every, apart=apart)
            return self.members[number]._replay_block(own, out)

        numbers = range(len(self.members))
        effort = len(batch) * self.members[0]._operations(batch.x.shape[1] + 1)
        threads = min(len(self.members), cores())
        if threads > 1 and effort > _WORTH_THREADS:
            with ThreadPoolExecutor(threads) as pool:
                skipped = list(pool.map(work, numbers))
        else:
            skipped = [work(number) for number in numbers]
        return predicted.T, [part for part in snapshots if part is not None], skipped[0]


def core_of(learner: Learner) -> Any:
    """The core of a learner that has met its first row."""
    assert learner._core is not None
    return learner._core


def tell_parts(
    parts: Sequence[Learner], tickets: Sequence[Ticket], batch: Batch, labels: Sequence[float] | None = None
) -> None:
    """Tells each part its ticket, with the row's label or with a label of the part's own."""
    assert batch.y is not None
    weight = None if batch.weight is None else float(batch.weight[0])
    labels = [float(batch.y[0])] * len(parts) if labels is None else labels
    for part, own, label in zip(parts, tickets, labels, strict=True):
        core_of(part).mark = own.model
        slow_path.tell_part(part, own, label, weight, batch.where)


def is_weight(weight: Any) -> bool:
    """Whether a sample weight needs no conversion."""
    return weight is None or (isinstance(weight, float) and 0 < weight < float("inf"))


def count_in(state: dict[str, Array], name: str, most: int) -> int:
    """A whole number from a state, at most ``most``; raises ValueError otherwise."""
    value = state[name]
    if not isinstance(value, np.ndarray) or value.shape != (1,) or not 0 <= value[0] <= most or value[0] != int(value[0]):
        raise ValueError(f"the state's {name} is out of range")
    return int(value[0])
