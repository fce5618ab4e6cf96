"""The Python side of the recursion that all second-order learners share; a learner is defined by its :class:`Policy`."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from driftline import _core
from driftline._core import Status
from driftline.base import params
from driftline.base.batch import Batch, numbered
from driftline.base.certificate import Certificate
from driftline.base.learner import Learner
from driftline.base.native import SecondOrderCore
from driftline.errors import RowRefusedError
from driftline.linear import schedules
from driftline.linear.policies import Add, Divide, Policy
from driftline.tables.inputs import Array, Name

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

    _sum_names = _core.sums

    _core: SecondOrderCore | None = params.state(None)
    _known_policy: tuple[Any, Policy | None] = params.state((None, None))

    def _check_relations(self, values: dict[str, Any]) -> None:
        super()._check_relations(values)
        low, high, clip = values["low"], values["high"], values.get("clip")
        if clip is not None and ((low is not None and low > clip) or (high is not None and high < -clip)):
            raise ValueError(
                f"{type(self).__name__}: [-clip, clip] must overlap [low, high], got clip={clip!r}, low={low!r} and "
                f"high={high!r}"
            )

    def _policy(self) -> Policy:
        raise TypeError(f"{type(self).__name__} cannot be used by itself")

    def _current_policy(self) -> Policy:
        """The policy for the current parameters; rebuilt when they change, or if it also depends on the first row."""
        values, policy = self._known_policy
        if policy is None or values is not self._values or self._kept:
            policy = self._policy()
            self._known_policy = self._values, policy
        return policy

    if TYPE_CHECKING:

        def _require_core(self, what: str) -> SecondOrderCore: ...

    @property
    def _takes_outputs(self) -> bool:  # type: ignore[override]
        radius = getattr(self, "radius", None)  # projections support only one output
        return radius is None or math.isinf(radius)

    @property
    def _may_refuse(self) -> bool:  # type: ignore[override]
        policy = self._current_policy()
        return policy.noise is None or bool(policy.functions)

    def _make_core(self, width: int) -> SecondOrderCore:
        policy, intercept = self._current_policy(), bool(self.intercept)
        double = self.dtype == "float64"
        core: SecondOrderCore
        if self._outputs is None:
            core = (_core.SecondOrder64 if double else _core.SecondOrder32)(width, intercept, policy.native(self._limits))
        else:
            kind = _core.MultiOutput64 if double else _core.MultiOutput32
            core = kind(width, self._outputs, intercept, policy.native(self._limits))
        if policy.is_scheduled:
            schedules.supply(core, policy, type(self).__name__, 1, self._guard)
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

    @property
    def _can_reset(self) -> bool:  # type: ignore[override]
        return self._current_policy().reset is not None

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

    def _restore(self, core: dict[str, Array], names: list[Name] | None) -> None:
        weights, before = core["weights"], self._outputs
        if not isinstance(weights, np.ndarray) or weights.ndim not in (1, 2) or weights.shape[0] < weights.ndim:
            raise ValueError("the state's weights are not an array of one or two dimensions")
        if 2 * core["matrix"].size < weights.shape[-1] ** 2:
            raise ValueError("the state's matrix is too small for its weights")  # before memory is allocated for it
        self._outputs = len(weights) if weights.ndim == 2 else None
        try:
            super()._restore(core, names)
        except BaseException:
            self._outputs = before
            raise
        if (policy := self._current_policy()).is_scheduled:
            schedules.supply(self._require_core("coef_"), policy, type(self).__name__, 0, self._guard)

    @property
    def covariance_(self) -> Array:
        """The matrix S, called Sigma in the papers. The intercept's row and column come last."""
        return self._require_core("covariance_").covariance()

    @property
    def memory_(self) -> float:
        """The effective number of recent rows behind the weights.

        Without forgetting or drift, all rows since S was last reset. With forgetting, the sum of the weights that these rows
        still have. With added drift, the geometric mean over the weights of the number of rows in which a weight is
        forgotten, given its variance.
        """
        self._require_core("memory_")
        return self._memory()

    def _memory(self) -> float:
        return float(self._over_time(self._require_core("memory_").memory()[None, :])["memory"][0])

    def _unbounded_memory(self) -> float | None:
        return self._current_policy().unbounded_memory

    @property
    def _may_run_away(self) -> bool:  # type: ignore[override]
        policy = self._current_policy()
        bounded = self.low is not None and self.high is not None
        return not (policy.shrink or bounded) and policy.clip is None and policy.radius is None

    def _over_time(self, memory: Array) -> dict[str, Array]:
        rows, span = memory.T
        time = self._current_policy().time
        if not isinstance(time, Divide) or time.constant == 1:
            return {"memory": span.copy()}
        keep = time.constant or np.array([time.values(max(int(row), 1), 1)[0] for row in rows])
        with np.errstate(divide="ignore", invalid="ignore"):
            forgotten = -np.expm1(span * np.log(keep)) / (1 - keep)
        return {"memory": np.where(keep == 1, span, np.minimum(span, forgotten))}

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
