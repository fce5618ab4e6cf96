"""DFOP at many forgetting rates at once, mixed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from driftline._core import Outputs, Status
from driftline.base import params
from driftline.base.batch import Batch
from driftline.base.composite import Composite, exclusive, is_weight
from driftline.base.learner import Learner
from driftline.base.meta import Ensemble
from driftline.base.rules import choice
from driftline.base.ticket import Ticket
from driftline.base.traits import Traits
from driftline.ensembles.by_errors import ERRORS, clipped, error_of
from driftline.ensembles.own_experts import Experts
from driftline.linear.dfop import ADAPTIVE, DFOP
from driftline.storage import codec
from driftline.tables.inputs import Array

RATES = (0.02, 0.32, 0.16, 0.08, 0.04, 0.01, 0.005, 0.0025, 0.00125, 0.000625)  # the mixture begins with the first
_LAYERS = 5  # number of values that the mixture computes
_NONE = (np.inf, -np.inf)  # the range of no labels
_FEW, _FAR = 32, 4  # while fewer labels than that are known, predictions are held within four times the largest


class AdaptiveDFOP(Ensemble):
    """DFOP at ten forgetting rates, combined by Auto's final mixture, O(d²) a row: ``DFOP(forget_rate="adaptive")``.

    Each rate learns as it would alone, at ten times DFOP's cost. The mixture follows whichever rates did better, recently
    and overall. ``coef_`` is the mean of the rates' weights by ``weights_``. Rates that forget quickly can run away while
    inputs stay constant or collinear, so their predictions are held within the range of the labels so far, extended by its
    width on both sides, once 32 labels are known. All intervals at a given time have the same width.

    Args:
        forget_rate: "adaptive".
        prior: of every rate.

    >>> import driftline as dl
    >>> X, y = dl.streams.Rotating(rate=0.1, noise=0.05, seed=0).take(2000)
    >>> adaptive, usual = (dl.DFOP(forget_rate=rate).run(X, y).losses.mean() for rate in ("adaptive", 0.01))
    >>> bool(adaptive < usual)
    True
    """

    forget_rate: str = params.checked(default=ADAPTIVE, rule=choice([ADAPTIVE]))
    prior: float = params.real(default=100.0, gt=0)

    def _base_learners(self) -> list[Learner]:
        return [DFOP(forget_rate=rate, prior=self.prior) for rate in RATES]

    def _base_learners_in(self, values: dict[str, Any]) -> list[Learner]:
        return []

    def _make_traits(self) -> Traits:
        return replace(super()._make_traits(), may_refuse=False, may_run_away=False)

    def _copies_of_the_top(self) -> list[Learner]:
        return [ERRORS.clone(), ERRORS.clone()]

    def _compose(self, members: list[Learner], above: list[Learner], features: int) -> Composite:
        self._warned |= {"memory"}  # the mixture leaves out a rate that runs away
        return _Rates(members, [(above[0], 1), (above[1], _LAYERS + 2)], features, bool(self.intercept), self.dtype)

    def _refresh(self, before: dict[str, Any]) -> None:
        if self.prior != before["prior"]:
            raise ValueError
        super()._refresh(before)

    @property
    def weights_(self) -> dict[float, float]:
        """The weight of each forgetting rate. They sum to 1."""
        core: _Rates = self._require_core("weights_")
        return dict(sorted(zip(RATES, core.mixture.shares().tolist(), strict=True)))

    @property
    def forget_rate_(self) -> float:
        """The mean of the rates by their weights, on a logarithmic scale."""
        return float(np.exp(sum(share * np.log(rate) for rate, share in self.weights_.items())))

    def _experts(self, row: Array | None = None) -> tuple[dict[str, float], Array | None]:
        core: _Rates = self._require_core("run")
        shares = dict(zip((f"rate {rate:g}" for rate in RATES), core.mixture.shares().tolist(), strict=True))
        return shares, None if row is None else core._ask(row)


class _Rates(Experts):
    """The state: a learner for each rate, the mixture, and the errors of its predictions."""

    by_feature = True
    tops: Array | None = None  # the weights of the rates at the snapshots of the last replay
    _range = _NONE  # of the labels learned

    def _count_blends(self) -> int:
        return 0

    def _make(self, predicted: Array) -> Array:
        made: Array = self.mixture.mix(predicted)
        return made

    def _own_state(self) -> dict[str, Any]:
        return {**super()._own_state(), "range": np.array(self._range if self.rows else (0.0, 0.0))}

    def _set_own_state(self, state: dict[str, Any]) -> None:
        super()._set_own_state(state)
        found = state["range"]
        good = isinstance(found, np.ndarray) and found.dtype == np.float64 and found.shape == (2,)
        if not good or not np.isfinite(found).all() or found[0] > found[1]:
            raise ValueError("the state's range of labels is invalid")
        self._range = (float(found[0]), float(found[1])) if self.rows else _NONE

    def _note_label(self, y: float) -> None:
        self._range = min(self._range[0], y), max(self._range[1], y)

    def _ask(self, x: Any) -> Array | None:
        predicted = super()._ask(x)
        return None if predicted is None else np.clip(predicted, *_reach(*self._range, self.rows))

    @exclusive
    def ask(self, x: Any, delay: int | None, kind: type[Any]) -> Any:
        """A ticket that holds those of the rates, one for the errors, and one with what the mixture knew."""
        parts, reach = self.ask_each_member(x, delay, kind), _reach(*self._range, self.rows)
        if parts is None:
            return None
        made = self._make(np.clip([part.prediction for part in parts], *reach))
        known = self.marked(self.above[1]).ask(np.append(made, reach), delay, kind)
        return self.asked(x, made[-1], parts, delay, kind, known)

    def _heard(self, ticket: Ticket) -> tuple[Array, Array]:
        predicted, known = super()._heard(ticket)
        return np.clip(predicted, *known[_LAYERS:]), known[:_LAYERS]

    def tell_parts(self, ticket: Ticket, batch: Batch) -> None:
        """Every rate learns the label of its ticket, then the mixture."""
        super().tell_parts(ticket, batch)
        assert batch.y is not None
        self._note_label(float(batch.y[0]))

    def weights(self) -> Array:
        """The mean of the rates' weights by their shares in the mixture."""
        return self._mean(self.mixture.shares(), np.array([member._weights for member in self.members]))

    def _mean(self, shares: Array, weights: Array) -> Array:
        largest = float(np.finfo(self.dtype).max)
        with np.errstate(over="ignore"):
            mean: Array = np.einsum("k,kd->d", shares, weights.astype(np.float64)).clip(-largest, largest)
        return mean.astype(self.dtype)

    def learn_row(self, x: Any, y: Any, weight: Any) -> Status:
        """Every rate learns the row, then the mixture; none may refuse it."""
        predicted = self._ask(x) if is_weight(weight) and isinstance(y, float) else None
        if predicted is None or not abs(y) <= self.members[0]._largest:
            return Status.UNREAD
        made, informed = self._make(predicted), self.rows > 0
        error = error_of(y, self.limits.hold(float(made[-1])))
        parts = [*((member, x, y) for member in self.members), (self.above[0], np.zeros(1), error)]
        status = self.learn_each(parts, weight)
        if status is Status.DONE:
            self._note_label(y)
            if informed:
                self._judge(predicted, made, y, weight, 0)
        return status

    def learn_ticket(self, ticket: Ticket, y: Any, weight: Any) -> Status:
        """Every rate learns the label of its ticket, then the mixture."""
        if not (is_weight(weight) and isinstance(y, float) and abs(y) <= self.members[0]._largest):
            return Status.UNREAD
        parts = [(member, ticket.parts[number], y) for number, member in enumerate(self.members)]
        error = (self.above[0], ticket.parts[len(parts)], error_of(y, ticket.prediction))
        status = self.tell_each([*parts, error], weight)
        if status is Status.DONE:
            self._note_label(y)
            if ticket.labels > 0:
                self._judge(*self._heard(ticket), y, weight, ticket.delay)
        return status

    def _ranges(self, y: Array | None, learned: Array) -> tuple[Array, Array]:
        """The range of the labels before each row, and after the last."""
        lows, highs = np.full(len(learned) + 1, self._range[0]), np.full(len(learned) + 1, self._range[1])
        if y is not None:
            lows[1:], highs[1:] = np.where(learned, y, np.inf), np.where(learned, y, -np.inf)
        return np.minimum.accumulate(lows), np.maximum.accumulate(highs)

    def replay(self, batch: Batch, out: Outputs) -> int:
        """The rates do not depend on the mixture, so they process the rows first."""
        y, every = batch.y, 0 if out.weights is None else out.every
        predicted, kept, skipped = self.replay_members(batch, [y] * len(self.members), every)
        whole: Array = np.logical_not(np.isnan(predicted).any(axis=1))
        learned = self.learned(batch, whole)
        low, high = self._ranges(y, learned)
        counts = self.rows + np.cumsum(learned) - learned if y is not None else np.full(len(batch), self.rows)
        reach = _reach(low[:-1, None], high[:-1, None], counts[:, None])
        predicted = np.ascontiguousarray(np.clip(predicted, *reach))
        out.predictions[:] = np.nan
        rows, tops = self.sums()["rows"], []
        for t in range(len(batch)):
            if whole[t]:
                made = self._make(predicted[t])
                out.predictions[t] = made[-1]
                if y is not None and learned[t]:
                    if rows > 0:
                        weight = None if batch.weight is None else float(batch.weight[t])
                        self._judge(predicted[t], made, float(y[t]), weight, 0)
                    rows += 1
            if every and (t + 1) % every == 0:
                tops.append(self.mixture.shares())
        self._range = float(low[-1]), float(high[-1])
        self._note_errors(y, batch.weight, learned, out)
        if every:
            self.tops = np.array(tops).reshape(-1, len(self.members))
            for n, shares in enumerate(self.tops):
                out.weights[n] = self._mean(shares, np.array([each[n] for each in kept]))
        return skipped


def _reach(low: Any, high: Any, count: Any) -> tuple[Any, Any]:
    """Where predictions are held for labels of a range, given their number."""
    with np.errstate(over="ignore", invalid="ignore"):
        width, far = high - low, clipped(_FAR * np.maximum(high, -low))
        far, few = np.where(np.equal(count, 0), 0.0, far), count < _FEW
        return np.where(few, -far, clipped(low - width)), np.where(few, far, clipped(high + width))


codec.register(AdaptiveDFOP, "adaptive_dfop", lambda value: value.get_params(deep=False))
DFOP._adaptive = AdaptiveDFOP
AdaptiveDFOP.__name__ = "DFOP"  # messages and the representation show what the user typed; pickle reads __qualname__
