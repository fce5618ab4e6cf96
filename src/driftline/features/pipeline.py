"""A pipeline of transformers and a learner, which is itself a learner."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from driftline._core import Level, Outputs, SparseRows, Status
from driftline.base import params, river
from driftline.base.batch import Batch, numbered
from driftline.base.certificate import Certificate
from driftline.base.composite import Composite, core_of, exclusive, tell_parts
from driftline.base.learner import Learner
from driftline.base.meta import Front, MetaLearner
from driftline.base.registry import learner
from driftline.base.rules import Rule
from driftline.base.ticket import Ticket
from driftline.base.traits import Traits
from driftline.features.calendar import Calendar
from driftline.features.chain import Chain
from driftline.features.hashing import Hashing
from driftline.features.lags import Lags
from driftline.features.standardize import Standardize
from driftline.features.transformer import TRANSFORMERS, Transformer, parts_of
from driftline.features.unit_norm import UnitNorm
from driftline.linear.rls import RLS
from driftline.tables.inputs import Array, Name

_PARTS: list[Transformer] = [Standardize()]
_SAME = Lags()  # the row as it is
_ELEMENTS = 2**15  # of transformed rows at a time, so that they stay in the cache until they are learned


@learner
class Pipeline(Front):
    r"""Transformers in front of a learner, which learns from the transformed rows, O(d²) a row.

    The cost is that of an O(d²) learner, with d the number of transformed features. ``Standardize() | Lags(y=8) | RLS()`` is
    the short form.

    The learner learns a row from the same transformed values from which it predicted it. ``predict_one`` learns nothing;
    ``learn_one`` transforms the row, then first the learner and then the transformers learn it. Transformers ignore
    rejected rows and rows of weight 0. A skipped row keeps its place in :class:`~driftline.features.Lags`. ``coef_`` and the
    certificate are the learner's and refer to transformed features; ``learner_.feature_names_in_`` has their names, if the
    rows have names. See :doc:`/features`.

    Args:
        transformers: one transformer, or a list in order; None for :class:`~driftline.features.Standardize`.
        learner: any regressor; None for RLS.

    >>> from driftline.features import Lags, Standardize
    >>> model = Standardize() | Lags(y=2) | RLS(forgetting=1.0)
    >>> y = [0.0, 1.0]
    >>> for t in range(100):
    ...     model.learn_one([t % 7], y[-1])
    ...     y.append(1.6 * y[-1] - y[-2])
    >>> abs(model.predict_one([100 % 7]) - y[-1]) < 0.02
    True
    """

    transformers: Transformer | Sequence[Transformer] | None = params.checked(
        default=None, rule=TRANSFORMERS, optional=True, kw_only=False
    )
    learner: Learner | None = params.checked(
        default=None,
        rule=Rule(lambda value: isinstance(value, Learner) and value._estimator_type == "regressor", "a regressor"),
        optional=True,
        kw_only=False,
    )

    _default = RLS()

    def _make_traits(self) -> Traits:
        inner, hashing = self._base_learners()[0]._traits, self._hashing
        return Traits(
            by_feature=False,
            bends=inner.bends or any(part._bends for part in self.parts),
            plain_intercept=False,
            composes=hashing is None,  # otherwise rows have no features that other learners could use
            looks_back=inner.looks_back or any(isinstance(part, Lags) for part in self.parts),
            can_reset=inner.can_reset,
            measured_apart=inner.measured_apart,
            times=next((part for part in self.parts if isinstance(part, Calendar)), inner.times),
            reader=hashing,
            answers=inner.answers,
            over_time=inner.over_time,
        )

    @property
    def _hashing(self) -> Hashing | None:
        first = self.parts[0]
        return first if isinstance(first, Hashing) else None

    def _check_relations(self, values: dict[str, Any]) -> None:
        super()._check_relations(values)
        given = values["transformers"]
        if given is not None and any(isinstance(part, Hashing) for part in parts_of(given)[1:]):
            raise ValueError("Pipeline: Hashing must be the first transformer")
        if given is not None and sum(isinstance(part, (Calendar, Hashing)) for part in parts_of(given)) > 1:
            raise ValueError("Pipeline: there can be one Calendar, and none with Hashing, which reads times as text")

    @property
    def parts(self) -> list[Transformer]:
        """The single transformers in order, as given."""
        return _PARTS if self.transformers is None else parts_of(self.transformers)

    def _unit_test_skips(self) -> frozenset[str]:
        scaled = any(isinstance(part, (Standardize, UnitNorm)) for part in self.parts)
        inner = super()._unit_test_skips() - (river.NEEDS_SCALED_ROWS if scaled else set())
        return inner.union(*(part._unit_test_skips() for part in self.parts))

    def _compose(self, members: list[Learner], above: list[Learner], features: int) -> Composite:
        within = self.parts if self._hashing is None else self.parts[1:] or [_SAME]
        return _Pipeline(members[0], within, self._hashing, features, bool(self.intercept), self.dtype)

    def _refresh(self, before: dict[str, Any]) -> None:
        if self.transformers is not before["transformers"]:
            raise ValueError
        super()._refresh(before)

    def _replay_block(self, batch: Batch, out: Outputs) -> int:
        if self.missing == "raise":
            door = self._door
            known = door.whole_rows(batch.x)
            if batch.y is not None:
                known &= np.abs(batch.y) <= door.largest
            if not known.all():
                row = int(known.argmin())
                label = None if batch.y is None else batch.y[row]
                door.refuse_row(batch.x[row], label, batch.where, batch.number(row), batch.names)
        return super()._replay_block(batch, out)

    def _operations(self, width: int) -> int:
        core: _Pipeline = self._require_core("run")
        return core.chain.outputs + core.members[0]._operations(core.chain.outputs + 1)

    # What was learned.

    @property
    def covariance_(self) -> Array:
        """The learner's matrix S, if it has one."""
        S: Array = self._learner("covariance_").covariance_  # type: ignore[attr-defined]
        return S

    def _certify(self, sums: dict[str, float]) -> Certificate:
        return self._learner("certificate")._certify(sums)


