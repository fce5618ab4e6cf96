"""Levels of intervals and quantiles, in the form that the core takes."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np

from driftline import _core
from driftline._core import Level, Outputs
from driftline.base.rules import PROBABILITY
from driftline.tables.inputs import Array

Levels = Sequence[float] | Array
QUANTILES = (0.05, 0.5, 0.95)  # the levels unless others are given

NORMAL = NormalDist()
_LEVELS: list[float] = _core.levels


def _half_width(level: float) -> float:
    """Half the width of the interval that covers a share ``level`` of a standard Gaussian."""
    return -NORMAL.inv_cdf((1 - level) / 2)  # (1 + level) / 2 would round the highest levels to 1


_HALF_WIDTHS = [_half_width(level) for level in _LEVELS]


def as_level(level: Any, where: str) -> Any:
    """Locates a level among the levels that the core tracks.

    Quantiles between two tracked levels are interpolated, and beyond them extrapolated, exactly for a Gaussian.
    """
    return _place(PROBABILITY.require(where, "level", level))


def labels_needed(level: float) -> int:
    """How many labels an interval needs: with fewer, the quantile of their errors exceeds the largest one."""
    return math.ceil(level / (1 - level) - 1e-9)


@lru_cache(maxsize=64)
def _place(level: float) -> Any:
    enough = labels_needed(level)
    at = bisect_right(_LEVELS, level) - 1
    half = _half_width(level)
    if 0 <= at < len(_LEVELS) - 1:
        below, above = _HALF_WIDTHS[at : at + 2]
        return _core.Level(at, math.log(half / below) / math.log(above / below), 1.0, enough)
    at = max(at, 0)
    return _core.Level(at, 0.0, (half / _HALF_WIDTHS[at]) ** 2, enough)


def as_levels(levels: Any, where: str, what: str = "levels") -> Array:
    """The levels of quantiles as an array; they must be probabilities in ascending order."""
    found = np.array(levels, dtype=object)
    if found.ndim != 1 or not found.size:
        raise ValueError(f"{where}: {what} must be probabilities in ascending order, got {levels!r}")
    values = np.array([PROBABILITY.require(where, what, level) for level in found.tolist()], dtype=np.float64)
    if not (np.diff(values) > 0).all():
        raise ValueError(f"{where}: {what} must be in ascending order, got {levels!r}")
    return values


def quantile_names(levels: Array) -> list[str]:
    """The names of columns with quantiles: quantile_0.05 and so on."""
    return [f"quantile_{level!r}" for level in levels.tolist()]


def unearned(levels: Array) -> Array:
    """Quantiles around a prediction of 0 before there are labels."""
    return np.where(levels < 0.5, -np.inf, np.where(levels > 0.5, np.inf, 0.0))


@dataclass(frozen=True, eq=False)
class Spread:
    """What is wanted of each row besides its prediction.

    Attributes:
        level: coverage of the intervals; None for no intervals.
        quantiles: levels of the quantiles, ascending; None for no quantiles.
        place: the level of the intervals in the form that the core takes.
    """

    level: float | None = None
    quantiles: Array | None = None
    place: Level | None = None

    def __bool__(self) -> bool:
        return self.place is not None or self.quantiles is not None

    def outputs(self, predictions: Array, **others: Any) -> Outputs:
        """Outputs with these predictions, and room for the intervals and quantiles."""
        rows = len(predictions)
        lower, upper = (None, None) if self.place is None else np.empty((2, rows))
        quantiles = None if self.quantiles is None else np.empty((rows, len(self.quantiles)))
        return Outputs(
            predictions, lower=lower, upper=upper, level=self.place, quantiles=quantiles, quantile_levels=self.quantiles,
            **others,
        )  # fmt: skip

    def of_ticket(self, ticket: Any) -> list[float]:
        """The ends of a ticket's interval, then its quantiles, as far as they are wanted."""
        ends = [] if self.level is None else [*ticket.interval(self.level)]
        return ends if self.quantiles is None else [*ends, *ticket.quantiles(self.quantiles).tolist()]

    def columns(self, found: Sequence[Sequence[float]] | Array) -> tuple[Array | None, Array | None, Array | None]:
        """What :meth:`of_ticket` found for some rows: lower ends, upper ends and quantiles, as far as they are wanted."""
        values = np.array(found, dtype=np.float64).reshape(len(found), self.width)
        lower, upper = (None, None) if self.level is None else values[:, :2].T
        return lower, upper, None if self.quantiles is None else values[:, self.width - len(self.quantiles) :]

    def write(self, out: Outputs, rows: slice, found: Sequence[Sequence[float]] | Array) -> None:
        """Writes what :meth:`of_ticket` found for some rows."""
        lower, upper, quantiles = self.columns(found)
        if lower is not None:
            out.lower[rows], out.upper[rows] = lower, upper
        if quantiles is not None:
            out.quantiles[rows] = quantiles

    @property
    def width(self) -> int:
        """How many numbers are wanted of each row."""
        return 2 * (self.level is not None) + (0 if self.quantiles is None else len(self.quantiles))

    @classmethod
    def of(cls, out: Outputs) -> Spread:
        """What outputs have room for."""
        return cls(None, None if out.quantiles is None else out.quantile_levels, None if out.lower is None else out.level)


NO_SPREAD = Spread()


def of_levels(levels: Any, where: str) -> Spread:
    """Quantiles of these levels, which are checked."""
    return Spread(quantiles=as_levels(levels, where))


def arrays_of(out: Outputs) -> list[Array]:
    """The predictions, the ends of intervals and the quantiles, as far as there are any."""
    return [part for part in (out.predictions, out.lower, out.upper, out.quantiles) if part is not None]


def as_spread(where: str, level: Any = None, quantiles: Levels | None = None) -> Spread:
    """Checks the level of intervals and the levels of quantiles."""
    place = None if level is None else as_level(level, where)
    wanted = None if quantiles is None else as_levels(quantiles, where, "quantiles")
    return Spread(None if level is None else float(level), wanted, place)
