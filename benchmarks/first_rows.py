"""Auto's first rows: ``python -m benchmarks.first_rows DIR``, on the files that DIR/INDEX.md lists.

Prints Auto's squared error on rows 1 to 50 and 50 to 200 (from the second row on), relative to that of the last value and to
that of the mean of all labels so far. Above 1, these are better. The rule of cpp/include/driftline/ensembles/first_rows.hpp
was chosen on every second file, marked "chosen on"; the others are the check. Its constants are among those that
make no file of either half worse by more than half a per cent, as a whole.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import driftline as dl
from benchmarks import auto_streams
from benchmarks.data import Array
from benchmarks.report import Cell, Table

SPANS = (slice(1, 50), slice(50, 200))
AHEAD = 1.05  # Auto's error relative to a baseline's, above which the baseline is ahead
HALVES = ("chosen on", "check")
COLUMNS = ("half", *(f"{what}, {span.start}-{span.stop}" for what in ("last value", "mean") for span in SPANS))


def ratios(X: Array, y: Array) -> list[float]:
    """Auto's squared error relative to that of the last value, and of the mean, in each span."""
    table = np.column_stack([X, y])
    table = table[np.isfinite(table).all(axis=1)][: SPANS[-1].stop]
    y = table[:, -1].copy()
    errors = dl.Auto().run(np.ascontiguousarray(table[:, :-1]), y).errors
    before = np.append(0.0, y[:-1])
    means = np.append(0.0, np.cumsum(y)[:-1] / np.arange(1, len(y)))
    return [
        float(np.mean(errors[span] ** 2) / np.mean((y[span] - baseline[span]) ** 2))
        for baseline in (before, means)
        for span in SPANS
        if len(y) > span.start
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DIR", help="a folder of files, with an INDEX.md that lists them")
    options = parser.parse_args()
    lines: list[tuple[Cell, ...]] = [
        (name, HALVES[place % 2], *ratios(X, y)) for place, (name, (X, y)) in enumerate(auto_streams.files(options.data))
    ]
    print(Table("Auto's squared error / a baseline's", ("file", *COLUMNS), lines).text())
    for half in HALVES:
        for column, what in enumerate(COLUMNS[1:], start=2):
            found = [float(line[column]) for line in lines if line[1] == half]
            print(f"{half}: {what}: ahead by more than 5 % on {sum(one > AHEAD for one in found)} of {len(found)} files")


if __name__ == "__main__":
    main()
