"""Predictions that need no model: the last label, and the mean of the labels so far."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from driftline.evaluate.late import LateLabels
from driftline.tables.inputs import Array


class Baseline(ABC):
    """A prediction made from earlier labels alone.

    Args:
        delay: rows by which labels are late.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, delay: int = 0) -> None:
        self.delay = delay

    @abstractmethod
    def after(self, labels: Array) -> Array:
        """What is predicted before the first of these labels arrives, and after each; NaN while none is known.

        A label that is not finite never arrives. The result has one entry more than ``labels``.
        """


class LastValue(Baseline):
    """The last label."""

    name, title = "last", "last value"

    def __init__(self, delay: int = 0) -> None:
        super().__init__(delay)
        self.value = np.nan

    def after(self, labels: Array) -> Array:
        """The last known label each time."""
        newest = np.where(np.isfinite(labels), np.arange(1, len(labels) + 1), 0)
        last = np.append(self.value, labels)[np.maximum.accumulate(np.append(0, newest))]
        self.value = float(last[-1])
        return last


class RunningMean(Baseline):
    """The mean of the labels so far."""

    name, title = "mean", "running mean"

    def __init__(self, delay: int = 0) -> None:
        super().__init__(delay)
        self.total, self.count = 0.0, 0

    def after(self, labels: Array) -> Array:
        """The mean of the known labels each time."""
        known = np.isfinite(labels)
        with np.errstate(over="ignore", invalid="ignore"):
            totals = np.cumsum(np.append(self.total, np.where(known, labels, 0.0)))
            counts = np.cumsum(np.append(self.count, known))
            means: Array = np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)
        self.total, self.count = float(totals[-1]), int(counts[-1])
        return means


BASELINES: dict[str, type[Baseline]] = {kind.name: kind for kind in (LastValue, RunningMean)}


class Baselines:
    """The predictions of all baselines for each row, from the labels that have arrived by then.

    Args:
        delay: rows by which labels are late.

    >>> {name: said.tolist() for name, said in Baselines().predict(np.array([1.0, 3.0, 8.0])).items()}
    {'last': [nan, 1.0, 3.0], 'mean': [nan, 1.0, 2.0]}
    """

    def __init__(self, delay: int = 0) -> None:
        self.labels = LateLabels(delay)
        self.known = {name: kind(delay) for name, kind in BASELINES.items()}

    def predict(self, y: Array) -> dict[str, Array]:
        """What each baseline predicts for the rows whose labels are ``y``; NaN while no label is known."""
        labels, before = self.labels.arrived(y)
        return {name: baseline.after(labels)[before] for name, baseline in self.known.items()}

    @property
    def any_label(self) -> bool:
        """Whether there was a label, be it known or still on its way."""
        return bool(np.isfinite([self.known[LastValue.name].after(np.empty(0))[0], *self.labels.waiting]).any())

    def state(self) -> dict[str, Any]:
        """An array and plain numbers, from which :meth:`restored` goes on exactly."""
        plain = {f"{name}.{key}": value for name, baseline in self.known.items() for key, value in vars(baseline).items()}
        return {"delay": self.labels.delay, "waiting": self.labels.waiting, **plain}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Baselines:
        """From what :meth:`state` gave."""
        baselines = cls(int(state["delay"]))
        baselines.labels.waiting = np.array(state["waiting"])
        for name, baseline in baselines.known.items():
            for key, value in vars(baseline).items():
                setattr(baseline, key, type(value)(state[f"{name}.{key}"]))
        return baselines
