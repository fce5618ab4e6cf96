"""The result of a fleet's run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from driftline import _core
from driftline.base.alarm import Alarm
from driftline.base.run import Run
from driftline.fleet.call import threads_for
from driftline.tables.inputs import Array

LIMIT = math.log(Alarm().false_every)  # of the evidence


@dataclass(frozen=True, eq=False, repr=False)
class FleetRun(Run):
    """A run of rows with keys.

    Attributes:
        slots: the slot of each row's key.
        jobs: the largest number of threads that look for alarms.
        raised: marks the rows that raised an alarm; None if the fleet does not keep alarms.
        watched: the errors that alarms watch, if they are others than ``errors``.
        pool_alarms: 0-based indices of the rows at which the alarm of the pool went off, because the errors of many keys
            changed together; none if the fleet is not pooled.
    """

    slots: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    jobs: int | None = None
    raised: Array | None = None
    watched: Array | None = None
    pool_alarms: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @cached_property
    def alarms(self) -> Array:
        """0-based indices of the rows at which the alarm of the row's own key went off; see :class:`driftline.Alarm`.

        If the fleet keeps alarms, they continue from earlier calls. Otherwise they are computed on first access, from the
        errors of this run alone.
        """
        raised: Any = self.raised
        if raised is None:
            slots = self.slots if self.slots.max(initial=0) < 2**32 else np.unique(self.slots, return_inverse=True)[1]
            errors = self.errors if self.watched is None else self.watched
            raised = _core.find_alarms(slots, sizes(errors), LIMIT, threads_for(len(self), self.jobs))
        return np.flatnonzero(raised)


def sizes(errors: Array) -> Array:
    """The values that an alarm watches: errors, or their norms if rows have several labels."""
    return errors if errors.ndim == 1 else np.linalg.norm(errors, axis=1)
