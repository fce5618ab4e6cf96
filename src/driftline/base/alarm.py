"""Alarms: detect the rows at which errors become larger."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftline import _core
from driftline.base.rules import number
from driftline.storage import codec
from driftline.storage.codec import Stateful
from driftline.tables.inputs import Array


class Alarm(Stateful):
    """Watches errors and raises an alarm when they become larger.

    Each error is ranked, by size and with its sign, in a sample of up to 384 earlier errors. The sample leaves out the
    first 24 errors, those of an untrained model. Once it is full, one error in four replaces another. As long as the
    errors are exchangeable, all ranks are equally likely, whatever the distribution. Large errors, or errors shifted to
    one side, add to the evidence, counted from the row at which it is strongest: a CUSUM of the bets of a conformal test
    martingale. Dependent errors come in clusters: the alarm measures how much more sums of neighbouring ranks vary than
    sums of independent ones would, and discounts the evidence accordingly. If errors are strongly autocorrelated, what is
    new in each is ranked as well.

    An alarm means that the model fits worse than before: the target jumped, or there is more noise. It does not change the
    learner. The first 64 errors raise no alarm, and neither do the 64 to 79 errors after an alarm, or up to four times as
    many if errors are dependent. If these stay larger, they are what later errors are compared with, and so are the latest
    errors whenever they are found to have become smaller. NaN is ignored.

    Args:
        false_every: the least average number of rows between two false alarms. For dependent errors this is measured, not
            proved: see the table in :doc:`/drift`.

    >>> rng = np.random.default_rng(0)
    >>> errors = np.concatenate([rng.normal(size=1000), 3 * rng.normal(size=100)])
    >>> Alarm().update_many(errors).tolist()
    [1019]
    """

    def __init__(self, *, false_every: float = 10_000) -> None:
        self.false_every = float(number(ge=10).require("Alarm", "false_every", false_every))
        self._core = _core.Alarm(math.log(self.false_every))

    def update(self, error: float) -> bool:
        """Takes one error. Returns whether it raises the alarm."""
        return self.update_many([error]).size > 0

    def update_many(self, errors: Any) -> Array:
        """Takes errors in order. Returns the indices of those that raise the alarm."""
        values = np.ascontiguousarray(errors, dtype=np.float64)
        if values.ndim != 1:
            raise ValueError(f"Alarm.update_many: errors must have one dimension, got {values.ndim}")
        raised = np.empty(len(values), dtype=np.int64)
        return raised[: self._core.watch(values, raised)].copy()

    @property
    def evidence(self) -> float:
        """The evidence for a change, from 0 to 1. Beyond 1 the alarm is raised, and the evidence starts again at 0."""
        return float(self._core.evidence) / math.log(self.false_every)

    def __getstate__(self) -> dict[str, Any]:
        core: dict[str, Any] = self._core.get_state()
        return {"false_every": self.false_every, **core}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(false_every=state["false_every"])  # type: ignore[misc]
        self._core.set_state(state)

    def __repr__(self) -> str:
        return f"Alarm(false_every={self.false_every:g})"


codec.register(Alarm, "Alarm")
