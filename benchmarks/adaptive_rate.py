"""DFOP(forget_rate="adaptive") beside the rate tuned in hindsight, DFOP's default and Auto.

    python -m benchmarks.adaptive_rate [--data FOLDER]

A line has the best of 30 rates, and the squared error of each learner over that of DFOP at this rate. The generated streams
are those of the papers. The folder's INDEX.md lists its files, whose inputs are standardised along the stream.
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

RATES = np.geomspace(0.0003, 0.4, 30)


def generated(rows: int) -> Iterator[tuple[str, Array, Array]]:
    """Name, rows and labels of the papers' streams."""
    for name in ("rotating", "switching"):
        for rate in (0.002, 0.02, 0.1):
            for noise in (0.0, 0.5):
                X, y = dl.streams.make(name, rate=rate, noise=noise, seed=0).take(rows)
                yield f"{name}, rate {rate}, noise {noise}", X, y
    for name in ("hyperplane", "sea", "moving_gaussians"):
        X, y = dl.streams.make(name).take(4 * rows)
        yield name, X, y


def main() -> None:
    """Prints a line for each stream."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, metavar="FOLDER")
    parser.add_argument("--rows", type=int, default=3000)
    given = parser.parse_args()
    warnings.simplefilter("ignore", dl.DriftlineWarning)
    streams = [(*stream, False) for stream in generated(given.rows)]
    if given.data:
        streams += [(*stream, True) for stream in files(given.data, given.rows)]
    print(f"{'':36}{'best rate':>10}{'adaptive':>10}{'0.01':>10}{'Auto':>10}")
    for name, X, y, scaled in streams:

        def loss(learner: dl.Learner, X: Array = X, y: Array = y, scaled: bool = scaled) -> float:
            return float((dl.features.Standardize() | learner if scaled else learner).run(X, y).losses.mean())

        tuned = [loss(dl.DFOP(forget_rate=float(rate))) for rate in RATES]
        others = [loss(learner) / min(tuned) for learner in (dl.DFOP(forget_rate="adaptive"), dl.DFOP(), dl.Auto())]
        words = "".join(f"{ratio:10.3f}" for ratio in others)
        print(f"{name:36}{RATES[int(np.argmin(tuned))]:10.4f}{words}", flush=True)


if __name__ == "__main__":
    main()
