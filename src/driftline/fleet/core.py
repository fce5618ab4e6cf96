"""Which native fleet a learner has, and the schedules of its models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from driftline import _core
from driftline.base.learner import Learner
from driftline.linear.descent import Descending
from driftline.linear.recursion import Recursive
from driftline.linear.schedules import SharedSchedules
from driftline.tables.inputs import Array

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


class Parts(Mapping[str, Array]):
    """The arrays of a core's state, each made when it is asked for, so that they need not all be in memory at once."""

    def __init__(self, core: Any) -> None:
        self._core = core

    def __getitem__(self, name: str) -> Array:
        part: Array = self._core.state_part(name)
        return part

    def __iter__(self) -> Iterator[str]:
        return iter(self._core.state_names)

    def __len__(self) -> int:
        return len(self._core.state_names)


def make_core(learner: Learner, n: int, width: int) -> tuple[Any, SharedSchedules | None]:
    """A native fleet of ``n`` models with ``width`` weights each, the intercept's included, and their schedules."""
    if isinstance(learner, Recursive):
        learner._see_first_row(np.zeros(width))
        policy = learner._policy()
        schedules = SharedSchedules(policy, type(learner).__name__)
        core = _SECOND[learner.dtype](n, width, bool(learner.intercept), policy.native())
        schedules.start(core)
        return core, schedules
    assert isinstance(learner, Descending)
    return _FIRST[learner.dtype](n, width, bool(learner.intercept), learner._policy()), None
