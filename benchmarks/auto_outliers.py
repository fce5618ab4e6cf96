"""Auto after one outlying label on a stationary stream, compared with RLS and with Auto without that label.

``python -m benchmarks.auto_outliers``: Gaussian inputs, fixed weights, 1,500 rows; the label of row 1,000 is shifted by
several standard deviations of the labels. The squared errors on the following rows count. Needs only driftline.
"""

from __future__ import annotations

import argparse

import numpy as np

import driftline as dl
from benchmarks.data import Array
from benchmarks.report import Cell, Table

ROWS, STRUCK = 1500, 1000
SIZES, DIMENSIONS, NOISES = (8.0, 20.0, 50.0, 2000.0), (1, 3, 8, 20), (0.1, 1.0)


def later_loss(learner: dl.Learner, X: Array, y: Array) -> float:
    return float(learner.run(X, y).losses[STRUCK + 1 :].sum())


def ratios(size: float, seeds: int) -> Array:
    """(streams, 2): Auto's loss relative to that of RLS, and to its own without the outlier."""
    found = []
    for d in DIMENSIONS:
        for noise in NOISES:
            for seed in range(seeds):
                rng = np.random.default_rng((d, seed))
                X = rng.standard_normal((ROWS, d))
                quiet = X @ rng.standard_normal(d) + noise * rng.standard_normal(ROWS)
                struck = quiet.copy()
                struck[STRUCK] += size * quiet.std() * (-1) ** seed
                loss = later_loss(dl.Auto(), X, struck)
                found.append((loss / later_loss(dl.RLS(), X, struck), loss / later_loss(dl.Auto(), X, quiet)))
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8, help="streams for each dimension and noise")
    seeds = parser.parse_args().seeds
    rows: list[tuple[Cell, ...]] = []
    for size in SIZES:
        found = ratios(size, seeds)
        rows.append((f"{size:g} deviations", *np.concatenate([np.median(found, axis=0), found.max(axis=0)])[[0, 2, 1, 3]]))
    header = ("label moved by", "over RLS: median", "worst", "over no outlier: median", "worst")
    print(Table(f"Auto after one outlier, {len(found)} streams", header, rows).text())


if __name__ == "__main__":
    main()
