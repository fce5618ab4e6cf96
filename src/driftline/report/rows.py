"""A block of rows in the report: which rows count, what is summed, and what is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from driftline.base.run import Run
from driftline.evaluate.baselines import BASELINES, LastValue
from driftline.evaluate.metrics import MAE, MSE, Coverage, OfBaseline, ScoredRows, columns_of
from driftline.report.pyramid import MERGES, Merge
from driftline.report.recent import COLUMNS
from driftline.tables.inputs import Array

MEASURED = (MSE(), *(OfBaseline(MSE(), name) for name in BASELINES), MAE(), Coverage())
PLACES = 40  # bins of the range from one interval width below to one above
SUMS = (
    "rows",
    "labels",  # rows whose label is known
    "counted",  # rows whose error counts: they have a label and a prediction, and an earlier label was known
    "early",  # rows before the first known label
    "predicted",
    "y",
    "prediction",
    "squared",  # errors, and those of the baselines
    *(f"squared {name}" for name in BASELINES),
    "absolute",
    "judged",  # rows with an interval and a label
    "inside finite",
    "bounded",  # rows with a finite interval, once a label was known
    "lower",
    "upper",
    "resets",
    "alarms",
)
SAMPLED = ("lot", *COLUMNS[1:])  # the row that drew the smallest number, its lot, is the bucket's sample
FIELDS: dict[str, Merge] = {
    **dict.fromkeys(SUMS, MERGES["sum"]),
    "y_low": MERGES["low"],
    "y_high": MERGES["high"],
    "sample": MERGES["sample"],  # a row taken at random, in SAMPLED
    "start": MERGES["first"],
    "end": MERGES["last"],
}


@dataclass(frozen=True)
class RunRows:
    """Rows of a run with their labels.

    Attributes:
        run: the run of these rows.
        predictions, errors: those of the run, as float64.
        y: labels, NaN where one is missing.
        moments: places on the axis; None if rows are numbered.
        baselines: predictions of the simple baselines.
        start: number of the first row.
    """

    run: Run
    predictions: Array
    errors: Array
    y: Array
    moments: Array | None
    baselines: dict[str, Array]
    start: int

    @cached_property
    def informed(self) -> Array:
        """Whether a label was known before the row; earlier rows do not count."""
        return np.isfinite(self.baselines[LastValue.name])

    @cached_property
    def counted(self) -> Array:
        """Whether the row's error counts."""
        return self.informed & np.isfinite(self.errors)

    @cached_property
    def predicted(self) -> Array:
        """Whether the row's prediction is shown."""
        return self.informed & np.isfinite(self.predictions)

    @cached_property
    def bounded(self) -> Array:
        """Whether the row has a finite interval."""
        if self.run.lower is None or self.run.upper is None:
            return np.zeros(len(self.y), dtype=bool)
        return self.informed & np.isfinite(self.run.lower) & np.isfinite(self.run.upper)

    @cached_property
    def ends(self) -> tuple[Array, Array]:
        """The bounds of the intervals; NaN for rows without one."""
        if self.run.lower is None or self.run.upper is None:
            return np.full(len(self.y), np.nan), np.full(len(self.y), np.nan)
        return np.where(self.bounded, self.run.lower, np.nan), np.where(self.bounded, self.run.upper, np.nan)

    @cached_property
    def at(self) -> Array:
        """Places on the axis."""
        return self.start + np.arange(float(len(self.y))) if self.moments is None else self.moments

    def shown(self) -> Array:
        """The rows in ``COLUMNS``."""
        labels, said = np.where(np.isfinite(self.y), self.y, np.nan), np.where(self.predicted, self.predictions, np.nan)
        return np.column_stack([self.at, labels, said, *self.ends])

    def items(self) -> dict[str, Array]:
        """The values of a bucket of one row, without the alarms."""
        y, labels, (lower, upper) = self.y, np.isfinite(self.y), self.ends
        shown = self.shown()
        scored = ScoredRows(y, self.predictions, lower, upper, baselines=self.baselines)
        with np.errstate(over="ignore", invalid="ignore"):
            measured = columns_of(MEASURED, scored)
            items = {
                **{name: np.where(self.counted, column, 0.0) for name, column in measured.items()},
                "rows": np.ones(len(y)),
                "labels": labels.astype(np.float64),
                "counted": self.counted.astype(np.float64),
                "early": (~self.informed).astype(np.float64),
                "predicted": self.predicted.astype(np.float64),
                "y": np.where(labels, y, 0.0),
                "prediction": np.where(self.predicted, self.predictions, 0.0),
                "bounded": self.bounded.astype(np.float64),
                "lower": np.where(self.bounded, lower, 0.0),
                "upper": np.where(self.bounded, upper, 0.0),
                "resets": marks(self.run.resets, len(y)),
                "y_low": shown[:, 1],
            }
        items["y_high"] = items["y_low"]
        items["sample"] = np.column_stack([self._lots(), shown[:, 1:]])
        items["start"] = items["end"] = self.at
        return items

    def _lots(self) -> Array:
        """Pseudorandom numbers in [0, 1) that depend only on a row's number; 2 for rows that are not drawn."""
        numbers = np.arange(self.start + 1, self.start + 1 + len(self.y), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # of SplitMix64
            numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
        lots = (numbers >> np.uint64(11)) * 2.0**-53
        return np.where(self.predicted & np.isfinite(self.y), lots, 2.0)

    def places_of_labels(self) -> Array:
        """The number of labels in each bin of the range from one interval width below their interval to one above."""
        judged, (lower, upper) = self.bounded & self.counted, self.ends
        low, high, label = lower[judged], upper[judged], self.y[judged]
        width = high - low
        place = np.where(width > 0, (label - low) / np.where(width > 0, width, 1.0), np.where(label < low, -1.0, 2.0))
        place = np.where((width <= 0) & (label == low), 0.5, place)
        slot = np.clip(np.floor((place + 1.0) * PLACES), 0, 3 * PLACES - 1).astype(np.int64)
        return np.bincount(slot, minlength=3 * PLACES)


def marks(rows: Array, count: int) -> Array:
    """How often each of ``count`` rows is among those given."""
    return np.bincount(np.asarray(rows, dtype=np.int64), minlength=count).astype(np.float64)
