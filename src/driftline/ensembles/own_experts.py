"""Auto with the user's own learners among its experts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from driftline import _core
from driftline._core import Outputs
from driftline.base import params
from driftline.base.batch import Batch
from driftline.base.certificate import Certificate
from driftline.base.composite import Composite, core_of, exclusive, tell_parts
from driftline.base.learner import Learner
from driftline.base.meta import REGRESSOR, Ensemble
from driftline.base.rules import Rule, sequence
from driftline.base.ticket import Ticket
from driftline.base.traits import Traits, times_of
from driftline.ensembles.auto import Auto
from driftline.ensembles.by_errors import ERRORS, ByErrors, clipped, error_of
from driftline.linear.lms import LMS
from driftline.storage import codec
from driftline.tables.inputs import Array

_EXPERTS = sequence(REGRESSOR)
_BLENDS = {"a quarter of": 0.25, "three quarters of": 0.75}  # an expert's share; the rest is Auto's
_LAYERS = 5  # number of values that the final mixture computes


class AutoWithExperts(Ensemble, Auto):  # type: ignore[misc]  # Ensemble comes first
    """Auto and the user's own learners, combined by Auto's final mixture: ``dl.Auto(experts=[...])`` creates one.

    Auto and every expert learn as they would alone. The final mixture also sees fixed blends of them, which are hard to beat
    while few labels are known: a quarter and three quarters of each expert, with Auto for the rest, and the mean of Auto and
    all experts. It initially favours Auto, and then follows whichever did better, recently and overall; see :doc:`/auto`.
    All intervals at a given time have the same width. The model can be saved if all its experts can.

    Args:
        experts: a list of learners.

    >>> import driftline as dl
    >>> X, y = dl.streams.Rotating(rate=0.01, noise=0.05, seed=0).take(500)
    >>> model = dl.Auto(experts=[dl.RLS(forgetting=0.9)])
    >>> run = model.run(X, y)
    >>> list(model.weights_)
    ['Auto', 'RLS 1', 'a quarter of RLS 1', 'three quarters of RLS 1', 'mean']
    """

    experts: Sequence[Learner] = params.checked(
        default=(),
        rule=Rule(
            lambda value: isinstance(value, (list, tuple)) and len(value) > 0 and _EXPERTS.accepts(value),
            f"a list of learners, each {REGRESSOR.words}",
        ),
        kw_only=False,
    )

    def _make_traits(self) -> Traits:
        times = times_of(expert._traits for expert in self.experts)
        return Traits(by_feature=False, linear=False, looks_back=True, measured_apart=True, times=times)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"experts": [LMS(implicit=True)]}

    def _base_learners(self) -> list[Learner]:
        return [Auto(), *self.experts]

    def _copies_of_the_top(self) -> list[Learner]:
        return [ERRORS.clone(), ERRORS.clone()]

    def _compose(self, members: list[Learner], above: list[Learner], features: int) -> Composite:
        made = _count_of_blends(members) + _LAYERS  # values computed for a row, which the second one's tickets carry
        return Experts(members, [(above[0], 1), (above[1], made)], features, bool(self.intercept), self.dtype)

    @property
    def weights_(self) -> dict[str, float]:
        """The weights of Auto, each expert and the blends. They sum to 1."""
        core: Experts = self._require_core("weights_")
        names = [f"{type(one).__name__}{f' {number}' if number else ''}" for number, one in enumerate(core.members)]
        blends = [f"{share} {name}" for share in _BLENDS for name in names[1:]]
        return dict(zip([*names, *blends, "mean"], core.mixture.shares().tolist(), strict=True))

    def _experts(self, row: Array | None = None) -> tuple[dict[str, float], Array | None]:
        core: Experts = self._require_core("run")
        predicted = None if row is None else core._ask(row)
        said = None if predicted is None else np.concatenate([predicted, core._make(predicted)[: core._blends]])
        return self.weights_, said

    @property
    def _auto(self) -> Auto:
        auto = self.learners_[0]
        assert isinstance(auto, Auto)
        return auto

    @property
    def memory_(self) -> float:
        """Auto's effective number of rows in use; the experts' own are theirs."""
        return self._auto.memory_

    @property
    def drift_(self) -> float:
        """Auto's estimate of the drift of the weights."""
        return self._auto.drift_

    def explain(self) -> str:
        """Describes in words what Auto has found out about the stream, and gives the weights of the experts."""
        if self._core is None:
            return "Auto has seen no row yet."
        shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in self.weights_.items())
        return f"Weight by learner: {shares}.\n{self._auto.explain()}"

    def _certify(self, sums: dict[str, float]) -> Certificate:
        return Certificate(sums["loss"])


