"""How well the predictions do, beside two baselines that need no model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftline.tables.inputs import Array

SUMS = (
    "rows",
    "scored",
    "early",  # rows with a label and a prediction, and no label that was known before
    "squares",
    "absolutes",
    "shifts",
    "spreads",
    "last_squares",
    "mean_squares",
    "inside",
    "bounded",  # rows with a finite interval
)


class Score:
    """Sums over the rows whose label is known, the same to the last bit however the rows were cut into blocks.

    The baselines predict the last label that is known, and the mean of those that are. No row counts before there is one.

    Args:
        delay: labels arrive so many rows late, for the baselines too.
    """

    def __init__(self, delay: int = 0) -> None:
        self.sums = dict.fromkeys(SUMS, 0.0)
        self.origin: float | None = None  # the first label, from which the others are counted
        lag = delay + 1
        self.lasts, self.means = np.full(lag, np.nan), np.full(lag, np.nan)  # as they were after each of the last rows
        self.total, self.known = 0.0, 0.0

    def add(self, predictions: Array, y: Array, lower: Array | None = None, upper: Array | None = None) -> None:
        """Takes some rows in."""
        sums = self.sums
        sums["rows"] += len(y)
        last, mean = self._baselines(y)
        good = ~np.isnan(y) & ~np.isnan(predictions)
        early = good & np.isnan(last)
        sums["early"] += int(early.sum())
        good &= ~early
        if not good.all():
            y, predictions, last, mean = y[good], predictions[good], last[good], mean[good]
            lower, upper = (None, None) if lower is None or upper is None else (lower[good], upper[good])
        if not len(y):
            return
        if self.origin is None:
            self.origin = float(y[0])
        with np.errstate(over="ignore", invalid="ignore"):
            errors, shifted = y - predictions, y - self.origin
            self._count("squares", errors**2)
            self._count("absolutes", np.abs(errors))
            self._count("shifts", shifted)
            self._count("spreads", shifted**2)
            self._count("last_squares", (y - last) ** 2)
            self._count("mean_squares", (y - mean) ** 2)
        sums["scored"] += len(y)
        if lower is not None and upper is not None:
            bounded = np.isfinite(lower) & np.isfinite(upper)
            sums["inside"] += int((bounded & (lower <= y) & (y <= upper)).sum())
            sums["bounded"] += int(bounded.sum())

    def _count(self, name: str, values: Array) -> None:
        self.sums[name] = _added(self.sums[name], values)[-1].item()

    def _baselines(self, y: Array) -> tuple[Array, Array]:
        """The last known label and the mean of the known ones, for each row, as its prediction could use them."""
        known = ~np.isnan(y)
        place = np.maximum.accumulate(np.where(known, np.arange(len(y)), -1))
        lasts = np.append(self.lasts, np.where(place >= 0, y[place], self.lasts[-1]))
        sums, counts = _added(self.total, np.where(known, y, 0.0)), _added(self.known, known)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            means = np.append(self.means, sums[1:] / counts[1:])
        self.total, self.known = sums[-1].item(), counts[-1].item()
        lag = len(self.lasts)
        self.lasts, self.means = lasts[-lag:], means[-lag:]
        return lasts[: len(y)], means[: len(y)]

    def figures(self) -> dict[str, float | None]:
        """The figures of a summary, by name; None where there is nothing to measure."""
        sums, n = self.sums, self.sums["scored"]
        if not n:
            return dict.fromkeys(("rmse", "mae", "r2", "last_value_rmse", "running_mean_rmse", "coverage"))
        spread = sums["spreads"] - sums["shifts"] * sums["shifts"] / n  # infinite, or NaN, where a power would raise
        return {
            "rmse": math.sqrt(sums["squares"] / n),
            "mae": sums["absolutes"] / n,
            "r2": 1 - sums["squares"] / spread if spread > 0 and math.isfinite(spread) else None,
            "last_value_rmse": math.sqrt(sums["last_squares"] / n),
            "running_mean_rmse": math.sqrt(sums["mean_squares"] / n),
            "coverage": sums["inside"] / sums["bounded"] if sums["bounded"] else None,
        }

    def state(self) -> dict[str, Any]:
        """What is known: plain numbers."""
        plain = {name: repr(value) for name, value in self.sums.items()}  # as text, for some may be infinite
        more = {"total": repr(self.total), "known": repr(self.known), "origin": repr(self.origin)}
        return plain | more

    def arrays(self) -> dict[str, Array]:
        """What is known: the labels on their way."""
        return {"lasts": self.lasts, "means": self.means}

    def restore(self, state: dict[str, Any], arrays: dict[str, Array]) -> None:
        """Back to what was known."""
        self.sums = {name: float(state[name]) for name in SUMS}
        self.total, self.known = float(state["total"]), float(state["known"])
        self.origin = None if state["origin"] == "None" else float(state["origin"])
        self.lasts, self.means = arrays["lasts"].copy(), arrays["means"].copy()


def _added(start: float, values: Array) -> Array:
    """Running sums, one value after the other."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.cumsum(np.append(start, values))


def lower_by(value: float | None, other: float | None) -> str:
    """How an error compares with a baseline's, in words.

    >>> lower_by(8.0, 10.0), lower_by(12.0, 10.0), lower_by(10.0, 10.0)
    ('20 % below', '20 % above', 'the same as')
    """
    if value is None or not other or not math.isfinite(value) or not math.isfinite(other):
        return ""
    percent = round(100 * (1 - value / other), 1 if abs(1 - value / other) < 0.1 else 0)
    if percent == 0:
        return "the same as"
    return f"{abs(percent):g} % {'below' if percent > 0 else 'above'}"
