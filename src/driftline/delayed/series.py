"""Forecasts from the labels alone, mixed with a learner's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from driftline import _core
from driftline._core import Limits
from driftline.base.levels import labels_needed
from driftline.base.rules import whole
from driftline.errors import ModelFileError
from driftline.tables.inputs import Array

_FIRST_ROWS = 10  # known before errors count, see horizon.hpp
_OWN_ROWS = 1200  # known at the origin from which on only a step's own errors count
EXPERTS = ("learner", "smoothing", "smoothing of logarithms", "theta", "last season")
_SEASON = whole(2, 1000)


class Mixed:
    """Mixed forecasts of rows at steps, and their spread.

    Args:
        said: the learner's forecasts.
        rows: the number of rows known at the origin.
        numbers: the mixtures; the sizes of their errors in units of the learner's; the scales of their errors, by those of
            all steps, 0 where there are none yet; how many labels a scale rests on; and the correlations of the errors with
            those of the step before, from the same origin.
        limits: of the label.
    """

    def __init__(self, said: Array, rows: Array, numbers: Array, limits: Limits) -> None:
        self._said, self._rows, self._numbers, self._limits = said, rows, numbers, limits
        self._middle, self._ratio, self._scale, self._freedom, self.link = numbers
        self.predictions = self._inside(self._middle)

    def first(self) -> Mixed:
        """The forecast of the first row one step ahead."""
        return Mixed(self._said[0, :1], self._rows[0, :1], self._numbers[:, 0, :1], self._limits)

    def ends(self, lower: Array, upper: Array, level: float) -> tuple[Array, Array]:
        """The ends of intervals, from those of the learner."""
        return self._moved(lower, (1 - level) / 2), self._moved(upper, (1 + level) / 2)

    def quantiles(self, found: Array, levels: Array) -> Array:
        """Quantiles, (..., k), from those of the learner."""
        moved = [self._moved(found[..., place], float(level)) for place, level in enumerate(levels)]
        ordered: Array = np.sort(np.stack(moved, axis=-1), axis=-1)
        return ordered

    def _moved(self, found: Array, level: float) -> Array:
        """A quantile: from the spread at all steps while there are few rows, and then from the learner's."""
        off = (found - self._said) * self._ratio
        share = np.clip(self._rows / _OWN_ROWS, 0, 1)
        few = (
            (self._scale > 0)
            & (self._rows - _FIRST_ROWS >= labels_needed(abs(2 * level - 1)))
            & ((share < 1) | ~np.isfinite(off))
        )
        if few.any():
            from scipy.special import stdtrit  # takes a while to import

            shared = self._scale[few] * stdtrit(np.maximum(self._freedom[few], 2), level)
            own = np.where(np.isfinite(off[few]), off[few], shared)
            off[few] = (1 - share[few]) * shared + share[few] * own
        return self._inside(self._middle + off)

    def _inside(self, values: Array) -> Array:
        held: Array = np.clip(values, self._limits.low, self._limits.high) if self._limits.exist else values
        return held


class Series:
    """Mixes a learner's forecasts with those of exponential smoothing, the theta method and the last season, step by step.

    Args:
        steps: the number of steps.
        seasons: the lengths of the seasons in rows; None to find them.
        learner: the learner, whose limits hold for the mixture.
    """

    def __init__(self, steps: int, seasons: Sequence[int] | None, learner: Any) -> None:
        self._learner = learner
        self._rows = 0
        self._core = _core.Horizon(steps, list(seasons or ()))

    @property
    def seasons(self) -> list[int]:
        """The lengths of the seasons that are in use."""
        return list(self._core.seasons)

    def weights(self) -> Array:
        """The weights of the learner and of each expert by step."""
        found: Array = self._core.weights()
        return found

    def learn(self, said: Array, y: Array) -> Mixed:
        """Mixes forecasts of rows, (T, steps), then learns their labels."""
        said = np.ascontiguousarray(said, dtype=np.float64)
        out = np.empty((5, *said.shape))
        rows = self._rows + np.arange(len(y))[:, None] - np.arange(said.shape[1])  # known at the origin
        known = np.where(np.abs(y) <= self._learner._door.largest, y, np.nan)
        self._core.rows(said, np.ascontiguousarray(known, dtype=np.float64), out)
        self._rows += len(y)
        return Mixed(said, rows, out, self._learner._limits)

    def forecast(self, said: Array) -> Mixed:
        """Mixes forecasts of the next rows."""
        said = np.ascontiguousarray(said, dtype=np.float64)
        out = np.empty((5, *said.shape))
        self._core.forecast(said, out)
        return Mixed(said, np.full(len(said), self._rows), out, self._learner._limits)

    def last(self, count: int) -> Array:
        """The last labels, NaN where one is unknown."""
        labels: Array = self._core.labels(count)
        return labels

    def __getstate__(self) -> dict[str, Any]:
        return {**self._core.get_state(), "rows": self._rows}

    def restore(self, state: dict[str, Any]) -> None:
        """Restores a state; raises ModelFileError if it is not one that learning leads to."""
        try:
            self._core.set_state(state)
            self._rows = int(state["rows"])
        except (ValueError, TypeError, KeyError, RuntimeError) as error:
            raise ModelFileError(f"the series' state is invalid: {error}") from None


def as_seasons(seasons: Any) -> list[int] | None:
    """The lengths of at most two seasons in ascending order; None to find them."""
    if seasons is None:
        return None
    given = list(seasons) if isinstance(seasons, (list, tuple, np.ndarray)) else [seasons]
    if not 1 <= len(given) <= 2:
        raise ValueError(f"Forecaster: seasons must be one or two numbers of rows, got {seasons!r}")
    return sorted({_SEASON.require("Forecaster", "seasons", season) for season in given})