class Experts(ByErrors):
    """The state: Auto, the experts, the final mixture, and the errors of its predictions."""

    by_feature = False

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._blends = self._count_blends()
        self.mixture = _core.FinalMixture(len(self.members) + self._blends)

    def _count_blends(self) -> int:
        return _count_of_blends(self.members)

    def weights(self) -> Array:
        """There are no weights."""
        return np.zeros(1, dtype=self.dtype)

    def _own_state(self) -> dict[str, Any]:
        return {"mixture": self.mixture.get_state()}

    def _set_own_state(self, state: dict[str, Any]) -> None:
        saved = state["mixture"]
        self.mixture.set_state(saved if isinstance(saved, dict) else {"numbers": saved})  # an array in format 10

    def _ask(self, x: Any) -> Array | None:
        predicted = [core_of(member).predict(x) for member in self.members]
        return None if None in predicted else clipped(np.array(predicted))

    @exclusive
    def predict(self, x: Any) -> Any:
        """The prediction, or None if Python must read the row."""
        predicted = self._ask(x)
        return None if predicted is None else self.limits.hold(float(self._make(predicted)[-1]))

    def _make(self, predicted: Array) -> Array:
        """Combines the members' predictions: the blends, the final mixture's layers, and the prediction."""
        blends = [(1 - share) * predicted[0] + share * predicted[1:] for share in _BLENDS.values()]
        mean = clipped(np.sum(predicted / len(predicted)))
        inputs = np.concatenate([predicted, *blends, [mean]])
        return np.concatenate([inputs[len(predicted) :], self.mixture.mix(inputs)])

    def _judge(self, predicted: Array, made: Array, y: float, weight: float | None, delay: int) -> None:
        """The final mixture learns the label of a row, for which ``made`` was computed."""
        blends, mixed = np.split(made, [self._blends])
        self.mixture.learn(np.concatenate([predicted, blends]), mixed, y, 1.0 if weight is None else weight, delay)

    @exclusive
    def ask(self, x: Any, delay: int | None, kind: type[Any]) -> Any:
        """A ticket that holds the members' tickets, one for the errors, and one with the final mixture's values."""
        parts = self.ask_each_member(x, delay, kind)
        if parts is None:
            return None
        made = self._make(clipped(np.array([part.prediction for part in parts])))
        return self.asked(x, made[-1], parts, delay, kind, self.marked(self.above[1]).ask(made, delay, kind))

    def tell_parts(self, ticket: Ticket, batch: Batch) -> None:
        """Every member learns the label of its ticket, then the final mixture learns it."""
        count = len(self.members)
        tell_parts(self.members, ticket.parts[:count], batch)
        assert batch.y is not None
        y, weight = float(batch.y[0]), None if batch.weight is None else float(batch.weight[0])
        if ticket.labels > 0:
            self._judge(*self._heard(ticket), y, weight, ticket.delay)
        self.marked(self.above[0])
        self.above[0].tell(ticket.parts[count], error_of(y, ticket.prediction), sample_weight=weight)

    def _heard(self, ticket: Ticket) -> tuple[Array, Array]:
        """The members' predictions when a ticket was asked, and the values computed from them."""
        count = len(self.members)
        predicted = clipped(np.array([part.prediction for part in ticket.parts[:count]]))
        return predicted, np.asarray(ticket.parts[count + 1].x, dtype=np.float64)

    def learned(self, batch: Batch, whole: Array) -> Array:
        """Which rows are learned, given those without missing values."""
        learned: Array = np.array(whole)
        if batch.y is not None:
            learned &= np.abs(batch.y) <= self.members[0]._largest
        if batch.weight is not None:
            learned &= batch.weight > 0
        return learned

    def replay(self, batch: Batch, out: Outputs) -> int:
        """Learners do not depend on the final mixture, so they process the rows first."""
        y = batch.y
        if out.apart and y is None:  # the weights were earned while labels came
            return self.members[0]._replay_block(batch, out)
        predicted, _, skipped = self.replay_members(batch, [y] * len(self.members))
        whole: Array = np.logical_not(np.isnan(predicted).any(axis=1))
        predicted = clipped(np.ascontiguousarray(predicted))
        out.predictions[:] = np.nan
        learned = self.learned(batch, whole)
        rows = self.sums()["rows"]
        for t in np.flatnonzero(whole):
            made = self._make(predicted[t])
            out.predictions[t] = made[-1]
            if y is not None and learned[t]:
                if rows > 0:
                    self._judge(predicted[t], made, float(y[t]), None if batch.weight is None else float(batch.weight[t]), 0)
                rows += 1
        self._note_errors(y, batch.weight, learned, out)
        return skipped


def _count_of_blends(members: Sequence[Learner]) -> int:
    """The number of the final mixture's inputs besides the predictions of Auto and the experts."""
    return len(_BLENDS) * (len(members) - 1) + 1


codec.register(AutoWithExperts, "auto_with_experts", lambda value: value.get_params(deep=False))
Auto._with_experts = AutoWithExperts
AutoWithExperts.__name__ = "Auto"  # messages and the representation show what the user typed; pickle reads __qualname__
