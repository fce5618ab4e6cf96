"""Predictions that cost nothing: the last label, and the mean of the labels so far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftline.tables.inputs import Array


class Baselines:
    """Both predictions for each row, from the labels that were known by then; NaN before the first.

    Args:
        delay: rows that a label is late by: row t knows the labels up to row t - 1 - delay.
    """

    def __init__(self, delay: int = 0) -> None:
        self.delay = delay
        self.late = np.empty(0)  # labels of rows that have passed and are not known yet
        self.last, self.total, self.count = 0.0, 0.0, 0

    def predict(self, y: Array) -> tuple[Array, Array]:
        """Last label and mean for the rows whose labels are ``y``; NaN is a label that never comes."""
        labels = np.concatenate([self.late, y])
        arrived = max(0, len(labels) - self.delay)
        known = np.maximum(len(self.late) - self.delay + np.arange(len(y)), 0)  # labels that have come before each row
        come = labels[:arrived]
        real = np.isfinite(come)
        newest = np.maximum.accumulate(np.concatenate([[0], np.where(real, np.arange(1, arrived + 1), 0)]))
        last = np.concatenate([[self.last], come])[newest]
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.cumsum(np.concatenate([[self.total], np.where(real, come, 0.0)]))
            count = self.count + np.concatenate([[0], np.cumsum(real)])
            mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        self.late = labels[arrived:].copy()
        self.last, self.total, self.count = float(last[-1]), float(total[-1]), int(count[-1])
        return np.where(count > 0, last, np.nan)[known], mean[known]

    def state(self) -> dict[str, Any]:
        """Arrays and numbers."""
        return {"delay": self.delay, "late": self.late, "last": self.last, "total": self.total, "count": self.count}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Baselines:
        """From what :meth:`state` gave."""
        baselines = cls(int(state["delay"]))
        baselines.late = np.array(state["late"])
        baselines.last, baselines.total, baselines.count = float(state["last"]), float(state["total"]), int(state["count"])
        return baselines