def behind(transformers: list[Transformer], learner: Learner) -> Learner:
    """A learner with transformers in front of it; a classifier gets them in front of its regressor."""
    if isinstance(learner, Pipeline):
        return learner.clone({"transformers": [*transformers, *learner.parts]})
    if isinstance(learner, MetaLearner) and learner._estimator_type == "classifier":
        return learner.clone({"learner": behind(transformers, learner._base_learners()[0])})
    return Pipeline(transformers, learner)


Transformer._before = staticmethod(behind)


class _Pipeline(Composite):
    """The learned state of the transformers and the learner."""

    def __init__(
        self,
        member: Learner,
        transformers: Sequence[Transformer],
        hashing: Hashing | None,
        features: int,
        intercept: bool,
        dtype: str,
    ) -> None:
        super().__init__([member], [], features, intercept, dtype)
        self.chain = Chain(transformers, features, member._largest)
        self._hashing = hashing

    @property
    def by_feature(self) -> bool:
        """Never: the weights are those of the transformed features."""
        return False

    @property
    def width_within(self) -> int:
        """The number of features of a transformed row."""
        return self.chain.outputs

    def _names_within(self) -> list[Name] | None:
        return None if self._names is None else self.chain.names_out(self._names)

    def meet(self, row: Array) -> None:
        """Passes the first row to the learner, transformed."""
        first = self.chain.look(np.asarray(row, dtype=np.float64))
        self.members[0]._meet(np.zeros(self.chain.outputs) if first is None else first, self._names_within())

    @exclusive
    def grow(self, more: int) -> None:
        """Adds features at their prior."""
        core_of(self.members[0]).grow(self.chain.grow(more))
        self._features += more

    @exclusive
    def set_names(self, names: list[Name]) -> None:
        """Sets the names of the features, in their order."""
        self._names = names
        self.chain.set_names(names)
        if self.members[0]._core is not None:
            self.members[0]._set_names(self._names_within())

    def _own_state(self) -> dict[str, Array]:
        return self.chain.get_state()

    @exclusive
    def set_state(self, state: dict[str, Array]) -> None:
        """Restores the result of :meth:`get_state` in a new composite. Raises ValueError if it is invalid."""
        self.chain.set_state(state)
        super().set_state(state)

    @property
    def memory(self) -> Any:
        """The learner's core's ``memory``; an AttributeError if it has none."""
        return core_of(self.members[0]).memory

    def sums(self) -> dict[str, float]:
        """The learner's sums."""
        return self.members[0]._sums()

    def weights(self) -> Array:
        """The learner's weights."""
        return self.members[0]._weights

    # One row.

    def behind(self, row: Any) -> Array | None:
        """The row that the learner reads; None before there is one."""
        return None if isinstance(row, SparseRows) else self._look(row, delay=self.delay)

    def _look(self, x: Any, unknown_allowed: bool = True, delay: int = 0) -> Array | None:
        """The transformed row, or None if Python must read it or a value leaves the range."""
        if self._hashing is not None:
            try:
                x = self._hashing.row(x, "")
            except (TypeError, ValueError):
                return None
        return self.chain.look(x, unknown_allowed, delay=delay)

    @exclusive
    def predict(self, x: Any) -> Any:
        """The prediction, or None if Python must read the row."""
        row = self._look(x, delay=self.delay)
        return None if row is None else core_of(self.members[0]).predict(row)

    @exclusive
    def predict_interval(self, x: Any, level: Level) -> tuple[float, float] | None:
        """Both ends of the interval, or None if Python must read the row."""
        row = self._look(x, delay=self.delay)
        return None if row is None else core_of(self.members[0]).predict_interval(row, level)

    @exclusive
    def predict_quantiles(self, x: Any, levels: Array) -> Array | None:
        """Quantiles of the label, or None if Python must read the row."""
        row = self._look(x, delay=self.delay)
        return None if row is None else core_of(self.members[0]).predict_quantiles(row, levels)

    def learn_row(self, x: Any, y: Any, weight: Any) -> Status:
        """The learner goes first: nothing after it can fail."""
        row = self._look(x, unknown_allowed=False)
        status = Status.UNREAD if row is None else self.learn_each([(self.members[0], row, y)], weight)
        if status is Status.DONE:
            self.chain.learn(y)
        return status

    @exclusive
    def ask(self, x: Any, delay: int | None, kind: type[Any]) -> Any:
        """A ticket that contains the learner's own ticket for the transformed row."""
        row = self._look(x, delay=self.delay if delay is None else delay) if self.mark else None
        parts = None if row is None else self.ask_each_member(row, delay, kind)
        kept = x if self._hashing is None or parts is None else self._hashing.unhashed(x)
        return None if parts is None else parts[0].around(kept, self.mark, parts)

    def kept_parts(self, ticket: Ticket, x: Any) -> list[Ticket]:
        """The learner's ticket, with the other row as transformed now."""
        row = self._look(x, delay=ticket.delay)
        return list(ticket.parts) if row is None else super().kept_parts(ticket, row)

    def parts_to_tell(self, ticket: Ticket, x: Any) -> list[Ticket]:
        """Copies of the parts as they are: :meth:`learn_ticket` transforms the row itself."""
        parts: list[Ticket] = copy.copy(ticket).parts
        return parts

    def learn_ticket(self, ticket: Ticket, y: Any, weight: Any) -> Status:
        """The learner learns the row as transformed at the time of ``ask``; the transformers learn the row itself."""
        inner = self._part_of(ticket, self._look(ticket.x, unknown_allowed=False))
        status = Status.UNREAD if inner is None else self.tell_each([(self.members[0], inner, y)], weight)
        if status is Status.DONE:
            self.chain.learn(y)
        return status

    @staticmethod
    def _part_of(ticket: Ticket, row: Array | None) -> Ticket | None:
        """The learner's ticket, updated to the row as it is transformed now; None if it could not be transformed.

        Features that were unknown at the time of ``ask`` are transformed now, in a copy, because the label may still be
        rejected.
        """
        inner = ticket.parts[0]
        if row is not None and inner.width < len(row):
            inner = copy.copy(inner)
            inner.extend(np.ascontiguousarray(row[inner.width :]))
        return None if row is None else inner

    def tell_parts(self, ticket: Ticket, batch: Batch) -> None:
        """Like :meth:`learn_ticket`, for a learner that may reject the row."""
        inner = self._part_of(ticket, self.chain.look(batch.x[0], unknown_allowed=False))
        if inner is None:
            self._refuse_left(batch.where, None)
        tell_parts(self.members, [inner], batch)
        assert batch.y is not None
        self.chain.learn(float(batch.y[0]))

    @exclusive
    def tell_block(self, ticket: Ticket, batch: Batch) -> int:
        """Like :meth:`tell_parts`; skips a row that leaves the range once it is transformed."""
        readable = ticket.parts and self.chain.look(batch.x[0], unknown_allowed=False) is not None
        if not readable and self.members[0].missing == "skip":
            return 1
        return super().tell_block(ticket, batch)

    # Many rows.

    def replay(self, batch: Batch, out: Outputs) -> int:
        """Transforms rows piece by piece up to the first bad value; the transformers learn those with a label."""
        member, largest = self.members[0], self.members[0]._largest
        whole: Array = np.all(np.abs(batch.x) <= largest, axis=1)
        learned = None
        if batch.y is not None:
            learned = whole & (np.abs(batch.y) <= largest)
            if batch.weight is not None:
                learned &= batch.weight > 0
        every = out.every if out.weights is not None else 1
        step = max(_ELEMENTS // max(self.chain.outputs, 1) // every, 1) * every
        skipped = 0
        for start in range(0, len(batch), step):
            rows = slice(start, min(start + step, len(batch)))
            piece = batch[rows]
            labels = None if piece.y is None else np.ascontiguousarray(piece.y)
            skip = member.missing == "skip"
            if labels is None and self.delay:
                seen, done = self._look_at_all(piece.x, whole[rows], skip)
            else:
                taught = None if learned is None else learned[rows]
                seen, done = self.chain.run(piece.x, whole[rows], taught, labels, skip, started=self.rows > 0)
            if done < len(seen):
                self._refuse_left(batch.where, piece.number(done))
            inner = Batch(seen, labels, piece.weight, batch.where, piece.start, self._names_within(), piece.times)
            skipped += member._replay_block(inner, out.part(rows.start, rows.stop))
        return skipped

    def _look_at_all(self, x: Array, whole: Array, skip: bool) -> tuple[Array, int]:
        """Rows transformed as :meth:`predict` sees them while labels come late; see :meth:`Chain.run`."""
        seen = np.full((len(x), self.chain.outputs), np.nan)
        for t in np.flatnonzero(whole):
            row = self.chain.look(x[t], delay=self.delay)
            if row is not None:
                seen[t] = row
            elif not skip:
                return seen, int(t)
        return seen, len(seen)

    def _refuse_left(self, where: str, row: int | None) -> NoReturn:
        after, values = self.chain.left()
        names = None if self._names is None else self.chain.names_out(self._names, after)
        last = after + 1 == len(self.chain.transformers)
        what = "the transformed X" if last else f"X after {type(self.chain.transformers[after]).__name__}"
        self.members[0]._door.refuse_bad(values, where, names, what, numbered(row, after=", "))
        raise ValueError(f"{where}: the transformers reject {numbered(row) or 'the row'}")
