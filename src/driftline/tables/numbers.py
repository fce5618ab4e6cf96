"""Columns of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from driftline.tables.columns import ABSENT, VALUE, Column, Filled, NewKeys, Vectors, Writer
from driftline.tables.inputs import Array
from driftline.tables.kinds import NUMBER
from driftline.tables.missing import FILLS, LAST, MEAN, ZERO

_LARGEST = float(np.finfo(np.float64).max)


class Numbers(Column):
    """A column of numbers, which is itself a feature. Missing values are filled in according to the policy.

    Args:
        name: the column's name.
        policy: what takes the place of a missing number: "last" for the last value, "mean" for the mean so far, "zero" for
            0. With any other word, the row is left out.
    """

    kind = NUMBER
    is_zero_if_absent = True

    def __init__(self, name: str, policy: str = LAST) -> None:
        super().__init__(name)
        self.policy = policy
        self.last = self.total = 0.0
        self.count = 0

    def encode(self, values: Array, learned: Array | None = None) -> tuple[Vectors, NewKeys]:
        """The numbers, NaN where one is missing."""
        if all_finite(values) and (learned is None or learned.all()):
            return self._encode_whole(values)
        known = ~np.isnan(values)
        counted = known if learned is None else known & learned
        first, new = self._appear(counted)
        if not self.met:
            return {}, []
        filled = self._fill(values, known, counted)
        filled[:first] = 0.0
        if self.policy not in FILLS:
            return {VALUE: filled}, new
        absence, more = self._absence(known, learned, first)
        return {VALUE: filled} | absence, new + more

    def _encode_whole(self, values: Array) -> tuple[Vectors, NewKeys]:
        """The common case, in which no value is missing."""
        if not len(values):
            return {}, []
        total = float(running_totals(self.total, values)[-1]) if self.policy == MEAN else 0.0
        new = [(0, VALUE)] if self.learn_whole(float(values[-1]), total, len(values)) else []
        return {VALUE: values} | ({ABSENT: np.zeros(len(values))} if self.missed else {}), new

    def is_settled(self, values: Array) -> bool:
        """See :meth:`Column.is_settled`."""
        return self.met and all_finite(values)

    def learn_whole(self, last: float, total: float, count: int) -> bool:
        """Learns values of which none is missing: the last one, the total with them, their number. Returns if it is new."""
        new, self.met = not self.met, True
        if self.policy == MEAN:
            self.total, self.count = total, self.count + count
        elif self.policy == LAST:
            self.last = last
        return new

    def _fill(self, values: Array, known: Array, counted: Array) -> Array:
        """The values with gaps filled in; remembers those that count."""
        if self.policy not in FILLS:
            return values.copy()
        if self.policy == ZERO:
            return np.where(known, values, 0.0)
        if self.policy == MEAN:
            totals = running_totals(self.total, np.where(counted, values, 0.0))
            counts = self.count + np.cumsum(counted)
            filled = np.where(known, values, totals[:-1] / np.maximum(counts - counted, 1))
            self.total, self.count = float(totals[-1]), int(counts[-1])
            return filled
        place = np.maximum.accumulate(np.where(counted, np.arange(len(values)), -1))
        filled = np.where(known, values, np.where(place >= 0, values[place], self.last))
        if place[-1] >= 0:
            self.last = float(values[place[-1]])
        return filled

    def _next_filled(self) -> float:
        """What takes the place of the next missing number."""
        if self.policy == MEAN:
            return self.total / max(self.count, 1)
        return self.last if self.policy == LAST else 0.0

    @property
    def changing(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the next missing number is filled in from."""
        return {MEAN: ("total", "count"), LAST: ("last",)}.get(self.policy, ())

    def writer(self, places: Mapping[str, int]) -> Writer:
        """See :meth:`Column.writer`."""
        at, absent = places.get(VALUE), places.get(ABSENT)

        def write(value: Any, row: list[float], learned: bool) -> bool:
            if at is None:
                return False
            if type(value) is float:
                row[at] = value
                return True
            filled = isinstance(value, Filled)
            if (value is not None and not filled) or self.policy not in FILLS or (absent is None and learned):
                return False
            row[at] = value.value if filled else self._next_filled()
            if absent is not None:
                row[absent] = 1.0
            return True

        return write

    def after(self, places: Mapping[str, int]) -> Callable[[list[float]], tuple[Any, ...]]:
        """See :meth:`Column.after`."""
        at, absent = places[VALUE], places.get(ABSENT)

        def last(row: list[float]) -> tuple[float]:
            return (self.last if absent is not None and row[absent] else row[at],)

        def sums(row: list[float]) -> tuple[float, int]:
            if absent is not None and row[absent]:
                return self.total, self.count
            total = self.total + row[at]
            return total if -_LARGEST <= total <= _LARGEST else math.copysign(_LARGEST, total), self.count + 1

        return last if self.policy == LAST else sums

    def known_keys(self) -> list[str]:
        """The keys of the features so far."""
        return [VALUE] * self.met + [ABSENT] * self.missed

    def state(self) -> dict[str, Any]:
        """The state, as plain values."""
        return super().state() | {"policy": self.policy, "last": self.last, "total": self.total, "count": self.count}

    def restore(self, state: dict[str, Any]) -> None:
        """Restores what :meth:`state` returned."""
        super().restore(state)
        self.last, self.total, self.count = float(state["last"]), float(state["total"]), int(state["count"])


def encode_whole(columns: Sequence[Numbers], values: Sequence[Array]) -> list[tuple[Vectors, NewKeys]] | None:
    """Encodes many columns of numbers at once; None, with nothing learned, if a value is missing or a total too large."""
    stacked = np.empty((len(columns), len(values[0]) + 1))
    stacked[:, 0] = [column.total for column in columns]
    for place, vector in enumerate(values):
        stacked[place, 1:] = vector
    last = stacked[:, -1].copy()
    with np.errstate(over="ignore", invalid="ignore"):
        totals = np.cumsum(stacked, axis=1, out=stacked)[:, -1]
    if not np.isfinite(totals).all():
        return None
    found: list[tuple[Vectors, NewKeys]] = []
    gap = np.zeros(len(values[0]))
    for column, vector, end, total in zip(columns, values, last.tolist(), totals.tolist(), strict=True):
        new = column.learn_whole(end, total, len(vector))
        found.append(({VALUE: vector, ABSENT: gap} if column.missed else {VALUE: vector}, [(0, VALUE)] if new else []))
    return found


def all_finite(values: Array) -> bool:
    """Quick check that no value is missing or infinite; False may be wrong."""
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(np.add.reduce(values))


def running_totals(total: float, values: Array) -> Array:
    """The total before each row, then the total of all rows, kept in the range of float64."""
    with np.errstate(over="ignore", invalid="ignore"):
        totals = np.cumsum(np.concatenate([[total], values]))
    if math.isfinite(totals[-1]):
        return totals
    for row, value in enumerate(values.tolist()):  # clipped after each row, as when rows come singly
        totals[row + 1] = min(max(float(totals[row]) + value, -_LARGEST), _LARGEST)
    return totals
