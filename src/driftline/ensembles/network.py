"""A two-layer network of learners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from driftline._core import Level, Outputs, Status
from driftline.base import params
from driftline.base.batch import Batch
from driftline.base.certificate import Certificate
from driftline.base.composite import Composite, core_of, exclusive, is_weight, tell_parts
from driftline.base.learner import Learner
from driftline.base.meta import REGRESSOR, Ensemble
from driftline.base.registry import learner
from driftline.base.rules import Rule, sequence
from driftline.base.ticket import Ticket
from driftline.base.traits import Traits
from driftline.ensembles.network_bound import NETWORK_CONDITION, is_network_top, network_terms
from driftline.linear.arcor import ARCOR
from driftline.tables.inputs import Array

_COPIES: list[Learner] = [ARCOR(schedule=None), *(ARCOR(schedule=float(q)) for q in (1, 2, 3, 4))]
_TOP = ARCOR(schedule=None, radius=1.0, intercept=False)
_MEMBERS = sequence(REGRESSOR)
_LEARNERS = Rule(
    lambda value: isinstance(value, (list, tuple)) and _MEMBERS.accepts(value), f"a list of learners, each {REGRESSOR.words}"
)
_CONDITIONS = {  # the theorem's conditions on the top, by the event that breaks them
    "capped": "the growth of the top's S was never capped",
    "repaired": "the top's S never had to be repaired",
    "saturated": "every row of the top was within the range and the precision of its type",
    "retuned": "the top's parameters stayed as they were",
    "weighted": "every row has the weight 1",
}


@learner
class Network(Ensemble):
    r"""A two-layer network: several learners, and one on top that combines their predictions, O(C d²) a row.

    .. math:: \hat y = v \cdot p, \quad p = (\hat y_1, \ldots, \hat y_C)

    Every learner predicts the row and learns from it. The learner on top gets their predictions as inputs and learns the
    weights v. Its loss is at most that of the best learner, plus a term that grows as the logarithm of the number of rows:

    .. math:: L \le \min_c L_c + r + A \log\det(I + \tfrac{1}{r} \sum p p^\top)

    where A is the largest loss on one row. ``certificate()`` gives this bound at any time. ``run`` runs the learners in
    parallel threads. Intervals, and the resets of a run, are those of the learner on top. If a learner has transformers in
    front of it, ``coef_`` has the weights of the learners' predictions.

    Args:
        learners: a list of learners; None for the paper's: ARCOR without resets and with q = 1, 2, 3, 4.
        top: the learner on top; None for the paper's: ARCOR without resets and with radius 1.

    References: :cite:`vaits2011`, Section 6 and Theorem 2.

    >>> import driftline as dl
    >>> X, y = dl.streams.Rotating(rate=0.01, noise=0.05, seed=0).take(1000)
    >>> model = Network([dl.Ridge(), dl.RLS(forgetting=0.9)])
    >>> loss = model.run(X, y).losses.sum()
    >>> certificate = model.certificate()
    >>> bool(loss <= certificate.bound)
    True
    """

    learners: Sequence[Learner] | None = params.checked(default=None, rule=_LEARNERS, optional=True, kw_only=False)
    top: Learner | None = params.checked(default=None, rule=REGRESSOR, optional=True, kw_only=False)

    def _base_learners(self) -> list[Learner]:
        given = self.learners
        return _COPIES if given is None else list(given)

    def _top_learners(self) -> list[Learner]:
        return [_TOP if self.top is None else self.top]

    def _base_learners_in(self, values: dict[str, Any]) -> list[Learner]:
        return list(values["learners"] or ())

    def _of_the_learners(self, name: str) -> Any:
        if name == "intercept" and self._top_learners()[0].intercept:
            return True
        return super()._of_the_learners(name)

    def _compose(self, members: list[Learner], above: list[Learner], features: int) -> Composite:
        return _Network(members, [(above[0], len(members))], features, bool(self.intercept), self.dtype)

    def _make_traits(self) -> Traits:
        top, members = self._top_learners()[0], [member._traits for member in self._base_learners()]
        return replace(
            super()._make_traits(),
            by_feature=all(member.by_feature for member in members),
            plain_intercept=not top.intercept and all(member.plain_intercept for member in members),
            can_reset=top._traits.can_reset,
            measured_apart=any(member.measured_apart for member in members)
            and all(member.measured_apart or not member.looks_back for member in members),
        )

    @property
    def weights_(self) -> Array:
        """The weights that the learner on top gives to the others' predictions; they need not sum to 1."""
        core: Composite = self._require_core("weights_")
        return core.above[0]._weights[: len(core.members)]

    def _experts(self, row: Array | None = None) -> tuple[dict[str, float], Array | None]:
        core: _Network = self._require_core("run")
        names = [f"{type(member).__name__} {number}" for number, member in enumerate(core.members, start=1)]
        return dict(zip(names, self.weights_.tolist(), strict=True)), None if row is None else core._ask(row)

    def _certify(self, sums: dict[str, float]) -> Certificate:
        core: _Network = self._require_core("certificate")
        best = core.least_loss()
        noise = getattr(self._top_learners()[0], "noise", None)
        top = core.above[0]
        conditions = {
            NETWORK_CONDITION: noise is not None and is_network_top(top, noise),
            **{words: False for name, words in _CONDITIONS.items() if sums.get(name, 0)},
        }
        bound = None
        if all(conditions.values()) and noise is not None:
            growth = top._log_det_growth()  # type: ignore[attr-defined]
            bound = sum(network_terms(best, noise, sums["largest_loss"], growth).values())
        events = {
            f"{type(member).__name__} {number}: {name}": count
            for number, member in enumerate(core.members)
            for name, count in member.certificate().events.items()
        }
        return Certificate(
            sums["loss"], best, bound if bound is not None and np.isfinite(bound) else None, conditions, events
        )


