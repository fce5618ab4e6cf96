"""Which native fleet a learner has, and the schedules of its models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from driftline import _core
from driftline.base.learner import Learner
from driftline.linear.descent import Descending
from driftline.linear.policies import Below, Divide
from driftline.linear.recursion import Policy, Recursive
from driftline.tables.inputs import Array

NEEDS_FORGETTING, NEEDS_THRESHOLD = 1, 2
_TABLE = 4096
_SECOND = {"float64": _core.SecondOrderFleet64, "float32": _core.SecondOrderFleet32}
_FIRST = {"float64": _core.FirstOrderFleet64, "float32": _core.FirstOrderFleet32}


def require_fixed_size(learner: Any) -> None:
    """Raises TypeError where such a learner's state is more than weights, sums and a matrix of fixed size."""
    if not isinstance(learner, Learner):
        raise TypeError(f"Fleet: learner must be a driftline learner, got {learner!r}")
    name = type(learner).__name__
    if type(learner)._make_core not in (Recursive._make_core, Descending._make_core):
        raise TypeError(f"Fleet: {name} is not a learner of fixed size; the linear learners of first and second order are")
    if isinstance(learner, Descending) and learner._custom_loss() is not None:
        raise TypeError(f"Fleet: {name} has a loss that only Python knows; the losses of driftline.losses are native")
    for kept in learner._kept:
        parameter = kept.removesuffix("_")
        if getattr(learner, parameter) is None:
            raise ValueError(f"Fleet: {name}'s {parameter} would be set by each model's first row; give one that suits all")


class Schedules:
    """What changes from row to row, or from segment to segment, of each model: tables in the core that grow as models do."""

    def __init__(self, policy: Policy, name: str) -> None:
        self._name = name
        self._time = policy.time if isinstance(policy.time, Divide) and policy.time.constant is None else None
        self._reset = policy.reset if isinstance(policy.reset, Below) else None

    def start(self, core: Any) -> None:
        """Gives a fresh core what its models need for their first row."""
        if self._time is not None:
            self._grow_forgetting(core, 1, 1)
        if self._reset is not None:
            self._grow_thresholds(core, 1)

    def serve(self, core: Any, status: int, sums: dict[str, float], ahead: int) -> None:
        """Gives the core what a model with such sums, for which ``ahead`` rows are known to come, asked for."""
        if status == NEEDS_FORGETTING:
            self._grow_forgetting(core, int(sums["rows"]) + 1, ahead)
        else:
            self._grow_thresholds(core, int(sums["segment"]))

    def _grow_forgetting(self, core: Any, row: int, ahead: int) -> None:
        assert self._time is not None
        known = core.forgettings
        until = row + ahead - 1 if callable(self._time.forgetting) else max(row, 2 * known, _TABLE)
        core.extend_forgetting(self._more(self._time, known, until))

    def _grow_thresholds(self, core: Any, segment: int) -> None:
        assert self._reset is not None
        known = core.thresholds
        until = segment + 1 if callable(self._reset.schedule) else max(segment + 1, 2 * known, _TABLE)
        core.extend_thresholds(self._more(self._reset, known, until))

    def _more(self, schedule: Divide | Below, known: int, until: int) -> Array:
        try:
            more = schedule.values(known + 1, max(until - known, 0))
        except ValueError as error:
            raise ValueError(f"{self._name}: {error}") from None
        return np.ascontiguousarray(more, dtype=np.float64)


class Parts(Mapping[str, Array]):
    """The arrays of a core's state, each made when it is asked for, so that they need not all be in memory at once."""

    def __init__(self, core: Any) -> None:
        self._core = core

    def __getitem__(self, name: str) -> Array:
        return self._core.state_part(name)  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[str]:
        return iter(self._core.state_names)

    def __len__(self) -> int:
        return len(self._core.state_names)


def make_core(learner: Learner, n: int, width: int) -> tuple[Any, Schedules | None]:
    """A native fleet of ``n`` models with ``width`` weights each, the intercept's included, and their schedules."""
    if isinstance(learner, Recursive):
        learner._see_first_row(np.zeros(width))
        policy = learner._policy()
        schedules = Schedules(policy, type(learner).__name__)
        core = _SECOND[learner.dtype](n, width, bool(learner.intercept), policy.native())
        schedules.start(core)
        return core, schedules
    assert isinstance(learner, Descending)
    return _FIRST[learner.dtype](n, width, bool(learner.intercept), learner._policy()), None
