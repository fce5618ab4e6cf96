"""Alarms: rows from which on the errors are larger than they were."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftline import _core
from driftline.base.rules import number
from driftline.tables.inputs import Array


class Alarm:
    """Watches errors, and tells when they have become larger than they were.

    Each error is ranked by its size among up to 512 before it. While nothing changes the ranks are evenly spread, whatever
    the distribution of the errors; errors that are large too often speak against that, and their evidence adds up, from
    whichever row it is strongest (a CUSUM of the bets of a conformal test martingale). After an alarm all begins anew, and
    64 errors are waited for. An alarm means that what was learned fits worse than it did: a jump of the target, or more
    noise. It never stops a learner, nor changes it.

    Args:
        false_every: about how many rows pass between two false alarms, or more.

    >>> rng = np.random.default_rng(0)
    >>> errors = np.concatenate([rng.normal(size=1000), 3 * rng.normal(size=100)])
    >>> Alarm().update_many(errors).tolist()
    [1016]
    """

    def __init__(self, *, false_every: float = 10_000) -> None:
        self.false_every = float(number(ge=10).require("Alarm", "false_every", false_every))
        self._core = _core.Alarm(math.log(self.false_every))

    def update(self, error: float) -> bool:
        """Takes note of an error; whether it raises the alarm."""
        return self.update_many([error]).size > 0

    def update_many(self, errors: Any) -> Array:
        """Takes note of errors in their order; the places of those that raise the alarm. NaN is passed over."""
        values = np.ascontiguousarray(errors, dtype=np.float64)
        if values.ndim != 1:
            raise ValueError(f"Alarm.update_many: errors must have one dimension, got {values.ndim}")
        raised = np.empty(len(values), dtype=np.int64)
        return raised[: self._core.watch(values, raised)].copy()

    @property
    def evidence(self) -> float:
        """The evidence for a change so far: 0 is none, and at 1 the alarm is raised."""
        return float(self._core.evidence) / math.log(self.false_every)

    def __getstate__(self) -> dict[str, Any]:
        core: dict[str, Any] = self._core.get_state()
        return {"false_every": self.false_every, **core}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(false_every=state["false_every"])  # type: ignore[misc]
        self._core.set_state(state)

    def __repr__(self) -> str:
        return f"Alarm(false_every={self.false_every:g})"
