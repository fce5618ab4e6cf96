"""What a replay gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from driftline.alarms import Alarm
from driftline.inputs import Array


@dataclass(frozen=True, eq=False)
class Run:
    """The outcome of predicting, then learning, row by row.

    Attributes:
        predictions: made before the row's label was seen, (T,); NaN where the row was skipped.
        errors: label minus prediction, (T,).
        lower, upper: ends of the intervals, (T,); None where no level was asked for.
        resets: 0-based indices of the rows after which the covariance was reset.
        weights: snapshots of the weights, intercept last, one every ``weights_every`` rows; None where not asked for.
        memory: about how many rows the weights rested on at each snapshot; None where not asked for or not known.
        weights_every: the distance of the snapshots in rows; None where not asked for.
        skipped: rows that were not learned because a value was missing.
    """

    predictions: Array
    errors: Array
    lower: Array | None = None
    upper: Array | None = None
    resets: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    weights: Array | None = None
    memory: Array | None = None
    weights_every: int | None = None
    skipped: int = 0

    @property
    def losses(self) -> Array:
        """Squared errors, (T,)."""
        with np.errstate(over="ignore"):
            return np.square(self.errors)

    @property
    def snapshots(self) -> Array:
        """0-based indices of the rows after which the snapshots were taken."""
        if self.weights_every is None:
            return np.empty(0, dtype=np.int64)
        return np.arange(self.weights_every, len(self) + 1, self.weights_every) - 1

    @cached_property
    def alarms(self) -> Array:
        """0-based indices of the rows on which the errors proved larger than they were: see :class:`driftline.Alarm`."""
        return Alarm().update_many(self.errors)

    def __len__(self) -> int:
        return len(self.predictions)

    def __repr__(self) -> str:
        with np.errstate(over="ignore"):
            mse = np.nanmean(self.losses) if np.isfinite(self.errors).any() else np.nan
        parts = [f"rows={len(self)}", f"mse={mse:.6g}"]
        if self.resets.size:
            parts.append(f"resets={self.resets.size}")
        if self.skipped:
            parts.append(f"skipped={self.skipped}")
        return f"Run({', '.join(parts)})"
