"""What a fleet's run gives back."""

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
        slots: of the rows' keys.
        jobs: threads that look for alarms, at most.
        raised: marks the rows that raised an alarm; None where the fleet does not keep alarms.
    """

    slots: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    jobs: int | None = None
    raised: Array | None = None

    @cached_property
    def alarms(self) -> Array:
        """0-based indices of the rows at which the alarm of their own key went off: see :class:`driftline.Alarm`.

        If the fleet keeps alarms, they continue from the calls before. Otherwise they are found when first asked for, from
        the errors of this run alone.
        """
        raised: Any = self.raised
        if raised is None:
            slots = self.slots if self.slots.max(initial=0) < 2**32 else np.unique(self.slots, return_inverse=True)[1]
            raised = _core.find_alarms(slots, sizes(self.errors), LIMIT, threads_for(len(self), self.jobs))
        return np.flatnonzero(raised)


def sizes(errors: Array) -> Array:
    """What an alarm watches: errors, or their norm where a row has several labels."""
    return errors if errors.ndim == 1 else np.linalg.norm(errors, axis=1)
