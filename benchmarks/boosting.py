"""Auto compared with boosted trees that are refitted periodically: ``python -m benchmarks.boosting DIR``.

DIR has the files that DIR/INDEX.md lists, and ``rivals.json``: mean squared errors of LightGBM, refitted every 500 and every
100 rows, with immediate labels and with labels 11, 23 and 95 rows late. Its inputs are the best of four choices on the first
tenth. ``--plateaus`` uses generated streams whose labels stay at one level for a while, and compares Auto with the last
value. Needs only driftline.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

import driftline as dl
from benchmarks import auto_streams
from benchmarks.data import Array
from benchmarks.report import Cell, Table
from driftline.delayed.stepper import Stepper

DELAYS = (11, 23, 95)
LEAST = 0.99  # ratio of the rival's error to Auto's below which the rival is ahead


def errors(X: Array, y: Array, rows: int, delay: int) -> Array:
    """Auto's errors on the first rows; labels arrive ``delay`` rows late."""
    table = np.column_stack([X, y])[:rows]
    table = table[np.isfinite(table).all(axis=1)]
    x, labels = np.ascontiguousarray(table[:, :-1]), table[:, -1].copy()
    if delay == 0:
        return np.asarray(dl.Auto().run(x, labels).errors)
    out = Stepper(dl.Auto(), delay).table(x, labels)
    return np.asarray(labels - out.predictions)


def relative_to_auto(figures: dict[str, Any], X: Array, y: Array) -> list[float | str]:
    """LightGBM's squared error relative to Auto's: refitted every 500 and every 100 rows, and with late labels."""
    own = np.mean(np.square(errors(X, y, figures["rows"], 0)[figures["start"] :]))
    line: list[float | str] = [figures["boosting"] / own, figures["boosting_fine"] / own]
    for delay in DELAYS:
        late_figures = figures["horizons"].get(str(delay + 1))
        if late_figures is None:
            line.append("")
        else:
            mse = np.mean(np.square(errors(X, y, late_figures["rows"], delay)[101 + delay :]))
            line.append(late_figures["boosting"] / mse)
    return line


def plateaus(seed: int) -> tuple[Array, Array]:
    """Labels at a few levels, held for varying times, with ramps, noise and rare spikes; the features are irrelevant."""
    rng = np.random.default_rng(seed)
    levels, pieces = rng.normal(size=rng.integers(3, 8)) * 10, []
    while sum(map(len, pieces)) < 4000:
        level = rng.choice(levels)
        ramp = int(rng.integers(0, 6))
        start = pieces[-1][-1] if pieces else level
        pieces.append(np.linspace(start, level, ramp + 1)[1:] if ramp else np.empty(0))
        pieces.append(np.full(int(rng.integers(5, 200)), level))
    y = np.concatenate(pieces)[:4000]
    y = y + 10.0 ** rng.uniform(-3, -0.5) * rng.normal(size=4000)
    y[rng.random(4000) < 0.002] += 30 * rng.normal()
    return rng.normal(size=(4000, 3)), y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", metavar="DIR", help="a folder of files, with INDEX.md and rivals.json")
    parser.add_argument("--plateaus", type=int, default=0, metavar="N", help="number of streams of plateaus to run")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first stream of plateaus")
    options = parser.parse_args()
    rows: list[tuple[Cell, ...]] = []
    for seed in range(options.seed, options.seed + options.plateaus):
        X, y = plateaus(seed)
        last, run = np.square(np.diff(y)), dl.Auto().run(X, y)
        low, high = y.min() - 0.1 * np.ptp(y), y.max() + 0.1 * np.ptp(y)
        outside = int(np.sum((run.predictions < low) | (run.predictions > high)))
        rows.append((seed, run.losses[1:].mean() / last.mean(), outside))
    if rows:
        print(Table("Plateaus", ("seed", "Auto / last value", "predictions outside"), rows).text())
        print(f"median {np.median([row[1] for row in rows]):.3f}, worst {max(row[1] for row in rows):.3f}")
    if options.data is None:
        return
    figures = json.loads((options.data / "rivals.json").read_text())
    lines = [
        (name, *relative_to_auto(figures[name], X, y))
        for name, (X, y) in auto_streams.files(options.data)
        if name in figures
    ]
    header = ("file", "every 500", "every 100", *(f"{delay} late" for delay in DELAYS))
    print(Table("LightGBM's squared error / Auto's", header, lines).text())
    for place, what in enumerate(header[1:], start=1):
        column = [line[place] for line in lines if line[place] != ""]
        ahead_of = [line[0] for line in lines if line[place] != "" and line[place] < LEAST]
        print(f"{what}: LightGBM ahead on {len(ahead_of)} of {len(column)}: {', '.join(map(str, ahead_of))}")


if __name__ == "__main__":
    main()
