"""Intervals for groups of rows: ``python -m benchmarks.intervals_by_group DIR``, on the regression files of DIR/INDEX.md.

Auto's intervals are compared with intervals of one width for all rows of a moment, tracked around the same predictions:
those that a learner without features gives Auto's errors. A group consists of at least 200 rows: a tenth of the predictions,
or a value of a feature with 3 to 31 values. Of each file, at most the first 20,000 rows are used (``--rows``), and only
those with a finite interval count.

With ``--late K``, labels arrive K rows late, and the score is also compared with that of a rolling quantile of the last 500
known errors. ``--half choosing`` uses every second file, ``--half checking`` the others. Needs only driftline.
"""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import driftline as dl
from benchmarks.auto_streams import Rows
from benchmarks.data import Array
from benchmarks.report import Cell, Table

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
SHOWN = 0.9
WINDOW, LEAST_GROUP, TENTHS, MOST_VALUES = 500, 200, 10, 31
Indices = NDArray[np.intp]
HALVES = {"all": slice(None), "choosing": slice(0, None, 2), "checking": slice(1, None, 2)}


@dataclass(frozen=True)
class Widths:
    """Half the width of every interval, by level and row."""

    half: Array

    def score(self, error: Array, level: float, rows: Array) -> float:
        half = self.half[LEVELS.index(level)][rows]
        return float(dl.evaluate.interval_score(-half, half, error[rows], level).mean())

    def inside(self, error: Array, level: float) -> Array:
        return np.asarray(np.abs(error) <= self.half[LEVELS.index(level)])


@dataclass(frozen=True)
class Stream:
    name: str
    predictions: Array
    errors: Array
    groups: list[Indices]
    auto: Widths
    one_width: Widths
    rolling: Widths

    def finite(self, level: float) -> Array:
        """The rows that have both intervals."""
        k = LEVELS.index(level)
        return np.asarray(np.isfinite(self.auto.half[k]) & np.isfinite(self.one_width.half[k]) & (self.rolling.half[k] > 0))

    def ratio(self, level: float, than: Widths) -> float:
        rows = self.finite(level)
        return self.auto.score(self.errors, level, rows) / than.score(self.errors, level, rows)

    def coverage(self, widths: Widths, level: float) -> float:
        return float(widths.inside(self.errors, level)[self.finite(level)].mean())

    def worst_group(self, widths: Widths, level: float) -> float:
        inside, finite = widths.inside(self.errors, level), self.finite(level)
        rows = [group[finite[group]] for group in self.groups]
        return min((float(inside[group].mean()) for group in rows if len(group) >= LEAST_GROUP), default=np.nan)

    def line(self) -> tuple[Cell, ...]:
        figures = [self.ratio(SHOWN, self.one_width)]
        for widths in (self.one_width, self.auto):
            figures += [self.coverage(widths, SHOWN), self.worst_group(widths, SHOWN)]
        return (self.name, len(self.errors), *(f"{figure:.3f}" for figure in (*figures, self.ratio(SHOWN, self.rolling))))


def files(folder: Path, half: str) -> list[str]:
    """Names of the regression files that the folder's INDEX.md lists, in their order."""
    names = []
    for line in (folder / "INDEX.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        classes = len(cells) > 4 and (cells[3].startswith("classification") or cells[4] == "taps")
        if len(cells) > 4 and not classes and (folder / f"{cells[1]}.csv.gz").exists():
            names.append(cells[1])
    return names[HALVES[half]]


def read(folder: Path, name: str, rows: int) -> Rows:
    table = np.loadtxt(folder / f"{name}.csv.gz", delimiter=",", skiprows=1, ndmin=2, max_rows=rows)
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].copy()