class _Network(Composite):
    """The state of a network."""

    _plan: list[int] | None = None
    tops: Array | None = None  # the members' weights at the snapshots of the last replay

    @cached_property
    def largest(self) -> float:
        """The largest value of the top's type; predictions are clipped to it."""
        return float(self.above[0]._largest)

    @exclusive
    def sums(self) -> dict[str, float]:
        """The sums of the learner on top, whose predictions are the network's."""
        return self.above[0]._sums()

    @exclusive
    def least_loss(self) -> float:
        """The loss of the best member."""
        return min(member._sums()["loss"] for member in self.members)

    @exclusive
    def weights(self) -> Array:
        """The weights of the features if every member has them, otherwise the weights of the members' predictions."""
        return self._combine(self.above[0]._weights, [member._weights for member in self.members])

    def _combine(self, top: Array, weights: list[Array]) -> Array:
        if not self.by_feature:
            return self.wide(top, self.above[0]).astype(self.dtype)
        total = np.zeros((*top.shape[:-1], self.features + self.intercept))
        largest = float(np.finfo(self.dtype).max)
        with np.errstate(over="ignore", invalid="ignore"):
            for number, member in enumerate(self.members):
                total += top[..., number, None].astype(np.float64) * self.wide(weights[number].astype(np.float64), member)
            if self.above[0].intercept:
                total[..., -1] += top[..., -1]
        return np.nan_to_num(total, nan=0.0, posinf=largest, neginf=-largest).clip(-largest, largest).astype(self.dtype)

    def _ask(self, x: Any) -> Array | None:
        predicted = [core_of(member).predict(x) for member in self.members]
        return None if None in predicted else self._clipped(predicted)

    def _clipped(self, predicted: list[float]) -> Array:
        largest = self.largest
        return np.array([min(max(one, -largest), largest) for one in predicted])

    @exclusive
    def predict(self, x: Any) -> Any:
        """The prediction, or None if Python must read the row."""
        return self._said(self._ask(x))

    def _said(self, predicted: Array | None) -> Any:
        return None if predicted is None else self.above[0].predict_one(predicted) + 0.0  # no negative zero on any path

    @exclusive
    def predict_interval(self, x: Any, level: Level) -> tuple[float, float] | None:
        """Both ends of the interval, or None if Python must read the row."""
        predicted = self._ask(x)
        return None if predicted is None else core_of(self.above[0]).predict_interval(predicted, level)

    @exclusive
    def predict_quantiles(self, x: Any, levels: Array) -> Array | None:
        """Quantiles of the label, or None if Python must read the row."""
        predicted = self._ask(x)
        return None if predicted is None else core_of(self.above[0]).predict_quantiles(predicted, levels)

    @property
    def plan(self) -> list[int]:
        """The order in which members and top learn a row, by index; empty if learning takes an undo.

        If only one of them may refuse a row, it goes first, so the others never have to undo it.
        """
        if self._plan is None:
            doubtful = [part._traits.may_refuse for part in [*self.members, *self.above]]
            self._plan = sorted(range(len(doubtful)), key=lambda n: not doubtful[n]) if sum(doubtful) < 2 else []
        return self._plan

    def learn_row(self, x: Any, y: Any, weight: Any) -> Status:
        """Every member learns the row, and the top learns from their predictions."""
        predicted = self._ask(x) if self.plan and is_weight(weight) else None
        if predicted is None:
            return Status.UNREAD
        parts, rows = [*self.members, *self.above], [x] * len(self.members) + [predicted]
        return self.learn_each([(parts[number], rows[number], y) for number in self.plan], weight)

    @exclusive
    def ask(self, x: Any, delay: int | None, kind: type[Any]) -> Any:
        """A ticket that holds those of the members and of the top, whose row is the members' predictions."""
        parts = self.ask_each_member(x, delay, kind)
        if parts is None:
            return None
        predicted = self._clipped([part.prediction for part in parts])
        top = self.marked(self.above[0]).ask(predicted, delay, kind)
        return None if top is None else top.around(x, self.mark, [*parts, top])

    def learn_ticket(self, ticket: Ticket, y: Any, weight: Any) -> Status:
        """Every member, and the top, learns the label of its ticket."""
        if not (self.plan and is_weight(weight)):
            return Status.UNREAD
        parts = [*self.members, *self.above]
        return self.tell_each([(parts[number], ticket.parts[number], y) for number in self.plan], weight)

    def tell_parts(self, ticket: Ticket, batch: Batch) -> None:
        """Like :meth:`learn_ticket`, if several learners may refuse the row."""
        tell_parts([*self.members, *self.above], ticket.parts, batch)

    @exclusive
    def adopt_params(self, members: list[Learner], above: list[Learner]) -> None:
        """Applies the parameters of other learners."""
        super().adopt_params(members, above)
        self._plan = None

    def _widen(self, batch: Batch, out: Outputs) -> None:
        """Makes intervals at least as wide as those of the members that have measured their errors without labels."""
        weights, half = self.above[0]._weights, np.zeros(len(batch))
        for number, member in enumerate(self.members):
            if member._traits.measured_apart and weights[number] != 0:
                lower, upper = np.empty((2, len(batch)))
                own = Outputs(np.empty(len(batch)), lower=lower, upper=upper, level=out.level, apart=True)
                member._replay_block(batch, own)
                half += abs(float(weights[number])) * (own.upper - own.predictions)
        low, high = self.limits.low, self.limits.high
        out.lower[:] = np.clip(np.minimum(out.lower, out.predictions - half), low, high)
        out.upper[:] = np.clip(np.maximum(out.upper, out.predictions + half), low, high)

    def replay(self, batch: Batch, out: Outputs) -> int:
        """Members do not depend on the top, so they process the rows first."""
        every = 0 if out.weights is None else out.every
        predicted, kept, skipped = self.replay_members(batch, [batch.y] * len(self.members), every, apart=out.apart)
        top = self.above[0]
        mixed = np.empty((len(batch) // every, len(core_of(top).weights()))) if every else None
        own = Outputs(
            out.predictions,
            lower=out.lower,
            upper=out.upper,
            level=out.level,
            quantiles=out.quantiles,
            quantile_levels=out.quantile_levels,
            resets=out.resets,
            weights=mixed,
            every=every,
            apart=out.apart,
        )
        inner = Batch(
            np.clip(predicted, -self.largest, self.largest),
            batch.y,
            batch.weight,
            batch.where,
            batch.start,
            times=batch.times,
        )
        top._replay_block(inner, own)
        out.predictions[:] += 0.0
        if out.apart and out.lower is not None:
            self._widen(batch, out)
        if mixed is not None:
            self.tops = mixed[:, : len(self.members)]
            out.weights[:] = self._combine(mixed, kept)
        return skipped
