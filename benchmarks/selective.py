"""Selective with 20 % of the labels, beside labels chosen at random or at regular intervals.

    python -m benchmarks.selective [--data FOLDER]

A line is a stream: the mean squared error on all rows from row 500 on, over that with 40 % of the labels, chosen at random.
The learner is RLS(forgetting=0.99); the inputs of files are standardised. Means of two seeds for the random ones.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import driftline as dl
from benchmarks.data import Array
from benchmarks.weighted_laser import files

WARM = 500


def generated(rows: int) -> Iterator[tuple[str, Array, Array]]:
    """Weights that stand still, walk or jump, with noise 0.3."""
    rng = np.random.default_rng(0)
    for name, step in (("fixed weights", 0.0), ("slow walk", 0.003), ("fast walk", 0.03)):
        W = np.cumsum(step * rng.normal(size=(rows, 6)), axis=0) + rng.normal(size=6)
        X = rng.normal(size=(rows, 6))
        yield name, X, np.sum(X * W, axis=1) + 0.3 * rng.normal(size=rows)
    for every in (2000, 1000, 300):
        W = np.repeat(rng.normal(size=(rows // every + 1, 6)), every, axis=0)[:rows]
        X = rng.normal(size=(rows, 6))
        yield f"jumps every {every} rows", X, np.sum(X * W, axis=1) + 0.3 * rng.normal(size=rows)


def main() -> None:
    """Prints a line for each stream."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, metavar="FOLDER")
    parser.add_argument("--rows", type=int, default=6000)
    given = parser.parse_args()
    warnings.simplefilter("ignore", dl.DriftlineWarning)
    streams = [(*stream, False) for stream in generated(given.rows)]
    if given.data:
        streams += [(*stream, True) for stream in files(given.data, given.rows) if len(stream[2]) > 2 * WARM]
    names = ("all labels", "random 20 %", "regular 20 %", "Selective", "its share")
    print(f"{'':28}" + "".join(f"{name:>14}" for name in names))
    wins = 0
    for name, X, y, scaled in streams:
        rows = _scaled(X) if scaled else X
        first = np.arange(len(y)) < 20

        def loss(mask: Array, rows: Array = rows, y: Array = y) -> float:
            run = dl.RLS(forgetting=0.99).run(rows, y, sample_weight=mask.astype(float))
            return float(run.losses[WARM:].mean())

        chance = [np.random.default_rng(seed).random(len(y)) for seed in (0, 1)]
        base = np.mean([loss((part < 0.4) | first) for part in chance])
        own = dl.Selective(dl.RLS(forgetting=0.99), budget=0.2).run(rows, y)
        found = [
            loss(np.ones(len(y))),
            np.mean([loss((part < 0.2) | first) for part in chance]),
            loss((np.arange(len(y)) % 5 == 0) | first),
            own.losses[WARM:].mean(),
        ]
        wins += own.losses[WARM:].mean() < base
        words = "".join(f"{value / base:14.3f}" for value in found)
        print(f"{name:28}{words}{own.wanted.mean():14.3f}", flush=True)
    print(f"Selective is better than 40 % at random on {wins} of {len(streams)}")


def _scaled(X: Array) -> Array:
    """Columns standardised over the first WARM rows, and clipped at 10 deviations."""
    size = X[:WARM].std(axis=0)
    return np.clip((X - X[:WARM].mean(axis=0)) / np.where(size > 0, size, 1.0), -10, 10)


if __name__ == "__main__":
    main()