def predicted(model: dl.Learner, X: Array, y: Array, late: int) -> tuple[Array, Widths]:
    """Predictions and intervals at all levels; labels arrive ``late`` rows after they are due."""
    predictions, half, waiting = np.empty(len(y)), np.empty((len(LEVELS), len(y))), deque[dl.Ticket]()
    for t, x in enumerate(X):
        ticket = model.ask(x, delay=late)
        predictions[t] = ticket.prediction
        for k, level in enumerate(LEVELS):
            lower, upper = ticket.interval(level)
            half[k, t] = (upper - lower) / 2
        waiting.append(ticket)
        if t >= late:
            model.tell(waiting.popleft(), y[t - late])
    return predictions, Widths(half)


def rolling_quantiles(errors: Array, late: int) -> Widths:
    """Quantiles of the last 500 absolute errors that are known; 0 for the rows before."""
    half = np.zeros((len(LEVELS), len(errors)))
    first = WINDOW + late
    if len(errors) > first:
        windows = np.lib.stride_tricks.sliding_window_view(np.abs(errors), WINDOW)[: len(errors) - first]
        half[:, first:] = np.quantile(windows, LEVELS, axis=1)
    return Widths(half)


def groups_of(X: Array, predictions: Array) -> Iterator[Indices]:
    edges = np.quantile(predictions, np.arange(1, TENTHS) / TENTHS)
    places = np.searchsorted(edges, predictions)
    for tenth in range(TENTHS):
        yield np.flatnonzero(places == tenth)
    for column in X.T:
        values = np.unique(column)
        if 3 <= len(values) <= MOST_VALUES:
            for value in values:
                yield np.flatnonzero(column == value)


def measured(name: str, X: Array, y: Array, late: int) -> Stream:
    predictions, auto = predicted(dl.Auto(), X, y, late)
    errors = y - predictions
    _, one_width = predicted(dl.LMS(intercept=False), np.zeros((len(y), 1)), errors, late)
    rolling = rolling_quantiles(errors, late) if late > 0 else Widths(np.ones_like(auto.half))
    return Stream(name, predictions, errors, list(groups_of(X, predictions)), auto, one_width, rolling)


def summary(streams: list[Stream], level: float) -> tuple[Cell, ...]:
    ratios = np.array([one.ratio(level, one.one_width) for one in streams])
    off = max((one.coverage(one.auto, level) - level for one in streams), key=abs)
    worst = np.array([one.worst_group(one.auto, level) for one in streams])
    rolling = np.array([one.ratio(level, one.rolling) for one in streams])
    cells = [np.exp(np.log(ratios).mean()), ratios.max(), 100 * off, np.nanmedian(worst), np.nanquantile(worst, 0.1)]
    return (level, *(f"{cell:.3f}" for cell in [*cells, np.median(rolling), rolling.max()]))


def table_of_files(streams: list[Stream], late: int) -> Table:
    header = ["file", "rows", "score / one width", "one width: inside", "worst group", "Auto: inside", "worst group"]
    header += ["score / rolling quantile"] if late else []
    return Table(f"Intervals at {SHOWN}", header, [one.line()[: len(header)] for one in streams])


def table_of_levels(streams: list[Stream], late: int) -> Table:
    header = ["level", "score / one width: mean", "worst", "largest deviation, points", "worst group: median", "1 in 10"]
    header += ["score / rolling quantile: median", "worst"] if late else []
    note = "Means of ratios are geometric. In one file of ten, the worst group is at most that in the column 1 in 10."
    return Table("All levels", header, [summary(streams, level)[: len(header)] for level in LEVELS], note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DIR", help="a folder of files, with an INDEX.md that lists them")
    parser.add_argument("--half", choices=list(HALVES), default="all", help="the files to use")
    parser.add_argument("--rows", type=int, default=20_000, metavar="N", help="use at most the first N rows of each file")
    parser.add_argument("--late", type=int, default=0, metavar="K", help="delay of the labels, in rows")
    options = parser.parse_args()
    streams = []
    for name in files(options.data, options.half):
        X, y = read(options.data, name, options.rows)
        if len(y) >= max(WINDOW, 20 * options.late):
            streams.append(measured(name, X, y, options.late))
    print(table_of_files(streams, options.late).text())
    print(table_of_levels(streams, options.late).text())


if __name__ == "__main__":
    main()
