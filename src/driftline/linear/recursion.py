"""The one recursion behind every second-order learner, as Python sees it: a learner is its :class:`Policy`."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftline import _core
from driftline.base.certificate import Certificate
from driftline.errors import RowRefusedError
from driftline.linear.outputs import TakesOutputs
from driftline.linear.policies import Add, Below, Divide, Every
from driftline.tables.inputs import Array

_NONE, _DIVIDE, _ADD = 0, 1, 2
_NEEDS_FORGETTING, _NEEDS_THRESHOLD, OUTSIDE_NOISE = 1, 2, 3
_TABLE = 4096
_ENDINGS = {  # events after which a running sum is no comparator's value, and what is then no longer so
    "capped": "the growth of S was never held back",
    "resets": "S was never reset",
    "projections": "the weights never left the ball",
    "repaired": "S never had to be mended",
    "saturated": "no weight was held at the end of its range",
    "retuned": "the parameters stayed as they were",
}


@dataclass(frozen=True)
class Policy:
    """A row of the table in the docs' page on the mathematics.

    Attributes:
        start: S starts at start * I.
        time: what happens to S before each row.
        noise: rho; None stands for 1 - s, the complement.
        shrink: predict f / (1 + s) in place of f.
        clip: bound on the absolute prediction.
        reset: when S becomes I again.
        radius: of the ball on which the weights are projected.
        modest: under forgetting, S grows less far in directions of which no row says anything: so many times its start, or
            more where that is small beside what a row tells. 0 lets it grow as far as the type allows.
    """

    start: float = 1.0
    time: Divide | Add | None = None
    noise: float | None = 1.0
    shrink: bool = False
    clip: float | None = None
    reset: Every | Below | None = None
    radius: float | None = None
    modest: float = 0.0

    def native(self) -> Any:
        """The same for the core."""
        kind, amount = _NONE, 1.0
        if isinstance(self.time, Divide):
            kind, amount = _DIVIDE, self.time.constant or 1.0
        elif isinstance(self.time, Add) and self.time.drift > 0:
            kind, amount = _ADD, float(self.time.drift)
        return _core.Policy(
            start=float(self.start),
            time=kind,
            amount=float(amount),
            noise=1.0 if self.noise is None else float(self.noise),
            complement=self.noise is None,
            shrink=self.shrink,
            clip=0.0 if self.clip is None else float(self.clip),
            reset=0 if self.reset is None else 1 if isinstance(self.reset, Every) else 2,
            period=min(int(self.reset.period), sys.maxsize) if isinstance(self.reset, Every) else 0,
            radius=0.0 if self.radius is None or math.isinf(self.radius) else float(self.radius),
            modest=float(self.modest),
        )


class Recursive(TakesOutputs):
    """A second-order learner: weights w and a covariance matrix S, O(d^2) a row."""

    _sum_names = _core.sums

    def _policy(self) -> Policy:
        raise TypeError(f"{type(self).__name__} cannot be used by itself")

    def _make_core(self, width: int) -> Any:
        policy = self._policy()
        core = self._plain_core(width, policy) if self._outputs is None else self._wide_core(width, policy, self._outputs)
        self._fill_tables(core, policy, row=1, segment=1, ahead=1)
        return core

    def _plain_core(self, width: int, policy: Policy) -> Any:
        kind = _core.SecondOrder64 if self.dtype == "float64" else _core.SecondOrder32
        return kind(width, bool(self.intercept), policy.native())

    def _wide_core(self, width: int, policy: Policy, outputs: int) -> Any:
        kind = _core.MultiOutput64 if self.dtype == "float64" else _core.MultiOutput32
        return kind(width, outputs, bool(self.intercept), policy.native())

    def _fill_tables(self, core: Any, policy: Policy, row: int, segment: int, ahead: int) -> None:
        """The schedules' values from here on. Functions are asked for no more rows than are known to come."""
        try:
            self._ask_schedules(core, policy, row, segment, ahead)
        except ValueError as error:
            raise ValueError(f"{type(self).__name__}: {error}") from None

    def _ask_schedules(self, core: Any, policy: Policy, row: int, segment: int, ahead: int) -> None:
        if isinstance(policy.time, Divide) and policy.time.constant is None:
            count = min(ahead, _TABLE) if callable(policy.time.forgetting) else _TABLE
            core.set_forgetting(policy.time.values(row, count), row)
        if isinstance(policy.reset, Below):
            count = 2 if callable(policy.reset.schedule) else _TABLE
            core.set_thresholds(policy.reset.values(segment, count), segment)

    def _look_ahead(self) -> None:
        time = self._policy().time
        if isinstance(time, Divide) and callable(time.forgetting):
            self._fill_tables_from_here(1)

    def _serve(self, status: int, where: str, row: int, ahead: Array) -> None:
        if status == OUTSIDE_NOISE:
            raise RowRefusedError(self._outside_noise(where, row, ahead[0]))
        self._fill_tables_from_here(len(ahead))

    def _fill_tables_from_here(self, ahead: int) -> None:
        sums = self._sums()
        self._fill_tables(self._core, self._policy(), int(sums["rows"]) + 1, int(sums["segment"]), ahead)

    def _outside_noise(self, where: str, row: int, x: Array) -> str:
        return f"{where}: row {row} has x'Sx >= 1, for which the noise 1 - x'Sx is not positive"

    def _operations(self, width: int) -> int:
        return int(width**2) if self._policy().radius is None else 16 * int(width**3)

    @property
    def _can_reset(self) -> bool:  # type: ignore[override]
        return self._policy().reset is not None

    def _refresh(self, before: dict[str, Any]) -> None:
        super()._refresh(before)
        self._core.set_policy(self._changed_policy(before).native())

    def _changed_policy(self, before: dict[str, Any]) -> Policy:
        """The policy by the parameters as they are now; ValueError where a schedule would have to change."""
        policy = self._policy()
        times = policy.time, before.get("time", Divide(before["forgetting"]) if "forgetting" in before else None)
        scheduled = isinstance(policy.reset, Below) or any(isinstance(t, Divide) and t.constant is None for t in times)
        changed = {name for name, value in self.get_params(deep=False).items() if before[name] is not value}
        if scheduled and not changed <= {"missing"}:
            raise ValueError
        return policy

    def _restore(self, core: dict[str, Array] | None, names: Any) -> None:
        if core is not None and not (isinstance(core["weights"], np.ndarray) and core["weights"].ndim):
            raise ValueError("the state's weights are not an array")
        if core is not None and 2 * core["matrix"].size < core["weights"].shape[-1] ** 2:
            raise ValueError("the state's matrix is too small for its weights")  # said before memory is taken for it
        super()._restore(core, names)
        if core is not None:
            self._fill_tables_from_here(0)

    @property
    def covariance_(self) -> Array:
        """The matrix S, called Sigma in the papers; the intercept's row and column are the last."""
        return self._require_core("covariance_").covariance()  # type: ignore[no-any-return]

    @property
    def memory_(self) -> float:
        """About how many of the last rows the weights rest on.

        All since S was last reset; under forgetting the sum of the weights that they still have; under added drift as many
        as a weight, given its variance, takes to be forgotten, in the geometric mean over the weights.
        """
        self._require_core("memory_")
        return self._memory()

    def _memory(self) -> float:
        return float(self._over_time(self._core.pace()[None, :])["memory"][0])

    def _over_time(self, pace: Array) -> dict[str, Array]:
        rows, span = pace.T
        time = self._policy().time
        if not isinstance(time, Divide) or time.constant == 1:
            return {"memory": span.copy()}
        keep = time.constant or np.array([time.values(max(int(row), 1), 1)[0] for row in rows])
        with np.errstate(divide="ignore", invalid="ignore"):
            forgotten = -np.expm1(span * np.log(keep)) / (1 - keep)
        return {"memory": np.where(keep == 1, span, np.minimum(span, forgotten))}

    # Certificates.

    def _certify(self, sums: dict[str, float]) -> Certificate:
        events = {name: int(sums[name]) for name in _ENDINGS if sums[name] > 0}
        conditions = {words: False for name, words in _ENDINGS.items() if name in events}
        if self._core.held_in_range:
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
        return Certificate(sums["loss"], comparator, bound, conditions, events)

    def _comparator(self, sums: dict[str, float]) -> float | None:
        """The optimal value of the penalised loss that the recursion minimises."""
        noise = self._policy().noise
        return (1.0 if noise is None else noise) * sums["value"]

    def _bound(self, sums: dict[str, float], comparator: float) -> tuple[float | None, dict[str, bool]]:
        """An upper bound on the loss and the conditions under which it is proven."""
        return None, {}

    def _log_det_growth(self, start: float | None = None) -> float:
        """How much the data added to the start's information: log det(start S^-1), whatever the units of the features."""
        policy = self._policy()
        if isinstance(policy.time, Add) and policy.time.drift > 0:
            S = self.covariance_
            scale = np.sqrt(np.diag(S))
            _, log_det = np.linalg.slogdet(S / np.outer(scale, scale))
            logs = log_det / scale.size + 2 * np.log(scale)
        else:
            logs = np.log(self._core.get_state()["diagonal"][: self._weights.size])  # S = U D U' with det U = 1
        return -float(np.sum(logs - math.log(policy.start if start is None else start)))
