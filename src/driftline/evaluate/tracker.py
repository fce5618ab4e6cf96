"""Running sums of columns: from the start, over a sliding window, and fading, at a bounded number of points."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftline.tables.inputs import Array

UNIT = 4_096  # most rows to sum at once
FLUSH = 32_768  # rows to gather before summing
SPARE = 4  # rows are summed in multiples of this many units, so that units can double twice and stay aligned

TINY = float(np.finfo(np.float64).tiny)  # the least weight of a row: 0 times an infinite error would be NaN

KINDS = ("cumulative", "window", "fading")


@dataclass(frozen=True, eq=False)
class Points:
    """Sums at some rows: ``sums[kind]`` is (points, 1 + columns + spreads), the weight of the rows first."""

    rows: Array
    sums: dict[str, Array]


Join = Callable[[Array, Array], Array]  # combines the sums over two sets of rows


def moving_sum(values: Array, width: int, join: Join = np.add) -> Array:
    """For each row, the sum of the ``width`` rows up to it, fewer at the start.

    Sums of 1, 2, 4, … rows make up any width. Nothing is subtracted, so a huge value leaves no rounding error behind.

    >>> moving_sum(np.array([[1.0], [1e30], [2.0], [3.0], [4.0]]), 2).ravel().tolist()
    [1.0, 1e+30, 1e+30, 5.0, 7.0]
    """
    sums = np.zeros_like(values)
    done, reach = 0, 1  # ``done`` rows are summed; ``values`` are sums of ``reach`` rows
    while done < len(sums):
        if width & reach:
            sums[done:] = join(sums[done:], values[: len(values) - done])
            done += reach
        if 2 * reach > width:
            break
        doubled = values.copy()
        doubled[reach:] = join(values[reach:], values[:-reach])
        values, reach = doubled, 2 * reach
    return sums


def fading_sum(carry: Array, values: Array, factor: float) -> Array:
    """Each row's sum is ``factor`` times the one before plus its own values; ``carry`` is the sum before the first.

    Powers of the factor are kept above 0, so that an infinite value stays infinite.

    >>> fading_sum(np.array([8.0]), np.array([[1.0], [0.0], [2.0]]), 0.5).ravel().tolist()
    [5.0, 2.5, 3.25]
    """
    sums = values.copy()
    sums[0] += max(factor, TINY) * carry
    reach = 1  # rows in each sum; doubles by adding the sum ``reach`` rows before
    while reach < len(sums):
        sums[reach:] += max(factor**reach, TINY) * sums[:-reach]
        reach *= 2
    return sums


def between(first: Array, second: Array, column: int) -> Array:
    """The spread of two sets of rows together minus the sum of their own, due to their different means.

    >>> between(np.array([[2.0, 6.0]]), np.array([[1.0, 0.0]]), 1).item()  # 3, 3 and 0 about their mean 2: 1 + 1 + 4
    6.0
    """
    one, other = first[:, 0], second[:, 0]
    with np.errstate(all="ignore"):
        apart = first[:, column] / one - second[:, column] / other
        more: Array = one / (one + other) * other * apart * apart
    more[(one == 0) | (other == 0)] = 0.0
    return more


class Tracker:
    """Adds up columns of numbers row by row.

    Rows are summed in units, and a point is kept at the end of every few units. When there are too many points, every other
    one is dropped and the units double: points stay evenly spaced and memory stays bounded, however long the stream is.

    Args:
        columns: how many columns there are.
        window: rows of the sliding window; None for no window.
        fading: weight of a row relative to the next one, in (0, 1]; None for no fading.
        points: the most points to keep, besides the last row; None keeps every row, 0 only the last.
        rows: the length of the stream, if known, to start with the right units.
        spreads: columns, from 0, whose squared distances from their own mean over the same rows are summed too. Spreads of
            two sets of rows are combined by their means, which keeps digits whatever the column's level.
        unit: rows to sum at once if no points are kept.
    """

    def __init__(
        self,
        columns: int,
        window: int | None,
        fading: float | None,
        points: int | None,
        rows: int | None = None,
        spreads: Sequence[int] = (),
        unit: int = UNIT,
    ) -> None:
        self.window, self.fading, self.points = window, fading, points
        self.unit, self.every = 1, 1
        if points == 0:
            self.unit, self.every = unit, 0
        elif points is not None and rows is not None:
            self._begin(rows)
        self._read = columns + 1
        self._width = self._read + len(spreads)
        self._spreads = [(self._read + i, 1 + column) for i, column in enumerate(spreads)]
        self._rows = 0  # summed so far: a multiple of the unit
        self._full, most = (FLUSH, UNIT) if points != 0 else (min(FLUSH, 8 * unit), unit)
        room = self._full + SPARE * most
        self._buffer = np.empty((self._read, min(room, rows or room)))
        self._waiting = 0  # rows in the buffer
        self._all_count = True  # all buffered rows count, so the first column is not filled in
        self._total, self._faded = np.zeros(self._width), np.zeros(self._width)
        self._units = np.zeros((0, self._width))  # sums of the window's last units
        self._tails = np.zeros((0, self._width))  # sums of their last window % unit rows
        self._powers: Array = np.empty(0)
        self._recent: deque[Array] = deque()  # the window's rows, for the last point
        self._kept = _Kept()

    @property
    def rows(self) -> int:
        """Rows added so far."""
        return self._rows + self._waiting

    def add(self, columns: Sequence[Array], count: Array | None = None) -> None:
        """Adds rows: their columns, and which of them count (1.0 or 0.0; None for all). Other rows must be 0."""
        start = 0
        while start < len(columns[0]):
            piece = slice(start, start + self._full - self._waiting)  # as many as fit the buffer
            self._gather([column[piece] for column in columns], None if count is None else count[piece])
            start = piece.stop

    def _gather(self, columns: Sequence[Array], count: Array | None) -> None:
        start, stop = self._waiting, self._waiting + len(columns[0])
        if count is not None and self._all_count:
            self._buffer[0, :start] = 1.0
            self._all_count = False
        if not self._all_count:
            self._buffer[0, start:stop] = 1.0 if count is None else count
        for i, column in enumerate(columns, 1):
            self._buffer[i, start:stop] = column
        self._waiting = stop
        if stop >= self._full:
            self._flush(SPARE)
            while self.points and len(self._kept) > self.points:
                self._thin()

    def _begin(self, rows: int) -> None:
        """Chooses the units for a stream of at least this many rows."""
        assert self.points
        stride = self.unit
        while rows > self.points * stride:
            stride *= 2
        self.unit, self.every = min(stride, UNIT), max(1, stride // UNIT)

    def _flush(self, multiple: int) -> None:
        """Sums the gathered rows, up to a multiple of this many units."""
        if self._rows == 0 and self.points:
            self._begin(self._waiting)
        step = multiple * self.unit
        take = (self._rows + self._waiting) // step * step - self._rows
        if take > 0:
            self._absorb(self._buffer[:, :take])
            self._buffer[:, : self._waiting - take] = self._buffer[:, take : self._waiting]
            self._waiting -= take
            self._all_count = self._all_count or self._waiting == 0

    def _absorb(self, block: Array) -> None:
        """Sums whole units of rows."""
        count = block.shape[1] // self.unit
        rows = block.reshape(self._read, count, self.unit)
        tail = self.window % self.unit if self.window else 0
        tails = self._sums(rows[:, :, self.unit - tail :])
        units = self._join(self._sums(rows[:, :, : self.unit - tail]), tails)
        number = self._rows // self.unit + 1 + np.arange(count)
        at = np.flatnonzero(number % self.every == 0) if self.every else np.empty(0, dtype=np.int64)
        sums = {"cumulative": self._run_on(self._total, units)}
        self._total = sums["cumulative"][-1]
        if self.window:
            sums["window"] = self._slide(units, tails)
            self._remember(block)
        if self.fading:
            faded = self._sums(rows, self._weights(self.unit))
            sums["fading"] = self._run_on(self._faded, faded, self.fading**self.unit)
            self._faded = sums["fading"][-1]
        self._kept.add(number[at] * self.unit, {kind: values[at] for kind, values in sums.items()})
        self._rows += block.shape[1]

    def _run_on(self, carry: Array, units: Array, factor: float | None = None) -> Array:
        """The running sums at the end of each new unit, faded by a factor if given."""

        def run(values: Array, start: Array) -> Array:
            if factor is not None:
                return fading_sum(start, values, factor)
            sums: Array = np.cumsum(np.concatenate([start[None], values]), axis=0)[1:]
            return sums

        sums = run(units, carry)
        before = np.concatenate([carry[None], sums[:-1]]) * (1.0 if factor is None else max(factor, TINY))
        for spread, column in self._spreads:
            sums[:, spread] = run(units[:, spread] + between(before, units, column), carry[spread])
        return sums

    def _join(self, first: Array, second: Array) -> Array:
        """The sums over two sets of rows together."""
        sums: Array = first + second
        for spread, column in self._spreads:
            sums[:, spread] += between(first, second, column)
        return sums

    def _weights(self, rows: int) -> Array:
        """The fading weights of rows, relative to the last of them."""
        assert self.fading is not None
        if len(self._powers) != rows:
            self._powers = np.maximum(self.fading ** np.arange(rows - 1, -1, -1), TINY)
        return self._powers

    def _sums(self, rows: Array, weights: Array | None = None) -> Array:
        """Sums over the last axis, weighted or not: (units, 1 + columns + spreads)."""
        first = 1 if self._all_count else 0
        sums = np.empty((rows.shape[1], self._width))
        sums[:, first : self._read] = (rows[first:].sum(axis=2) if weights is None else rows[first:] @ weights).T
        if first:
            sums[:, 0] = rows.shape[2] if weights is None else weights.sum()
        for spread, column in self._spreads:
            mean = sums[:, column] / np.where(sums[:, 0] > 0, sums[:, 0], 1.0)
            square = rows[column] - mean[:, None]
            square *= square  # in place: a block of this size would be allocated from the system each time
            if not first:
                square *= rows[0]
            sums[:, spread] = square.sum(axis=1) if weights is None else square @ weights
        return sums

    def _slide(self, units: Array, tails: Array) -> Array:
        """The window's sums at the end of each new unit: whole units, and the tail of the unit before them."""
        assert self.window is not None
        whole, before = self.window // self.unit, len(self._units)
        units, tails = np.vstack([self._units, units]), np.vstack([self._tails, tails])
        sums: Array = moving_sum(units, whole, self._join)[before:]
        first = max(0, whole - before)  # before that, the unit with the tail would precede the first row
        sums[first:] = self._join(sums[first:], tails[before + first - whole : max(0, len(tails) - whole)])
        keep = len(units) - min(whole, len(units))
        self._units, self._tails = units[keep:], tails[keep:]
        return sums

    def _remember(self, block: Array) -> None:
        assert self.window is not None
        self._recent.append(block[:, -self.window :].copy())
        if self._all_count:
            self._recent[-1][0] = 1.0
        held = sum(piece.shape[1] for piece in self._recent)
        while held - self._recent[0].shape[1] >= self.window:
            held -= self._recent.popleft().shape[1]

    def _thin(self) -> None:
        """Drops every other point, and doubles the units or the distance between points."""
        self._kept.halve()
        if self.unit == UNIT:
            self.every *= 2
            return
        odd = len(self._units) % 2
        first, second = self._units[odd::2], self._units[odd + 1 :: 2]
        if self.window and self.window % (2 * self.unit) >= self.unit:
            self._tails = self._join(self._tails[odd::2], second)
        else:
            self._tails = self._tails[odd + 1 :: 2]
        self._units = self._join(first, second)
        self.unit *= 2

    def totals(self) -> Array:
        """The sums over all rows so far: their weight, the columns, the spreads."""
        self._flush(1)
        sums: Array = self._join(self._total[None], self._sums(self._buffer[:, None, : self._waiting]))[0]
        return sums

    def state(self) -> dict[str, Any]:
        """The sums so far and the rows in no unit yet; for trackers that keep only totals."""
        assert self.points == 0
        assert not self.window
        assert not self.fading
        self._flush(1)
        rest = self._buffer[:, : self._waiting].copy()
        if self._all_count:
            rest[0] = 1.0
        return {"rows": self._rows, "total": self._total.copy(), "rest": rest}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what :meth:`state` returned, and continues exactly."""
        self._rows, self._total = int(state["rows"]), state["total"].copy()
        self._waiting, self._all_count = state["rest"].shape[1], False
        self._buffer[:, : self._waiting] = state["rest"]

    def finish(self) -> Points:
        """The points kept, including the last row's. Nothing can be added afterwards."""
        self._flush(1)
        while self.points and len(self._kept) > self.points:
            self._kept.halve()
        rest = self._buffer[:, : self._waiting]
        if self._all_count:
            rest[0] = 1.0
            self._all_count = False
        last = {"cumulative": self.totals()}
        if self.window:
            self._remember(rest)
            recent = np.concatenate(list(self._recent), axis=1)[:, -self.window :]
            last["window"] = self._sums(recent[:, None])[0]
        if self.fading:
            faded = max(self.fading**self._waiting, TINY) * self._faded[None]
            last["fading"] = self._join(faded, self._sums(rest[:, None], self._weights(self._waiting)))[0]
        self._kept.close(self.rows, last)
        return self._kept.points()


@dataclass
class _Kept:
    """Points, kept in the pieces in which they came."""

    rows: list[Array] = field(default_factory=list)
    sums: dict[str, list[Array]] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(map(len, self.rows))

    def add(self, rows: Array, sums: dict[str, Array]) -> None:
        if len(rows):
            self.rows.append(rows)
            for kind, values in sums.items():
                self.sums.setdefault(kind, []).append(values)

    def halve(self) -> None:
        self.rows = [np.concatenate(self.rows)[1::2]]
        self.sums = {kind: [np.concatenate(pieces)[1::2]] for kind, pieces in self.sums.items()}

    def close(self, row: int, sums: dict[str, Array]) -> None:
        """Adds the last row's point, replacing one for the same row."""
        if self.rows and self.rows[-1][-1] == row:
            self.rows[-1] = self.rows[-1][:-1]
            self.sums = {kind: [*pieces[:-1], pieces[-1][:-1]] for kind, pieces in self.sums.items()}
        self.add(np.array([row]), {kind: values[None] for kind, values in sums.items()})

    def points(self) -> Points:
        return Points(np.concatenate(self.rows), {kind: np.concatenate(pieces) for kind, pieces in self.sums.items()})
