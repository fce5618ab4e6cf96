"""Auto where labels arrive late: ``python -m benchmarks.auto_late DIR``, with the files that DIR/INDEX.md lists.

Every row is predicted, and then the label of the row ``--late`` rows before it is learned. The sum of squared errors is
given in units of that of RLS, told of its labels as late. Needs driftline alone.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import driftline as dl
from benchmarks import auto_streams
from benchmarks.data import Array
from benchmarks.report import Cell, Table

FILES = ("nyc_taxi", "etth1", "bike_hourly", "air_quality")


def late_loss(learner: dl.Learner, X: Array, y: Array, late: int) -> float:
    """The sum of squared errors where labels come ``late`` rows after they are due."""
    total = 0.0
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        total += float(label - learner.predict_one(x)) ** 2
        if t >= late:
            learner.learn_one(X[t - late], y[t - late])
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DIR", help="a folder of files, with an INDEX.md that lists them")
    parser.add_argument("--late", type=int, nargs="+", default=[0, 1, 24], metavar="K", help="rows that labels are late")
    parser.add_argument("--rows", type=int, default=4000, help="of each file")
    parser.add_argument("--only", nargs="+", default=FILES, metavar="NAME", help="files")
    options = parser.parse_args()
    rows: list[tuple[Cell, ...]] = []
    for name, (X, y) in auto_streams.files(options.data):
        if name in options.only:
            X, y = X[: options.rows], y[: options.rows]
            losses = [
                [late_loss(learner, X, y, late) for learner in (dl.Auto(), dl.RLS(forgetting=0.999))]
                for late in options.late
            ]
            rows.append((name, *np.divide(*np.transpose(losses))))
    header = ("file", *(f"{late} rows late" for late in options.late))
    print(Table("Auto's loss over that of RLS(forgetting=0.999)", header, rows).text())


if __name__ == "__main__":
    main()
