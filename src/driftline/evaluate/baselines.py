"""Baselines without a model, made from the labels so far: for numbers, and for classes."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from driftline.storage.resumable import Resumable, part_of
from driftline.tables.inputs import Array

PIECE = 4_096  # labels at once; their intermediate results fit the cache


class Baseline(Resumable, ABC):
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
        """The predictions before the first of these labels arrives, and after each; unknown while no label is known.

        Unknown labels are ignored: numbers that are not finite, and classes that are None. The result has one entry more
        than ``labels``.
        """


class LastValue(Baseline):
    """The last label."""

    name, title, _fields = "last", "last value", ("value",)

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

    name, title, _fields = "mean", "running mean", ("total", "count")

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

    name, title, _fields = "season", "seasonal value", ("delay", "past", "filled", "losses")
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


class MostFrequentClass(Baseline):
    """The most frequent class so far."""

    name, title = "most_frequent_class", "most frequent class"

    def __init__(self, delay: int = 0) -> None:
        super().__init__(delay)
        self.counts: dict[Any, int] = {}

    def after(self, labels: Array) -> Array:
        """The most frequent known class, each time; the earliest of several."""
        return _each(labels, self._learn)

    def _learn(self, label: Any) -> Any:
        if label is not None:
            self.counts[label] = self.counts.get(label, 0) + 1
        return max(self.counts, key=self.counts.__getitem__, default=None)

    def state(self) -> dict[str, Any]:
        """The counts as text, which keeps the types of the classes."""
        return {"counts": json.dumps(list(self.counts.items()))}

    def resume(self, state: Mapping[str, Any]) -> Self:
        """Restores what :meth:`state` returned."""
        self.counts = dict(json.loads(state["counts"]))
        return self


class LastClass(Baseline):
    """The last class."""

    name, title, _fields = "last_class", "last class", ("value",)

    def __init__(self, delay: int = 0) -> None:
        super().__init__(delay)
        self.value: Any = None

    def after(self, labels: Array) -> Array:
        """The last known class, each time."""
        return _each(labels, self._learn)

    def _learn(self, label: Any) -> Any:
        if label is not None:
            self.value = label
        return self.value


def _each(labels: Array, learn: Callable[[Any], Any]) -> Array:
    return as_classes([learn(None), *map(learn, labels)])


BASELINES: dict[str, type[Baseline]] = {kind.name: kind for kind in (LastValue, RunningMean, OneSeasonAgo)}
OF_CLASSES: dict[str, type[Baseline]] = {kind.name: kind for kind in (MostFrequentClass, LastClass)}


def is_unknown(values: Array) -> Array:
    """Which labels or predictions are unknown: NaN for numbers, None for classes."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    return np.array([value is None for value in values.tolist()], dtype=bool)


class LateLabels(Resumable):
    """Delays labels, block by block: row t is predicted when labels up to row t - delay - 1 have arrived.

    Args:
        delay: how many rows late labels arrive.
    """

    def __init__(self, delay: int) -> None:
        self.delay = delay
        self.waiting = np.empty(0)

    def state(self) -> dict[str, Any]:
        """The labels that wait; classes as a list, which keeps their types."""
        return {"delay": self.delay, "waiting": self.waiting if self.waiting.dtype != object else self.waiting.tolist()}

    def resume(self, state: Mapping[str, Any]) -> Self:
        """Restores what :meth:`state` returned."""
        self.delay, waiting = int(state["delay"]), state["waiting"]
        self.waiting = as_classes(waiting) if isinstance(waiting, list) else np.array(waiting)
        return self

    def arrived(self, y: Array) -> tuple[Array, Array]:
        """The labels that arrive during a block with labels ``y``, and how many have arrived before each row."""
        labels = np.concatenate([self.waiting, y]) if len(self.waiting) else y
        count = max(0, len(labels) - self.delay)
        before = np.maximum(len(self.waiting) - self.delay + np.arange(len(y)), 0)
        self.waiting = labels[count:].copy()
        return labels[:count], before


class Baselines(Resumable):
    """Predicts each row with all baselines, from the labels that have arrived by then.

    Args:
        delay: how many rows late labels arrive.
        kinds: the baselines, by name.

    >>> {name: values.tolist() for name, values in Baselines().predict(np.array([1.0, 3.0, 8.0])).items()}
    {'last': [nan, 1.0, 3.0], 'mean': [nan, 1.0, 2.0], 'season': [nan, 1.0, 3.0]}
    """

    _fields = ("labels", "any_label")

    def __init__(self, delay: int = 0, kinds: Mapping[str, type[Baseline]] = BASELINES) -> None:
        self.labels = LateLabels(delay)
        self.known = {name: kind(delay) for name, kind in kinds.items()}
        self.any_label = False  # whether there was a label, arrived or not

    def predict(self, y: Array) -> dict[str, Array]:
        """Each baseline's predictions for the rows with labels ``y``; unknown while no label is known."""
        self.any_label = self.any_label or not is_unknown(y).all()
        labels, before = self.labels.arrived(y)
        return {name: baseline.after(labels)[before] for name, baseline in self.known.items()}

    def state(self) -> dict[str, Any]:
        """Arrays and plain values from which :meth:`resume` continues exactly."""
        each = {f"{name}/{part}": value for name, known in self.known.items() for part, value in known.state().items()}
        return super().state() | each

    def resume(self, state: Mapping[str, Any]) -> Self:
        """Restores what :meth:`state` returned."""
        for name, known in self.known.items():
            known.resume(part_of(state, name))
        return super().resume(state)


