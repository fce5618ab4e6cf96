"""Intervals and quantiles for predictions that have none, from the errors that they made lately."""

from __future__ import annotations

import numpy as np

from driftline.base.levels import Spread
from driftline.evaluate.baselines import LateLabels
from driftline.evaluate.metrics import Predicted
from driftline.storage.resumable import Resumable
from driftline.tables.inputs import Array

WINDOW = 500  # errors
EVERY = 20  # errors between two renewals


class RecentErrors(Resumable):
    """Predictions plus the empirical quantiles of their last 500 known errors, renewed every 20 errors, at first every one.

    Args:
        spread: the level of the intervals and those of the quantiles.
        delay: how many rows late labels arrive.

    >>> around = RecentErrors(Spread(quantiles=np.array([0.5])))
    >>> around.of(np.array([np.nan, 1.0, 1.0, 2.0]), np.array([1.0, 3.0, 4.0, 0.0])).quantiles.ravel().tolist()
    [nan, nan, 3.0, 4.5]
    """

    _fields = ("late", "errors", "count", "newest")

    def __init__(self, spread: Spread, delay: int = 0) -> None:
        self.spread = spread
        ends = [] if spread.level is None else [(1 - spread.level) / 2, (1 + spread.level) / 2]
        self.levels = np.array([*ends, *(() if spread.quantiles is None else spread.quantiles)])
        self.late = LateLabels(delay)  # of errors
        self.errors = np.empty(0)  # the last ones
        self.count = 0  # of known errors
        self.newest = np.full(len(self.levels), np.nan)  # their quantiles, as last renewed

    def of(self, predictions: Array, y: Array) -> Predicted:
        """The predictions of rows with labels ``y``, with intervals and quantiles; NaN while no error is known."""
        with np.errstate(over="ignore", invalid="ignore"):
            errors, before = self.late.arrived(y - predictions)
            found = predictions[:, None] + self._after(errors)[before]
        lower, upper, quantiles = self.spread.columns(found)
        return Predicted(predictions, lower, upper, quantiles)

    def _after(self, errors: Array) -> Array:
        """The quantiles before the first of these errors is known, and after each."""
        known = np.isfinite(errors)
        held, first = len(self.errors), self.count
        all_errors = np.append(self.errors, errors[known])
        counts = first + np.arange(1, len(all_errors) - held + 1)
        renewed = counts[(counts % EVERY == 0) | (counts <= EVERY)]
        table = np.vstack([self.newest, self._quantiles(all_errors, renewed - first + held, np.minimum(renewed, WINDOW))])
        self.errors, self.count, self.newest = all_errors[-WINDOW:], int(first + len(counts)), table[-1]
        known_after = np.append(first, first + np.cumsum(known))
        after: Array = table[np.searchsorted(renewed, known_after, side="right")]
        return after

    def _quantiles(self, errors: Array, ends: Array, sizes: Array) -> Array:
        """The quantiles of the ``sizes`` errors before each of some ``ends``, interpolated linearly."""
        found = np.empty((len(ends), len(self.levels)))
        padded = np.append(np.full(WINDOW, np.inf), errors)  # a shorter window is filled up at its far end
        windows = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)
        for start in range(0, len(ends), 256):
            some = slice(start, start + 256)
            ordered = np.sort(np.where(np.arange(WINDOW) >= WINDOW - sizes[some, None], windows[ends[some]], np.inf), axis=1)
            place = self.levels * (sizes[some, None] - 1)
            below = np.floor(place).astype(np.int64)
            above = np.minimum(below + 1, sizes[some, None] - 1)
            low, high = (np.take_along_axis(ordered, at, axis=1) for at in (below, above))
            found[some] = low + (place - below) * (high - low)
        return found
