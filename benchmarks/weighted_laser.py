"""WeightedLASER beside LASER and Kalman, on generated streams and on files.

    python -m benchmarks.weighted_laser [--data FOLDER]

Each learner stands behind Standardize, and its drift cost is the best of ten in hindsight for each stream. A line has the
mean squared errors over LASER's. The folder's INDEX.md lists its files, which have their label in the last column.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import driftline as dl
from benchmarks.data import Array

COSTS = (1.5, 2.0, 4.0, 8.0, 20.0, 50.0, 200.0, 1e3, 1e4, 1e6)
WARM = 50
MAKERS: dict[str, Callable[[float], dl.Learner]] = {
    "LASER": lambda cost: dl.LASER(drift_cost=cost),
    "A = 2": lambda cost: dl.WeightedLASER(drift_cost=cost, max_weight=2.0),
    "A = 4": lambda cost: dl.WeightedLASER(drift_cost=cost),
    "A = 10": lambda cost: dl.WeightedLASER(drift_cost=cost, max_weight=10.0),
    "A = 1000": lambda cost: dl.WeightedLASER(drift_cost=cost, max_weight=1000.0),
    "Kalman": lambda cost: dl.Kalman(drift=1 / cost),
}


def generated(rows: int) -> Iterator[tuple[str, Array, Array]]:
    """Weights that walk, with labels around 0 or around 10, and the streams of the papers."""
    rng = np.random.default_rng(0)
    for level in (0, 10):
        for noise in (0.01, 0.3, 1.0, 3.0):
            for step in (0.003, 0.03):
                W = np.cumsum(step * rng.normal(size=(rows, 5)), axis=0) + rng.normal(size=5)
                X = rng.normal(size=(rows, 5))
                yield (
                    f"steps {step}, around {level}, noise {noise}",
                    X,
                    (X * W).sum(1) + level + noise * rng.normal(size=rows),
                )
    for name in ("rotating", "switching"):
        X, y = dl.streams.make(name).take(rows)[:2]
        yield name, X, y


def files(folder: Path, rows: int) -> Iterator[tuple[str, Array, Array]]:
    """The first rows of the regression tasks that the folder's INDEX.md lists, without incomplete rows."""
    for line in (folder / "INDEX.md").read_text().splitlines():
        name, _, task = [part.strip() for part in line.strip("| ").split("|")[:3]] if line.count("|") > 4 else ("", "", "")
        path = folder / f"{name}.csv.gz"
        if task.startswith("regression") and path.exists():
            table = np.genfromtxt(path, delimiter=",", skip_header=1, max_rows=rows)
            table = table[np.isfinite(table).all(axis=1)]
            if table.shape[1] > 1 and len(table) > 500:
                yield name, table[:, :-1], table[:, -1]


def main() -> None:
    """Prints a line for each stream."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, metavar="FOLDER")
    parser.add_argument("--rows", type=int, default=5000)
    given = parser.parse_args()
    streams = list(generated(given.rows)) + (list(files(given.data, given.rows)) if given.data else [])
    print(f"{'':36}" + "".join(f"{name:>10}" for name in list(MAKERS)[1:]))
    wins = dict.fromkeys(MAKERS, 0)
    for name, X, y in streams:
        errors = {}
        for word, make in MAKERS.items():
            runs = [(dl.features.Standardize() | make(cost)).run(X, y) for cost in COSTS]
            errors[word] = min(float(run.losses[WARM:].mean()) for run in runs)
        ratios = {word: error / errors["LASER"] for word, error in errors.items()}
        for word, ratio in ratios.items():
            wins[word] += ratio < 1
        print(f"{name:36}" + "".join(f"{ratio:10.3f}" for word, ratio in ratios.items() if word != "LASER"), flush=True)
    print(f"{'better than LASER, of ' + str(len(streams)):36}" + "".join(f"{wins[word]:10}" for word in list(MAKERS)[1:]))


if __name__ == "__main__":
    main()