class LastAndMean:
    """The last label and the mean of all labels so far, learned one by one; the fastest baselines, and the smallest."""

    __slots__ = ("count", "total", "value")
    names = (LastValue.name, RunningMean.name)

    def __init__(self, value: float = math.nan, total: float = 0.0, count: float = 0.0) -> None:
        self.value, self.total, self.count = value, total, int(count)

    def predict(self) -> tuple[float, float]:
        """The predictions now; NaN while no label is known."""
        return self.value, self.total / self.count if self.count else math.nan

    def learn(self, label: float) -> tuple[float, float]:
        """Learns a label; returns the predictions before it."""
        before = self.value, self.total / self.count if self.count else math.nan
        self.value, self.total, self.count = label, self.total + label, self.count + 1
        return before

    def run(self, labels: Array) -> tuple[Array, Array]:
        """The predictions before each of several known labels, which are learned."""
        totals = np.cumsum(np.append(self.total, labels))
        counts = self.count + np.arange(len(labels))
        last = np.append(self.value, labels)
        means = np.where(counts > 0, totals[:-1] / np.maximum(counts, 1), np.nan)
        self.value, self.total, self.count = float(last[-1]), float(totals[-1]), self.count + len(labels)
        return last[:-1], means

    def state(self) -> tuple[float, float, int]:
        """The arguments that make an equal one."""
        return self.value, self.total, self.count


class BaselinesById:
    """Predicts rows that wait, by the last label and the mean of all labels known when they came.

    There is no seasonal value: ids have no order, so no season.
    """

    def __init__(self) -> None:
        self._known = LastAndMean()
        self._waiting: dict[str, tuple[float, float]] = {}  # the predictions, by id

    def ask(self, key: str) -> None:
        """Predicts a row, which then waits."""
        self._waiting[key] = self._known.predict()

    def tell(self, key: str, label: float) -> tuple[float, float]:
        """Learns a label; returns the predictions of its row."""
        self._known.learn(label)
        return self._waiting.pop(key)

    def keep(self, ids: Collection[str]) -> None:
        """Forgets rows that were dropped; ``ids`` are those that still wait."""
        if len(ids) < len(self._waiting):
            self._waiting = {key: self._waiting[key] for key in ids}

    def state(self) -> dict[str, Array]:
        """Arrays, with the waiting rows in the order in which they were predicted."""
        waiting = np.array(list(self._waiting.values()), dtype=np.float64).reshape(-1, 2)
        return {"sums": np.array(self._known.state()), "waiting": waiting}

    def restore(self, state: Mapping[str, Array], ids: Iterable[str]) -> None:
        """Restores what :meth:`state` returned; ``ids`` are those of the waiting rows, in the same order."""
        self._known = LastAndMean(*state["sums"].tolist())
        self._waiting = dict(zip(ids, map(tuple, state["waiting"].tolist()), strict=True))


class BaselinesByKey:
    """Predicts each row by the last label of its key, and by the mean of its key's labels so far.

    There is no seasonal value, which would need 5 kB for each key.
    """

    def __init__(self) -> None:
        self._known: list[LastAndMean] = []  # by the number of the key

    def predict(self, keys: Array, y: Array) -> dict[str, Array]:
        """The predictions for rows with these numbers of keys and labels; NaN while no label of the key is known."""
        self._known += [LastAndMean() for _ in range(int(keys.max(initial=-1)) + 1 - len(self._known))]
        predicted = []
        for key, label in zip(keys.tolist(), y.tolist(), strict=True):  # one by one, so that blocks do not matter
            known = self._known[key]
            predicted.append(known.learn(label) if math.isfinite(label) else known.predict())
        return dict(zip(LastAndMean.names, np.array(predicted, dtype=np.float64).reshape(-1, 2).T, strict=True))

    def state(self) -> dict[str, Array]:
        """The state, as an array."""
        return {"sums": np.array([known.state() for known in self._known], dtype=np.float64).reshape(-1, 3)}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Restores what :meth:`state` returned."""
        self._known = [LastAndMean(*sums) for sums in state["sums"].tolist()]


def as_classes(labels: Iterable[Any]) -> Array:
    """Classes as an array of objects."""
    given = list(labels)
    found = np.empty(len(given), dtype=object)
    found[:] = given
    return found
