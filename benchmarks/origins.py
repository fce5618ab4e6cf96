"""Forecasts of a CSV file by the command line from several origins: ``python -m benchmarks.origins FILE TARGET``.

At each origin, ``driftline run --steps --state --resume`` learns the rows since the previous origin, and ``driftline
forecast`` predicts the next rows. The errors over all origins are compared with those of the labels a day and a week before.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.data import Array
from benchmarks.report import Cell, Table

PARTS = 6  # groups of steps, one line each


def forecast_at(origin: int, lines: list[str], options: argparse.Namespace, folder: Path) -> list[list[float]]:
    """The predictions and both bounds of their intervals, step by step."""
    past, future, state, out = (folder / name for name in ("past.csv", "future.csv", "model.drift", "out.csv"))
    past.write_text("".join(lines[: 1 + origin]))
    future.write_text("".join([lines[0], *lines[1 + origin : 1 + origin + options.steps]]))
    learning = ["run", past, "--target", options.target, "--steps", options.steps, "--state", state, "--resume"]
    for arguments in (learning, ["forecast", state, future, "--level", 0.9, "--out", out]):
        subprocess.run([sys.executable, "-m", "driftline", *map(str, arguments), "--quiet"], check=True)
    with out.open() as source:
        return [[float(row[name]) for name in ("prediction", "lower", "upper")] for row in csv.DictReader(source)]


def labels_ago(y: Array, origins: Array, steps: int, back: int) -> Array:
    """For each origin and step, the label ``back`` rows before, or the next multiple of it that was known at the origin."""
    step = np.arange(steps)
    return y[origins[:, None] + step - (step // back + 1) * back]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("target")
    parser.add_argument("--steps", type=int, default=48)
    parser.add_argument("--day", type=int, default=48, metavar="ROWS", help="rows in a day")
    parser.add_argument("--origins", type=int, default=10, help="number of origins, spread over the second half of the file")
    options = parser.parse_args()
    with gzip.open(options.file, "rt") if options.file.suffix == ".gz" else options.file.open() as source:
        lines = source.readlines()
    y = np.array([float(row[options.target]) for row in csv.DictReader(lines)])
    origins = np.linspace(len(y) // 2, len(y) - options.steps, options.origins, dtype=int)
    with tempfile.TemporaryDirectory() as folder:
        said = np.array([forecast_at(int(origin), lines, options, Path(folder)) for origin in origins])
    came = y[origins[:, None] + np.arange(options.steps)]
    rivals = [labels_ago(y, origins, options.steps, back) for back in (options.day, 7 * options.day)]
    inside = (said[..., 1] <= came) & (came <= said[..., 2])
    rows: list[tuple[Cell, ...]] = []
    for part in [*np.array_split(np.arange(options.steps), PARTS), np.arange(options.steps)]:
        errors = [float(np.sqrt(np.mean((found - came)[:, part] ** 2))) for found in (said[..., 0], *rivals)]
        rows.append((f"{part[0] + 1} to {part[-1] + 1}", *errors, f"{100 * inside[:, part].mean():.1f} %"))
    header = ["steps", "error (RMSE)", "a day before", "a week before", "in their intervals"]
    title = f"{options.file.name} from rows {', '.join(map(str, origins))}"
    print(Table(title, header, rows).text())


if __name__ == "__main__":
    main()
