"""The state of a classifier: one learner for two classes, or one per class for more, and the calibration curve."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from driftline._core import Outputs, Status
from driftline.base.batch import Batch
from driftline.base.composite import Composite, core_of, count_in, exclusive, is_weight, tell_parts
from driftline.base.learner import Learner
from driftline.base.ticket import Ticket, copy_of
from driftline.linear.gd import GD
from driftline.tables.inputs import Array

_CURVE = GD(rate=0.1, loss="logistic", intercept=False)
_KNOTS = np.array([0.125, 0.25, 0.5, 1.0, 2.0, 4.0])  # where the curve of log(p / (1 - p)) may bend, on either side of 0
_START = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 2.0])  # a prediction f estimates 2p - 1, and log(p / (1 - p)) is about 2 f
_LEAST = 1e-6  # minimal slope of the curve, so that the largest prediction keeps the largest probability


class ClassState(Composite):
    """One member per class; with two classes a single member, whose sign decides.

    The member of class 0 has the target -1 for its class, the others +1 for theirs. The single member for two classes thus
    serves both, and is copied when a third class appears. The probability of a class is 1 / (1 + exp(-g(f))), where f is the
    prediction of its member. All members share the calibration curve g, which is odd and piecewise linear. It is fitted by
    gradient descent on the logistic loss, and made monotone when it is evaluated.

    Args:
        learner: an untrained base learner.
        known: the number of classes known in advance.
        features, intercept, dtype: as in :class:`Composite`.
    """

    def __init__(self, learner: Learner, known: int, features: int, intercept: bool, dtype: str) -> None:
        curve = _CURVE.clone()
        super().__init__([], [(curve, len(_KNOTS))], features, intercept, dtype)
        core_of(curve).set_state({**core_of(curve).get_state(), "weights": _START})
        self._base, self.known, self.mistakes = learner, 0, 0
        self._row = np.zeros(features)
        self._add_member()
        for _ in range(known):
            self.add_class()

    def _add_member(self) -> None:
        member = self._base.clone()
        if self.members and self.members[0]._core is not None:
            member._meet(self._row, self._names)
        self.members.append(member)

    def add_class(self) -> None:
        """Adds a class."""
        self.known += 1
        if self.known == 3:  # the first two classes get a learner each
            self.members.append(copy.deepcopy(self.members[0]))
        if self.known > 2:
            self._add_member()
        self.at = self.at  # for the new members too

    def meet(self, row: Array) -> None:
        """Initialises whatever depends on the first row."""
        self._row = row
        super().meet(row)

    @exclusive
    def grow(self, more: int) -> None:
        """Adds ``more`` features, with their prior weights."""
        super().grow(more)
        self._row = np.zeros(self.features)

    # Saving and loading.

    def _own_state(self) -> dict[str, Array]:
        return {"known": np.array([float(self.known)]), "mistakes": np.array([float(self.mistakes)])}

    @exclusive
    def set_state(self, state: dict[str, Array]) -> None:
        """Adds classes until there are as many as in an exported state, and restores it."""
        parts = sum(name.isdigit() for name in state)
        for _ in range(count_in(state, "known", parts) - self.known):
            self.add_class()
        super().set_state(state)

    def _set_own_state(self, state: dict[str, Array]) -> None:
        self.mistakes = count_in(state, "mistakes", 2**53)

    @exclusive
    def adopt_params(self, members: list[Learner], above: list[Learner]) -> None:
        """Applies the parameters of the base learner to every member."""
        super().adopt_params(members * len(self.members), self.above)
        self._base = members[0]

    @exclusive
    def sums(self) -> dict[str, float]:
        """The sums of the first member."""
        return self.members[0]._sums()

    @property
    def rows(self) -> int:
        """The number of rows learned."""
        return int(core_of(self.members[0]).rows)

    @exclusive
    def lines(self) -> tuple[Array, Array]:
        """The weights, (members, d), and intercepts, (members,), of the decisions; not every learner has them."""
        signs = self._signs
        coef = np.array([sign * member.coef_ for sign, member in zip(signs, self.members, strict=True)])
        return coef, signs * [float(member.intercept_) for member in self.members]

    def weights(self) -> Array:
        """The weights of the first member."""
        return self.members[0]._weights

    # Predicting and learning.

    @property
    def _signs(self) -> Array:
        return np.ones(1) if len(self.members) == 1 else np.append(-1.0, np.ones(len(self.members) - 1))

    def _decide(self, predicted: Array) -> Array:
        """The predicted class numbers from the members' predictions, (rows, members); -1 if no class is known."""
        missing = np.isnan(predicted[:, 0])
        if self.known == 0:
            codes = np.full(len(predicted), -1.0)
        elif len(self.members) > 1:
            codes = np.argmax(np.where(missing[:, None], 0.0, predicted * self._signs), axis=1).astype(np.float64)
        else:
            codes = ((predicted[:, 0] > 0) & (self.known == 2)).astype(np.float64)
        codes[missing] = np.nan
        return codes

    def _targets(self, codes: Array) -> list[Array]:
        """The targets, +1 or -1, of each member."""
        if len(self.members) == 1:
            return [np.where(np.isnan(codes), np.nan, np.where(codes == 1, 1.0, -1.0))]
        signs = self._signs
        return [
            np.where(np.isnan(codes), np.nan, np.where(codes == number, sign, -sign)) for number, sign in enumerate(signs)
        ]

    def _ask(self, x: Any) -> Array | None:
        predicted = [core_of(member).predict(x) for member in self.members]
        return None if None in predicted else np.array([predicted])

    @exclusive
    def predict(self, x: Any) -> Any:
        """The predicted class number, -1 if no class is known, or None if Python must read the row."""
        predicted = self._ask(x)
        return None if predicted is None else float(self._decide(predicted)[0])

    def learn_row(self, x: Any, y: Any, weight: Any) -> Status:
        """Learns a row, unless its class is new or several members may refuse it."""
        predicted = self._ask(x) if self._is_sure(y, weight) else None
        if predicted is None:
            return Status.UNREAD
        targets, decided = [float(target[0]) for target in self._targets(np.array([y]))], self._decide(predicted)[0]
        status = self.learn_each([(member, x, aim) for member, aim in zip(self.members, targets, strict=True)], weight)
        return self._note_row(status, predicted, targets, decided != y)

    def _is_sure(self, y: Any, weight: Any) -> bool:
        """Whether the class is known and at most one member may refuse a row."""
        sure = len(self.members) == 1 or not self.members[0]._traits.may_refuse
        return sure and isinstance(y, float) and y < self.known and is_weight(weight)

    @exclusive
    def ask(self, x: Any, delay: int | None, kind: type[Any]) -> Any:
        """A ticket that holds the members' tickets; its prediction is the class number."""
        parts = self.ask_each_member(x, delay, kind)
        if parts is None:
            return None
        numbers = parts[0].numbers
        numbers[0] = self._decide(np.array([[part.prediction for part in parts]]))[0]
        return kind(copy_of(x), self.mark, numbers, None, parts)

    def learn_ticket(self, ticket: Ticket, y: Any, weight: Any) -> Status:
        """Learns a label, unless its class is new or several members may refuse it."""
        if not self._is_sure(y, weight) or len(ticket.parts) != len(self.members):
            return Status.UNREAD
        targets = [float(target[0]) for target in self._targets(np.array([y]))]
        predicted = np.array([[part.prediction for part in ticket.parts]])
        status = self.tell_each(list(zip(self.members, ticket.parts, targets, strict=True)), weight)
        return self._note_row(status, predicted, targets, ticket.numbers[0] != y)

    def tell_parts(self, ticket: Ticket, batch: Batch) -> None:
        """Like :meth:`learn_ticket`, for any class and for a ticket older than some of the classes."""
        assert batch.y is not None
        y = float(batch.y[0])
        self._row = np.asarray(batch.x[0], dtype=np.float64)
        while self.known <= y:
            self.add_class()
        parts = self._parts_now(ticket)
        tell_parts(self.members, parts, batch, [float(target[0]) for target in self._targets(np.array([y]))])
        self._note_told(ticket, parts, y)

    def _parts_now(self, ticket: Ticket) -> list[Ticket]:
        """A ticket for each member. Members created since `ask` predict now; the second started as a copy of the first."""
        parts = list(ticket.parts)
        for member in self.members[len(parts) :]:
            if len(parts) == 1:
                parts.append(copy.copy(parts[0]))
            else:
                parts.append(self.marked(member).ask(ticket.x, None, type(ticket)))
        return parts

    def _note_told(self, ticket: Ticket, parts: list[Ticket], y: float) -> None:
        predicted, code = np.array([[part.prediction for part in parts]]), np.array([y])
        self._take_note(predicted, code, self._targets(code), ticket.numbers[:1])

    def ask_members(self, batch: Batch, *, apart: bool) -> tuple[Array, int]:
        """The members' predictions, (rows, members), without learning, and the number of skipped rows."""
        predicted, _, skipped = self.replay_members(batch, [None] * len(self.members), apart=apart)
        return predicted, skipped

    @exclusive
    def scores(self, batch: Batch, *, apart: bool) -> tuple[Array, Array]:
        """Decision values and probabilities, (rows, classes); for two classes only the second's, (rows, 1)."""
        predicted, _ = self.ask_members(batch, apart=apart)
        return predicted * self._signs, self._probabilities(predicted)

    def replay(self, batch: Batch, out: Outputs) -> int:
        """Processes the rows in pieces that start at each new class."""
        if batch.y is None:
            predicted, skipped = self.ask_members(batch, apart=out.apart)
            out.predictions[:] = self._decide(predicted)
            return skipped
        counts = np.isfinite(batch.y) & (np.abs(batch.x) <= self.members[0]._largest).all(axis=1)
        if batch.weight is not None:
            counts &= batch.weight > 0
        start = skipped = 0
        while start < len(batch):
            new = np.flatnonzero(counts[start:] & (batch.y[start:] >= self.known))
            stop = start + int(new[0]) if new.size else len(batch)
            if stop > start:
                skipped += self._learn_piece(batch[start:stop], out.predictions[start:stop])
            if stop < len(batch):
                skipped += self._learn_new(batch[stop : stop + 1], out.predictions[stop : stop + 1])
            start = stop + 1
        return skipped

    def _learn_new(self, batch: Batch, predictions: Array) -> int:
        """Learns a row of a new class. The prediction comes from the classes known before."""
        before = self._decide(self.ask_members(batch, apart=False)[0])
        self._row = np.asarray(batch.x[0], dtype=np.float64)
        assert batch.y is not None
        while self.known <= batch.y[0]:
            self.add_class()
        noted = self.mistakes
        skipped = self._learn_piece(batch, predictions)
        predictions[:] = before
        self.mistakes = noted + 1 - skipped
        return skipped

    def _learn_piece(self, batch: Batch, predictions: Array) -> int:
        assert batch.y is not None
        targets = self._targets(batch.y)
        predicted, _, skipped = self.replay_members(batch, targets)
        predictions[:] = self._decide(predicted)
        learned = ~np.isnan(predicted[:, 0]) & ~np.isnan(batch.y)
        if batch.weight is not None:
            learned &= batch.weight > 0
        if learned.any():
            self._take_note(predicted[learned], batch.y[learned], [one[learned] for one in targets], predictions[learned])
        return skipped

    def _take_note(self, predicted: Array, codes: Array, targets: list[Array], decided: Array) -> None:
        """Counts mistakes and updates the calibration curve."""
        self.mistakes += int(np.count_nonzero(decided != codes))
        clipped = np.clip(predicted.reshape(-1, 1), -_KNOTS, _KNOTS)  # by row, and by member within a row
        aims = np.ascontiguousarray(np.column_stack(targets).reshape(-1))
        self.above[0]._replay_block(Batch(clipped, aims, None, ""), Outputs(np.empty(len(aims))))

    def _note_row(self, status: Status, predicted: Array, targets: list[float], mistaken: bool) -> Status:
        """If a row was learned, updates the calibration curve and counts a mistake; returns the status."""
        if status is Status.DONE:
            clipped = np.clip(predicted.reshape(-1, 1), -_KNOTS, _KNOTS)
            for row, aim in zip(clipped, targets, strict=True):
                self.above[0].learn_one(row, aim)
            self.mistakes += int(mistaken)
        return status

    def _probabilities(self, predicted: Array) -> Array:
        """The probability of each class, (rows, classes); with at most two classes only that of class 1, (rows, 1)."""
        heights = np.minimum(_KNOTS[:, None], _KNOTS) @ core_of(self.above[0]).weights()
        heights = np.maximum.accumulate(np.maximum(heights, 0.0)) + _LEAST * _KNOTS
        f = predicted * self._signs
        curve = np.copysign(np.interp(np.abs(f), np.append(0.0, _KNOTS), np.append(0.0, heights)), f)
        chances: Array = 1 / (1 + np.exp(-curve))
        return chances if len(self.members) == 1 else chances / chances.sum(axis=1, keepdims=True)
