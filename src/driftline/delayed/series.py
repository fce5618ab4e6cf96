"""Forecasts from the labels alone, mixed with a learner's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from driftline import _core
from driftline.base.rules import whole
from driftline.errors import ModelFileError
from driftline.tables.inputs import Array

EXPERTS = ("learner", "smoothing", "smoothing of logarithms", "theta", "last season")
_SEASON = whole(2, 1000)


class Series:
    """Mixes a learner's forecasts with those of exponential smoothing, the theta method and the last season, step by step.

    Args:
        steps: the number of steps.
        seasons: the lengths of the seasons in rows; None to find them.
        learner: the learner, whose limits hold for the mixture.
    """

    def __init__(self, steps: int, seasons: Sequence[int] | None, learner: Any) -> None:
        self._learner = learner
        self._core = _core.Horizon(steps, list(seasons or ()))

    @property
    def seasons(self) -> list[int]:
        """The lengths of the seasons that are in use."""
        return list(self._core.seasons)

    def weights(self) -> Array:
        """The weights of the learner and of each expert by step."""
        found: Array = self._core.weights()
        return found

    def learn(self, said: Array, y: Array) -> tuple[Array, Array]:
        """Mixes forecasts of rows, (T, steps), then learns their labels.

        Returns the mixtures, and the sizes of their errors in units of the learner's.
        """
        said = np.ascontiguousarray(said, dtype=np.float64)
        mixed, ratio = np.empty_like(said), np.empty_like(said)
        known = np.where(np.abs(y) <= self._learner._door.largest, y, np.nan)
        self._core.rows(said, np.ascontiguousarray(known, dtype=np.float64), mixed, ratio)
        return self._inside(mixed), ratio

    def forecast(self, said: Array) -> tuple[Array, Array]:
        """Mixes forecasts of the next rows."""
        said = np.ascontiguousarray(said, dtype=np.float64)
        mixed, ratio = np.empty_like(said), np.empty_like(said)
        self._core.forecast(said, mixed, ratio)
        return self._inside(mixed), ratio

    def move(self, ends: Array, said: Array, mixed: Array, ratio: Array) -> Array:
        """Ends of intervals, or quantiles, around the mixture rather than the learner's forecast."""
        return self._inside(mixed + (ends - said) * ratio)

    def _inside(self, values: Array) -> Array:
        limits = self._learner._limits
        held: Array = np.clip(values, limits.low, limits.high) if limits.exist else values
        return held

    def __getstate__(self) -> dict[str, Any]:
        found: dict[str, Any] = self._core.get_state()
        return found

    def restore(self, state: dict[str, Any]) -> None:
        """Restores a state; raises ModelFileError if it is not one that learning leads to."""
        try:
            self._core.set_state(state)
        except (ValueError, TypeError, RuntimeError) as error:
            raise ModelFileError(f"the series' state is invalid: {error}") from None


def as_seasons(seasons: Any) -> list[int] | None:
    """The lengths of at most two seasons in ascending order; None to find them."""
    if seasons is None:
        return None
    given = list(seasons) if isinstance(seasons, (list, tuple, np.ndarray)) else [seasons]
    if not 1 <= len(given) <= 2:
        raise ValueError(f"Forecaster: seasons must be one or two numbers of rows, got {seasons!r}")
    return sorted({_SEASON.require("Forecaster", "seasons", season) for season in given})
