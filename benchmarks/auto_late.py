"""Auto with late labels: ``python -m benchmarks.auto_late DIR``, on the files that DIR/INDEX.md lists.

Labels come ``--delay`` rows late: those of as many rows before a predicted one are missing. The figures are mean squared
errors from row 101 + delay on, divided by Auto's: above 1, Auto is better. The baseline is the best in hindsight of the last
known label and the labels 24, 48 and 168 rows before the predicted row. If DIR has a ``rivals.json`` with the errors of
boosted trees by file and horizon, which is delay + 1, the table shows them too. Needs only driftline.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import driftline as dl
from benchmarks import auto_streams
from benchmarks.data import Array
from benchmarks.report import Cell, Table
from driftline.delayed.stepper import Stepper

SEASONS = (24, 48, 168)


def auto_error(X: Array, y: Array, delay: int) -> float:
    """The mean squared error of Auto."""
    out = Stepper(dl.Auto(), delay).table(X, y)
    return _mean_square(y - out.predictions, delay)


def best_baseline(y: Array, delay: int) -> float:
    """The smallest mean squared error of predictions that use no feature."""
    lags = [delay + 1, *(-(-(delay + 1) // season) * season for season in SEASONS)]
    return min(_mean_square(y - np.concatenate([np.full(lag, y[0]), y[:-lag]]), delay) for lag in lags)


def _mean_square(errors: Array, delay: int) -> float:
    return float(np.mean(np.square(errors[101 + delay :])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DIR", help="a folder of files, with an INDEX.md that lists them")
    parser.add_argument(
        "--delay", type=int, nargs="+", default=[11, 23, 95], metavar="D", help="how many rows late labels come"
    )
    parser.add_argument("--rows", type=int, default=4000, help="rows of each file, unless rivals.json says otherwise")
    options = parser.parse_args()
    known = options.data / "rivals.json"
    rivals = json.loads(known.read_text()) if known.exists() else {}
    lines: list[tuple[Cell, ...]] = []
    for name, (X, y) in auto_streams.files(options.data):
        figures = rivals.get(name, {}).get("horizons", {})
        if len(y) < 1000 or (rivals and not figures):
            continue
        cells: list[Cell] = [name]
        for delay in options.delay:
            rival = figures.get(str(delay + 1), {})
            rows = rival.get("rows", options.rows)
            table = np.column_stack([X, y])[:rows]
            table = table[np.isfinite(table).all(axis=1)]
            labels = table[:, -1].copy()
            error = auto_error(np.ascontiguousarray(table[:, :-1]), labels, delay)
            cells += [best_baseline(labels, delay) / error, rival["boosting"] / error if rival else "-"]
        lines.append(tuple(cells))
    header = ("file", *(f"{what}, {delay} late" for delay in options.delay for what in ("baseline", "trees")))
    print(Table("Mean squared errors relative to Auto's", header, lines).text())


if __name__ == "__main__":
    main()
