"""Learning from a share of the labels, chosen row by row."""

from __future__ import annotations

import math
import zlib
from dataclasses import replace
from typing import Any

import numpy as np

from driftline._core import Level, Outputs, Status
from driftline.base import params
from driftline.base.batch import Batch
from driftline.base.certificate import Certificate
from driftline.base.composite import Composite, core_of, exclusive, is_weight, tell_parts
from driftline.base.learner import Learner
from driftline.base.levels import as_level
from driftline.base.meta import REGRESSOR, Wrapper
from driftline.base.run import Run
from driftline.base.ticket import Ticket
from driftline.base.traits import Traits
from driftline.ensembles.by_errors import error_of
from driftline.linear.rls import RLS
from driftline.storage import codec
from driftline.tables.inputs import Array

_FIRST = 20  # labels that are wanted in any case
_LEAST, _MOST = 0.5, 5.0  # how far a chance may be from the budget, in multiples of it
_SLOW, _FAST, _PACE = 0.01, 0.2, 0.03  # rates of the usual and the recent size of errors, and of the control of the share
_NUMBERS = ("rows", "labels", "usual", "recent", "width", "pressure", "loss")


class Selective(Wrapper):
    r"""Asks for the labels of a share of the rows, and learns only from these, at the cost of the learner and about 20 µs.

    A label is wanted with a chance that is larger for rows whose interval is wide, which for second-order learners depends
    on :math:`s = x \cdot S x`, and while the recent errors, in units of these widths, are larger than usual, as after a jump
    of the target. The chance is between half the budget and five times the budget, and is scaled so that the share of
    the wanted labels stays at the budget. The first 20 labels are always wanted.

    ``ticket.wanted`` says whether the label of a row is wanted. Tell wanted tickets with their labels; the others may be
    told without. ``run(X, y)`` uses the wanted labels alone; ``run.wanted`` and ``run.chances`` hold what was wanted and
    with which chance. A wanted row counts ``1 / chance`` times in ``mse_``, an unbiased estimate of the mean squared error
    on all rows. It pays for targets that jump. On most other streams twice as many labels at random are better:
    :doc:`/late_labels`.

    Args:
        learner: the learner; None for RLS.
        budget: the share of the rows whose label is wanted.

    >>> import driftline as dl
    >>> X, y = dl.streams.Rotating(rate=0.001, noise=0.05, seed=0).take(2000)
    >>> model = dl.Selective(dl.RLS(forgetting=0.98), budget=0.2)
    >>> run = model.run(X, y)
    >>> print(f"{run.wanted.mean():.2f}")
    0.20
    """

    learner: Learner | None = params.checked(default=None, rule=REGRESSOR, optional=True, kw_only=False)
    budget: float = params.real(default=0.2, gt=0, le=1)

    _default = RLS()

    def _make_traits(self) -> Traits:
        inner = self._base_learners()[0]._traits
        return replace(
            super()._make_traits(), by_feature=inner.by_feature, linear=inner.linear, has_link=inner.has_link,
            has_snapshots=False, may_run_away=inner.may_run_away, plain_intercept=inner.plain_intercept,
        )  # fmt: skip

    def _compose(self, members: list[Learner], above: list[Learner], features: int) -> Composite:
        core = _Selective(members, [], features, bool(self.intercept), self.dtype)
        core.budget = float(self.budget)
        return core

    def _refresh(self, before: dict[str, Any]) -> None:
        super()._refresh(before)
        self._require_core("set_params").budget = float(self.budget)

    def tell(self, ticket: Ticket, y: Any = None, *, sample_weight: float | None = None) -> None:
        """Learns the label of a row. A ticket whose label was not wanted may be told without one; its label is not used."""
        if y is None and isinstance(ticket, Ticket) and not ticket.wanted:
            y = self._limits.hold(1.0)
        super().tell(ticket, y, sample_weight=sample_weight)

    def _learn_table(self, X: Any, y: Any, sample_weight: Any, where: str, *options: Any, **more: Any) -> Run:
        before = len(self._core.chosen) if self._core is not None else 0
        run = super()._learn_table(X, y, sample_weight, where, *options, **more)
        wanted, chances = np.zeros(len(run), dtype=bool), np.zeros(len(run))
        chosen = np.array(self._core.chosen[before:]) if self._core is not None else np.empty((0, 2))
        places = np.flatnonzero(~np.isnan(run.predictions))[: len(chosen)]
        chances[places], wanted[places] = chosen[:, 0], chosen[:, 1] > 0
        if self._core is not None:
            self._core.chosen.clear()
        return replace(run, wanted=wanted, chances=chances)

    @property
    def n_rows_(self) -> int:
        """Rows whose labels were used or passed over; ``n_seen_`` counts those that were used."""
        return int(self._require_core("n_rows_").numbers["rows"])

    @property
    def mse_(self) -> float:
        """The mean squared error on all rows, estimated without bias from those whose labels were wanted."""
        numbers = self._require_core("mse_").numbers
        return numbers["loss"] / numbers["rows"] if numbers["rows"] else math.nan

    def _certify(self, sums: dict[str, float]) -> Certificate:
        return Certificate(sums["loss"], conditions={"every label is used": False})


