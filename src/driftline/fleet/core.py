"""Chooses the native fleet for a learner, with the schedules of its models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from driftline import _core
from driftline.base.learner import Learner
from driftline.fleet.run import LIMIT
from driftline.linear.descent import Descending
from driftline.linear.recursion import Recursive
from driftline.linear.schedules import SharedSchedules
from driftline.linear.wemm import WEMM
from driftline.storage.codec import Deferred
from driftline.tables import missing
from driftline.tables.inputs import Array

_SECOND = {"float64": _core.SecondOrderFleet64, "float32": _core.SecondOrderFleet32}
_FIRST = {"float64": _core.FirstOrderFleet64, "float32": _core.FirstOrderFleet32}


def has_fixed_size(learner: Learner) -> bool:
    """Whether the learner's state consists of weights, sums and a matrix of fixed size that only native code changes."""
    if missing.by_column(learner.missing) or learner._durations:  # columns and clocks are kept in Python
        return False
    if type(learner)._make_core not in (Recursive._make_core, WEMM._make_core, Descending._make_core):
        return False
    if isinstance(learner, Descending) and learner._custom_loss() is not None:
        return False
    return all(getattr(learner, kept.removesuffix("_")) is not None for kept in learner._kept)  # else the first row sets it


class Parts(Deferred):
    """The arrays of a core's state, each created on access, so that not all are in memory at once."""

    def __init__(self, core: Any) -> None:
        self._core = core

    def __getitem__(self, name: str) -> Array:
        part: Array = self._core.state_part(name)
        return part

    def __iter__(self) -> Iterator[str]:
        return iter(self._core.state_names)

    def __len__(self) -> int:
        return len(self._core.state_names)


def make_core(
    learner: Learner, n: int, width: int, *, alarms: bool, intervals: bool, undoable: bool
) -> tuple[Any, SharedSchedules | None]:
    """A native fleet of ``n`` models with ``width`` weights each, including the intercept, and their schedules."""
    keeps = intervals, LIMIT if alarms else 0.0, undoable
    if isinstance(learner, Recursive):
        if isinstance(learner, WEMM):
            learner.set_ridge(np.zeros(width))
        policy = learner._policy()
        schedules = SharedSchedules(policy, type(learner).__name__)
        core = _SECOND[learner.dtype](n, width, bool(learner.intercept), policy.native(learner._limits), *keeps)
        schedules.start(core)
        return core, schedules
    assert isinstance(learner, Descending)
    return _FIRST[learner.dtype](n, width, bool(learner.intercept), learner._native_policy(), *keeps), None
