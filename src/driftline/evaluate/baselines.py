"""Baselines without a model: the last label, the mean of the labels so far, and the label one season ago."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from driftline.tables.inputs import Array

PIECE = 4_096  # labels at once; their intermediate results fit the cache


class Baseline(ABC):
    """A prediction made only from earlier labels.

    Args:
        delay: how many rows late labels arrive.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, delay: int = 0) -> None:
        self.delay = delay

    @abstractmethod
    def after(self, labels: Array) -> Array:
        """The predictions before the first of these labels arrives, and after each; NaN while none is known.

        Labels that are not finite are ignored. The result has one entry more than ``labels``.
        """


class LastValue(Baseline):
    """The last label."""

    name, title = "last", "last value"

    def __init__(self, delay: int = 0) -> None:
        super().__init__(delay)
        self.value = np.nan

    def after(self, labels: Array) -> Array:
        """The last known label, each time."""
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
        """The mean of the known labels, each time."""
        known = np.isfinite(labels)
        with np.errstate(over="ignore", invalid="ignore"):
            totals = np.cumsum(np.append(self.total, np.where(known, labels, 0.0)))
            counts = np.cumsum(np.append(self.count, known))
            means: Array = np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)
        self.total, self.count = float(totals[-1]), int(counts[-1])
        return means


class OneSeasonAgo(Baseline):
    """The label one season ago (a day, a week, a year), with the lag that did best so far.

    The lag counts from the predicted row. If its label has not arrived yet, the next multiple is used: with labels 30 rows
    late, 24 rows becomes 48. If that label is missing, the one before it is used. The lag with the smallest squared error
    over the labels so far is chosen, the shortest if several are equal.
    """

    name, title = "season", "seasonal value"
    lags: ClassVar[tuple[int, ...]] = (12, 24, 48, 96, 144, 168, 336)  # as in Auto

    def __init__(self, delay: int = 0) -> None:
        super().__init__(delay)
        rows = self._rows_ago().max()
        self.past, self.filled = np.full((2, rows), np.nan)  # the last labels; as they are, and with gaps filled
        self.losses = np.zeros(len(self.lags))

    def _rows_ago(self) -> Array:
        """Each lag, or its first multiple whose label arrives in time."""
        lags = np.array(self.lags)
        rows: Array = lags * -(-(self.delay + 1) // lags)
        return rows

    @property
    def rows_ago(self) -> int:
        """How many rows before the predicted row the label used now is."""
        return int(self._rows_ago()[self.losses.argmin()])

    def after(self, labels: Array) -> Array:
        """The label one season before the predicted row, each time."""
        said = np.empty(len(labels) + 1)
        for start in range(0, max(len(labels), 1), PIECE):
            said[start : start + PIECE + 1] = self._after(labels[start : start + PIECE])
        return said

    def _after(self, labels: Array) -> Array:
        rows, count = len(self.past), len(labels)
        there = np.isfinite(labels)
        labels = np.where(there, labels, np.nan)
        newest = np.where(there, np.arange(1, count + 1), 0)
        filled = np.append(self.filled[-1], labels)[np.maximum.accumulate(np.append(0, newest))][1:]
        past, filled = np.append(self.past, labels), np.append(self.filled, filled)
        whole = bool(np.isfinite(past).all())
        known = filled[rows - self.delay - 1 : len(filled) - self.delay - 1]  # known when these rows were predicted
        season, least, losses = np.empty(count + 1), np.full(count + 1, np.inf), np.empty(count + 1)
        with np.errstate(over="ignore", invalid="ignore"):
            for place, lag in reversed(list(enumerate(self._rows_ago().tolist()))):  # the shortest comes last, and wins ties
                guess = past[rows - lag : rows - lag + count]
                losses[0] = self.losses[place]
                np.square(labels - (guess if whole else np.where(np.isfinite(guess), guess, known)), out=losses[1:])
                if not whole:
                    losses[np.isnan(losses)] = 0.0
                np.cumsum(losses, out=losses)
                better = losses <= least
                np.copyto(least, losses, where=better)
                begin = rows + self.delay - lag
                np.copyto(season, past[begin : begin + count + 1], where=better)
                self.losses[place] = losses[-1]
        season = np.where(np.isfinite(season), season, filled[rows - 1 :])
        self.past, self.filled = past[count:].copy(), filled[count:].copy()
        return season


BASELINES: dict[str, type[Baseline]] = {kind.name: kind for kind in (LastValue, RunningMean, OneSeasonAgo)}


class LateLabels:
    """Delays labels, block by block: row t is predicted when labels up to row t - delay - 1 have arrived.

    Args:
        delay: how many rows late labels arrive.
    """

    def __init__(self, delay: int) -> None:
        self.delay = delay
        self.waiting = np.empty(0)

    def arrived(self, y: Array) -> tuple[Array, Array]:
        """The labels that arrive during a block with labels ``y``, and how many have arrived before each row."""
        labels = np.concatenate([self.waiting, y])
        count = max(0, len(labels) - self.delay)
        before = np.maximum(len(self.waiting) - self.delay + np.arange(len(y)), 0)
        self.waiting = labels[count:].copy()
        return labels[:count], before


class Baselines:
    """Predicts each row with all baselines, from the labels that have arrived by then.

    Args:
        delay: how many rows late labels arrive.

    >>> {name: values.tolist() for name, values in Baselines().predict(np.array([1.0, 3.0, 8.0])).items()}
    {'last': [nan, 1.0, 3.0], 'mean': [nan, 1.0, 2.0], 'season': [nan, 1.0, 3.0]}
    """

    def __init__(self, delay: int = 0) -> None:
        self.labels = LateLabels(delay)
        self.known = {name: kind(delay) for name, kind in BASELINES.items()}

    def predict(self, y: Array) -> dict[str, Array]:
        """Each baseline's predictions for the rows with labels ``y``; NaN while no label is known."""
        labels, before = self.labels.arrived(y)
        return {name: baseline.after(labels)[before] for name, baseline in self.known.items()}

    @property
    def any_label(self) -> bool:
        """Whether there was a label, arrived or not."""
        return bool(np.isfinite([self.known[LastValue.name].after(np.empty(0))[0], *self.labels.waiting]).any())

    def state(self) -> dict[str, Any]:
        """Arrays and plain numbers from which :meth:`restored` continues exactly."""
        plain = {f"{name}.{key}": value for name, baseline in self.known.items() for key, value in vars(baseline).items()}
        return {"delay": self.labels.delay, "waiting": self.labels.waiting, **plain}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Baselines:
        """Restores what :meth:`state` returned."""
        baselines = cls(int(state["delay"]))
        baselines.labels.waiting = np.array(state["waiting"])
        for name, baseline in baselines.known.items():
            for key, value in vars(baseline).items():
                kept = state[f"{name}.{key}"]
                setattr(baseline, key, np.array(kept) if isinstance(value, np.ndarray) else type(value)(kept))
        return baselines
