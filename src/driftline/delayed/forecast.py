"""Forecasts, and their errors over a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftline.tables.inputs import Array


@dataclass(frozen=True, eq=False)
class Forecast:
    """A forecast of the next rows.

    Attributes:
        predictions: (n,), the next row first.
        lower, upper: ends of the intervals, (n,); infinite at steps that have not seen enough labels yet.
        level: the level of the intervals.
    """

    predictions: Array
    lower: Array
    upper: Array
    level: float

    def __len__(self) -> int:
        return len(self.predictions)


@dataclass(frozen=True, eq=False)
class ForecastRun:
    """Forecasts of each row from several rows before it, and their errors.

    Attributes:
        predictions: ``predictions[t, k - 1]`` is the forecast of row t, made when the labels through row t - k were known;
            NaN if the model for that step had not learned a label yet, or if the row was skipped.
        errors: label minus prediction.
        lower, upper: ends of the intervals; None if no level was given.
        level: the level of the intervals; None if not given.
        uninformed: the number of rows before each step had learned a label, (steps,). They do not count.
    """

    predictions: Array
    errors: Array
    lower: Array | None
    upper: Array | None
    level: float | None
    uninformed: Array

    @property
    def losses(self) -> Array:
        """Squared errors, (T, steps)."""
        with np.errstate(over="ignore"):
            return np.square(self.errors)

    @property
    def mse(self) -> Array:
        """The mean squared error at each step, (steps,)."""
        return _mean(self.losses)

    @property
    def coverage(self) -> Array | None:
        """The share of labels inside their interval at each step, over the rows whose interval is finite."""
        if self.lower is None or self.upper is None:
            return None
        inside = (self.errors >= self.lower - self.predictions) & (self.errors <= self.upper - self.predictions)
        return _mean(np.where(np.isfinite(self.errors) & np.isfinite(self.upper - self.lower), inside, np.nan))

    def __len__(self) -> int:
        return len(self.predictions)

    def __repr__(self) -> str:
        rows, steps = self.predictions.shape
        return f"ForecastRun(rows={rows}, steps={steps}, mse={self.mse[0]:.6g} to {self.mse[-1]:.6g})"


def _mean(values: Array) -> Array:
    known = np.isfinite(values)
    counts = known.sum(axis=0)
    with np.errstate(invalid="ignore"):
        means: Array = np.where(counts, np.where(known, values, 0.0).sum(axis=0) / counts, np.nan)
    return means
