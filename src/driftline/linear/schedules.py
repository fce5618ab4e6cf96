"""Schedules for cores: tables of forgetting factors and reset thresholds, extended when the core asks for more."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftline import _core
from driftline._core import Guard, Status
from driftline.base.native import SecondOrderCore
from driftline.linear.policies import Below, Divide, Policy
from driftline.tables.inputs import Array

_TABLE = 4096  # entries computed at a time, unless this would call a function for rows that may never arrive
_ROWS, _SEGMENT = _core.sums.index("rows"), _core.sums.index("segment")


def supply(core: SecondOrderCore, policy: Policy, owner: str, ahead: int, guard: Guard) -> None:
    """Gives a core the values of its schedules from its next row on, for at least ``ahead`` rows.

    While they are computed, the guard is closed: a schedule that calls its own model would change the row it is asked for.
    """
    sums = core.sums()
    row, segment = int(sums[_ROWS]) + 1, int(sums[_SEGMENT])
    if policy.forgetting is not None:
        count = min(ahead, _TABLE) if callable(policy.forgetting.forgetting) else _TABLE
        with guard.closure():
            factors = values(policy.forgetting, row, count, owner)
        core.set_forgetting(factors, row)
    if policy.thresholds is not None:
        count = 2 if callable(policy.thresholds.schedule) else _TABLE
        with guard.closure():
            thresholds = values(policy.thresholds, segment, count, owner)
        core.set_thresholds(thresholds, segment)


class SharedSchedules:
    """The schedules of a fleet: tables that start at row 1, shared by models at different rows."""

    def __init__(self, policy: Policy, owner: str) -> None:
        self._policy, self._owner = policy, owner

    def start(self, core: Any) -> None:
        """Gives a new fleet the values that its models need for their first row."""
        if self._policy.forgetting is not None:
            self._extend_forgetting(core, self._policy.forgetting, 1, 1)
        if self._policy.thresholds is not None:
            self._extend_thresholds(core, self._policy.thresholds, 1)

    def serve(self, core: Any, status: Status, sums: dict[str, float], ahead: int) -> bool:
        """Supplies the values that a model with these sums needs; False if it needs something else."""
        if status is Status.NEEDS_FORGETTING and self._policy.forgetting is not None:
            self._extend_forgetting(core, self._policy.forgetting, int(sums["rows"]) + 1, ahead)
        elif status is Status.NEEDS_THRESHOLD and self._policy.thresholds is not None:
            self._extend_thresholds(core, self._policy.thresholds, int(sums["segment"]))
        else:
            return False
        return True

    def _extend_forgetting(self, core: Any, schedule: Divide, row: int, ahead: int) -> None:
        known = core.forgettings
        until = row + ahead - 1 if callable(schedule.forgetting) else max(row, 2 * known, _TABLE)
        core.extend_forgetting(values(schedule, known + 1, max(until - known, 0), self._owner))

    def _extend_thresholds(self, core: Any, schedule: Below, segment: int) -> None:
        known = core.thresholds
        until = segment + 1 if callable(schedule.schedule) else max(segment + 1, 2 * known, _TABLE)
        core.extend_thresholds(values(schedule, known + 1, max(until - known, 0), self._owner))


def values(schedule: Divide | Below, first: int, count: int, owner: str) -> Array:
    """The values ``first``, ``first + 1``, ... of a learner's schedule."""
    try:
        return np.ascontiguousarray(schedule.values(first, count), dtype=np.float64)
    except ValueError as error:
        raise ValueError(f"{owner}: {error}") from None
