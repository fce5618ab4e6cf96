"""River's regressors beside Auto on files, each row given as it is and with scaled inputs and the last two labels.

``python -m benchmarks.auto_peers DIR`` in the peers' environment; DIR/INDEX.md lists the files. The first 1,000 rows of
each count, or ``--rows``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import driftline as dl
from benchmarks import auto_streams
from benchmarks.data import Array
from benchmarks.hindsight import online, with_lags
from benchmarks.report import Cell, Table


def peers() -> dict[str, Callable[[], Any]]:
    from river import forest, linear_model, tree

    return {
        "ARFRegressor": lambda: forest.ARFRegressor(seed=1),
        "HoeffdingAdaptiveTreeRegressor": lambda: tree.HoeffdingAdaptiveTreeRegressor(seed=1),
        "LinearRegression": linear_model.LinearRegression,
        "BayesianLinearRegression": linear_model.BayesianLinearRegression,
    }


def loss_of(model: Any, X: Array, y: Array) -> float:
    """Predict, then learn; infinite where predictions stop being finite."""
    names = [f"x{j}" for j in range(X.shape[1])]
    total = 0.0
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(zip(names, row, strict=True))
        try:
            error = float(model.predict_one(x) or 0.0) - label
            model.learn_one(x, label)
        except (OverflowError, ValueError, ZeroDivisionError, np.linalg.LinAlgError):
            return np.inf
        total += error * error
        if not np.isfinite(total):
            return np.inf
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=1000)
    options = parser.parse_args()
    lines: list[tuple[Cell, ...]] = []
    for name, (X, y) in auto_streams.files(options.folder):
        X, y = X[: options.rows], y[: options.rows]
        ours = float(dl.Auto().run(X, y).losses.sum())
        scaled = online(with_lags(X, y))
        ratios = [min(loss_of(make(), X, y), loss_of(make(), scaled, y)) / ours for make in peers().values()]
        lines.append((name, *ratios))
        print(name, *(f"{ratio:.3g}" for ratio in ratios), flush=True)
    lines.append(("median", *np.median([line[1:] for line in lines], axis=0).tolist()))
    title = "Loss / Auto's loss: the better of rows as they are, and scaled with two labels"
    print(Table(title, ("file", *peers()), lines).text())


if __name__ == "__main__":
    main()
