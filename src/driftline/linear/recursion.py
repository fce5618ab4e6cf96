"""The Python side of the recursion that all second-order learners share; a learner is defined by its :class:`Policy`."""

from __future__ import annotations

import math
import sys
from functools import partial
from typing import Any

import numpy as np

from driftline import _core
from driftline._core import Status
from driftline.base import params
from driftline.base.batch import Batch, numbered
from driftline.base.certificate import Certificate
from driftline.base.durations import one_kind
from driftline.base.learner import Learner
from driftline.base.native import SecondOrderCore
from driftline.base.rules import is_sequence
from driftline.base.traits import Traits
from driftline.errors import RowRefusedError
from driftline.linear import schedules
from driftline.linear.policies import Add, Divide, Policy
from driftline.tables.inputs import Array

_CONDITIONS = {  # under which the running sum is the comparator's value, by the event that breaks them
    "capped": "the growth of S was never capped",
    "resets": "S was never reset",
    "projections": "the weights never left the ball",
    "repaired": "S never had to be repaired",
    "saturated": "every row was within the range and the precision of the type",
    "retuned": "the rows were learned one by one, with these parameters",
}


class Recursive(Learner):
    """A second-order learner: weights w and a covariance matrix S, O(d^2) a row."""

    _known_policy: tuple[Any, Policy | None] = params.state((None, None))

    def _check_relations(self, values: dict[str, Any]) -> None:
        super()._check_relations(values)
        low, high, clip = values["low"], values["high"], values.get("clip")
        self._check_times(values)
        if clip is not None and ((low is not None and low > clip) or (high is not None and high < -clip)):
            raise ValueError(
                f"{type(self).__name__}: [-clip, clip] must overlap [low, high], got clip={clip!r}, low={low!r} and "
                f"high={high!r}"
            )

    def _check_times(self, values: dict[str, Any]) -> None:
        """Raises ValueError unless the parameters that measure time go together."""
        owner, half_life, per, period = type(self).__name__, *map(values.get, ("half_life", "per", "period"))
        kind = one_kind(owner, half_life=half_life, per=per, period=period if isinstance(period, str) else None)
        if isinstance(period, str) and half_life is None and per is None:
            raise ValueError(f"{owner}: period={period!r} needs half_life or per; without, rows count")
        for name in ("forgetting", "forget_rate"):
            given = values.get(name)
            if name not in values or given is None or kind is None:
                continue
            if half_life is not None and given != self._params[name].default:
                raise ValueError(f"{owner}: {name} and half_life exclude each other, got {name}={given!r} and {half_life=}")
            if per is not None and (callable(given) or is_sequence(given)):
                raise ValueError(f"{owner}: {name} must be a number if per is given; a schedule counts rows")

    def _forgets(self, forgetting: Any, keep_prior: bool = False) -> Divide:
        """The effect of time of a learner with the parameters ``half_life`` and ``per``."""
        half_life = self._values.half_life
        return Divide(None if half_life is not None else forgetting, keep_prior, half_life, self._values.per)

    def _policy(self) -> Policy:
        raise TypeError(f"{type(self).__name__} cannot be used by itself")

    def _current_policy(self) -> Policy:
        """The policy for the current parameters; rebuilt when they change, or if it also depends on the first row."""
        values, policy = self._known_policy
        if policy is None or values is not self._values or self._kept:
            policy = self._policy()
            self._known_policy = self._values, policy
        return policy

    def _make_traits(self) -> Traits:
        policy, bounded = self._current_policy(), self.low is not None and self.high is not None
        return Traits(
            sums=_core.sums,
            can_reset=policy.reset is not None,
            may_refuse=(policy.noise is None and policy.least_noise == 0)
            or policy.robustness > 0
            or (policy.is_scheduled and bool(policy.functions)),
            may_run_away=not (policy.shrink or bounded) and policy.clip is None and policy.radius is None,
            takes_outputs=policy.radius is None or math.isinf(policy.radius),  # projections take one
            unbounded_memory=policy.unbounded_memory,
            over_time=partial(_memory, policy.time),
        )

    def _make_core(self, width: int, row: Any = None) -> SecondOrderCore:
        return self._new_core(width, self._outputs)

    def _new_core(self, width: int, outputs: int | None, state: dict[str, Any] | None = None) -> SecondOrderCore:
        policy, intercept, double = self._current_policy(), bool(self.intercept), self.dtype == "float64"
        native = policy.native(self._limits)
        core: SecondOrderCore
        if outputs is None:
            core = (_core.SecondOrder64 if double else _core.SecondOrder32)(width, intercept, native)
        else:
            core = (_core.MultiOutput64 if double else _core.MultiOutput32)(width, outputs, intercept, native)
        if state is not None:
            core.set_state(state)
        if policy.is_scheduled:
            schedules.supply(core, policy, type(self).__name__, int(state is None), self._guard)
        return core

    def _serve(self, status: Status, batch: Batch) -> None:
        if status is Status.OUTSIDE_NOISE:
            raise RowRefusedError(self._outside_noise(batch.where, batch.start, batch.x[0]))
        core = self._require_core("learn_one")
        schedules.supply(core, self._current_policy(), type(self).__name__, len(batch), self._guard)

    def _outside_noise(self, where: str, row: int | None, x: Array) -> str:
        return f"{where}: {numbered(row) or 'the row'} has x'Sx >= 1, for which the noise 1 - x'Sx is not positive"

    def _operations(self, width: int) -> int:
        return int(width**2) if self._current_policy().radius is None else 16 * int(width**3)

    def _refresh(self, before: dict[str, Any]) -> None:
        super()._refresh(before)
        self._require_core("set_params").set_policy(self._changed_policy(before).native(self._limits))

    def _changed_policy(self, before: dict[str, Any]) -> Policy:
        """The policy for the current parameters. Raises ValueError if a schedule would have to change."""
        policy, former = self._current_policy(), self.clone(before)
        for name in self._kept:
            setattr(former, name, getattr(self, name))
        scheduled = policy.is_scheduled or former._current_policy().forgetting is not None
        changed = {name for name, value in self.get_params(deep=False).items() if before[name] is not value}
        if scheduled and not changed <= {"missing"}:
            raise ValueError
        return policy

    def _restored_core(self, state: dict[str, Any]) -> SecondOrderCore:
        weights = state["weights"]
        if not isinstance(weights, np.ndarray) or weights.ndim not in (1, 2) or weights.shape[0] < weights.ndim:
            raise ValueError("the state's weights are not an array of one or two dimensions")
        if 2 * state["matrix"].size < weights.shape[-1] ** 2:
            raise ValueError("the state's matrix is too small for its weights")  # before memory is allocated for it
        return self._new_core(weights.shape[-1], len(weights) if weights.ndim == 2 else None, state)

    @property
    def covariance_(self) -> Array:
        """The matrix S, called Sigma in the papers. The intercept's row and column come last."""
        core: SecondOrderCore = self._require_core("covariance_")
        return core.covariance()

    @property
    def memory_(self) -> float:
        """The effective number of recent rows behind the weights.

        Without forgetting or drift, all rows since S was last reset. With forgetting, the sum of the weights that these rows
        still have. With added drift, the geometric mean over the weights of the number of rows in which a weight is
        forgotten, given its variance.
        """
        self._require_core("memory_")
        memory = self._memory()
        assert memory is not None
        return memory

    # Certificates.

    def _certify(self, sums: dict[str, float]) -> Certificate:
        events = {name: int(sums[name]) for name in _CONDITIONS if sums[name] > 0}
        conditions = {words: False for name, words in _CONDITIONS.items() if name in events}
        if self._require_core("certificate").held_in_range:
            conditions[f"the start, the noise and the drift are within the range of {self.dtype}"] = False
        if max(sums["loss"], sums["value"]) >= sys.float_info.max:
            conditions["the sums stay within the range of float64"] = False
        comparator = None if conditions else self._comparator(sums)
        bound = None
        if comparator is not None:
            bound, conditions = self._bound(sums, comparator)
            if bound is not None and sums["timed"] and self._current_policy().unit:
                conditions = {**conditions, "the same time passes before each row": False}
            if bound is not None and sums["weighted"]:
                conditions = {**conditions, "every row has the weight 1": False}
            if bound is not None and not (all(conditions.values()) and math.isfinite(bound)):
                bound = None
        if self._outputs is not None:
            bound, conditions = None, {**conditions, "there is one label a row": False}
        return Certificate(sums["loss"], comparator, bound, conditions, events)

    def _comparator(self, sums: dict[str, float]) -> float | None:
        """The minimum of the penalised loss that the recursion minimises."""
        noise = self._current_policy().noise
        return (1.0 if noise is None else noise) * sums["value"]

    def _bound(self, sums: dict[str, float], comparator: float) -> tuple[float | None, dict[str, bool]]:
        """An upper bound on the loss and the conditions under which it is proven."""
        return None, {}

    def _log_det_growth(self) -> float:
        """The information gained since the start, log det(start S^-1), independent of the units of the features."""
        policy = self._current_policy()
        if isinstance(policy.time, Add) and policy.time.drift > 0:
            S = self.covariance_
            scale = np.sqrt(np.diag(S))
            _, log_det = np.linalg.slogdet(S / np.outer(scale, scale))
            logs = log_det / scale.size + 2 * np.log(scale)
        else:
            diagonal = self._require_core("certificate").get_state()["diagonal"]  # S = U D U' with det U = 1
            logs = np.log(diagonal[: self._weights.size])
        return -float(np.sum(logs - math.log(policy.start)))


def _memory(time: Any, memory: Array) -> dict[str, Array]:
    """The memory in rows, from the number of rows and of those since S was last reset."""
    rows, span = memory.T
    if not isinstance(time, Divide) or time.constant == 1:
        return {"memory": span.copy()}
    keep = time.constant or np.array([time.values(max(int(row), 1), 1)[0] for row in rows])
    with np.errstate(divide="ignore", invalid="ignore"):
        forgotten = -np.expm1(span * np.log(keep)) / (1 - keep)
    return {"memory": np.where(keep == 1, span, np.minimum(span, forgotten))}