class _Selective(Composite):
    """The state: the learner, and what decides which labels are wanted."""

    budget = 1.0

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.numbers = dict.fromkeys(_NUMBERS, 0.0)
        self.chosen: list[tuple[float, float]] = []  # the chance of each row of the call, and whether its label was used

    @property
    def by_feature(self) -> bool:
        """Whether there is exactly one weight for each feature."""
        return self.members[0]._traits.by_feature

    def sums(self) -> dict[str, float]:
        """The sums of the learner."""
        return self.members[0]._sums()

    def weights(self) -> Array:
        """The learner's weights."""
        return self.members[0]._weights

    def _own_state(self) -> dict[str, Array]:
        return {"choice": np.array(list(self.numbers.values()))}

    def _set_own_state(self, state: dict[str, Array]) -> None:
        found = state["choice"]
        good = isinstance(found, np.ndarray) and found.dtype == np.float64 and found.shape == (len(_NUMBERS),)
        if not good or not np.isfinite(found).all() or (np.delete(found, _NUMBERS.index("pressure")) < 0).any():
            raise ValueError("the state's numbers are out of range")
        self.numbers = dict(zip(_NUMBERS, found.tolist(), strict=True))

    # Which labels are wanted.

    def _choose(self, x: Array) -> tuple[float, bool, float] | None:
        """The chance of a row, whether its label is wanted, and the half-width of its interval; None for Python to read."""
        ends = core_of(self.members[0]).predict_interval(x, _HALF)
        if ends is None:
            return None
        at, width = self.numbers, (ends[1] - ends[0]) / 2
        if at["labels"] < _FIRST or self.budget == 1 or not (0 < width < math.inf and at["usual"] > 0 and at["width"] > 0):
            return 1.0, True, width
        need = math.sqrt(width / at["width"]) * at["recent"] / at["usual"] * math.exp(at["pressure"])
        chance = min(self.budget * min(max(need, _LEAST), _MOST), 1.0)
        seed = zlib.crc32(np.ascontiguousarray(x, dtype=np.float64).tobytes(), int(at["rows"]) & 0xFFFFFFFF)
        return chance, _uniform(seed ^ (int(at["rows"]) << 32)) < chance, width

    def _note(self, chance: float, wanted: bool, width: float, error: float) -> None:
        """Records a row after its label was used or passed over. Only used labels change what is wanted next."""
        at = self.numbers
        self.chosen.append((chance, float(wanted)))
        at["rows"] += 1
        if not wanted:
            return
        at["labels"] += 1
        error = float(error)  # NumPy's numbers would warn if the square overflows
        count = at["labels"]
        at["loss"] = min(at["loss"] + error * error / chance, 1e300)
        if count > _FIRST:
            at["pressure"] = min(max(at["pressure"] + _PACE * (self.budget / chance - 1), -3.0), 3.0)
        if not 0 < width < math.inf:
            return
        score = min(abs(error) / width, 1e3) ** 2
        pace = max(1 / (count - _FIRST + 5), _SLOW) if count > _FIRST else _FAST  # the first errors are soon forgotten
        at["usual"] += pace * (min(score, 9 * at["usual"] or score) - at["usual"])
        at["recent"] += _FAST * (score - at["recent"])
        at["width"] += pace * (width - at["width"])

    # Predictions are the learner's.

    @exclusive
    def predict(self, x: Any) -> Any:
        """The prediction, or None if Python must read the row."""
        return core_of(self.members[0]).predict(x)

    @exclusive
    def predict_interval(self, x: Any, level: Level) -> tuple[float, float] | None:
        """Both ends of the interval, or None if Python must read the row."""
        found: tuple[float, float] | None = core_of(self.members[0]).predict_interval(x, level)
        return found

    @exclusive
    def predict_quantiles(self, x: Any, levels: Array) -> Array | None:
        """Quantiles of the label, or None if Python must read the row."""
        found: Array | None = core_of(self.members[0]).predict_quantiles(x, levels)
        return found

    def _row(self, x: Any) -> Array:
        if isinstance(x, dict):
            x = [x.get(name, 0.0) for name in self._names or ()]
        return np.asarray(x, dtype=np.float64)

    def learn_row(self, x: Any, y: Any, weight: Any) -> Status:
        """The learner learns the row if its label is wanted."""
        predicted = core_of(self.members[0]).predict(x) if is_weight(weight) and isinstance(y, float) else None
        if predicted is None or not abs(y) <= self.members[0]._largest:
            return Status.UNREAD
        choice = self._choose(self._row(x))
        if choice is None:
            return Status.UNREAD
        chance, wanted, width = choice
        if wanted and (status := self.learn_each([(self.members[0], x, y)], weight)) is not Status.DONE:
            return status
        self._note(chance, wanted, width, error_of(y, predicted))
        return Status.DONE

    @exclusive
    def ask(self, x: Any, delay: int | None, kind: type[Any]) -> Any:
        """A ticket that holds the learner's own, and whether the label is wanted."""
        parts = self.ask_each_member(x, delay, kind)
        choice = None if parts is None else self._choose(self._row(x))
        if parts is None or choice is None:
            return None
        chance, wanted, width = choice
        choices = [kind({"chance": chance, "wanted": float(wanted)}, self.mark), kind({"width": width}, self.mark)]
        return parts[0].around(x, self.mark, [parts[0], choices[1], choices[0]])

    def learn_ticket(self, ticket: Ticket, y: Any, weight: Any) -> Status:
        """The learner learns the label of its ticket if it was wanted."""
        if not (is_weight(weight) and isinstance(y, float) and abs(y) <= self.members[0]._largest):
            return Status.UNREAD
        if ticket.wanted:
            status = self.tell_each([(self.members[0], ticket.parts[0], y)], weight)
            if status is not Status.DONE:
                return status
        self._note(ticket.chance, ticket.wanted, float(ticket.parts[1].x["width"]), error_of(y, ticket.prediction))
        return Status.DONE

    def tell_parts(self, ticket: Ticket, batch: Batch) -> None:
        """Like :meth:`learn_ticket`, for a learner that may refuse the row."""
        assert batch.y is not None
        if ticket.wanted:
            tell_parts(self.members, ticket.parts[:1], batch)
        error = error_of(batch.y[0], ticket.prediction)
        self._note(ticket.chance, ticket.wanted, float(ticket.parts[1].x["width"]), error)

    def replay(self, batch: Batch, out: Outputs) -> int:
        """Row by row, because each label that is used changes what is wanted next."""
        member, y, skipped = self.members[0], batch.y, 0
        if y is None:
            return member._replay_block(batch, out)
        for t in range(len(batch)):
            row = slice(t, t + 1)
            if batch.times is not None:
                self.at = float(batch.times[t])
            weight = None if batch.weight is None else batch.weight[row]
            learns = np.isfinite(batch.x[t]).all() and abs(y[t]) <= member._largest and (weight is None or weight[0] > 0)
            choice = self._choose(np.asarray(batch.x[t], dtype=np.float64)) if learns else None
            used = y[row] if choice is None or choice[1] else None
            at = None if batch.times is None else batch.times[row]
            start = None if batch.start is None else batch.start + t
            own = out.part(t, t + 1)
            lost = member._replay_block(Batch(batch.x[row], used, weight, batch.where, start, batch.names, at), own)
            skipped += lost
            if choice is not None and not lost:
                self._note(*choice, float(y[t]) - float(out.predictions[t]))
            elif not np.isnan(out.predictions[t]):
                self.chosen.append((0.0, 0.0))
        if batch.times is not None:
            self.at = math.nan
        return skipped


_HALF = as_level(0.5, "Selective")


def _uniform(seed: int) -> float:
    """A number in [0, 1) from a seed of 64 bits, by SplitMix64."""
    z = (seed + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
    return (z ^ (z >> 31)) / 2**64


codec.register(Selective, "selective", lambda value: value.get_params(deep=False))
