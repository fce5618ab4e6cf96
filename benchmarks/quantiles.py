"""Quantiles: ``python -m benchmarks.quantiles``, on generated streams; with DIR, on the regression files of DIR/INDEX.md.

On generated streams, skewed, discrete and drifting ones, the first table has the share of labels below the quantiles of some
levels, after the first 500 rows: how far it is from the level, over all rows and in the worst window of 2,000 rows. For
discrete labels the deviation is that of the share below or of the share at or below, whichever is smaller.

On files, the second table has the CRPS from 19 quantiles, of rows from 500 on: of Auto; of quantiles of the last 500 errors
of Auto, the same for all rows of a moment; of ridge regression with a normal error, its size that of the last 500 errors;
and of LightGBM, a model for each quantile, refitted every 500 rows on at most the last 5,000, with and without earlier
labels (and the features of the previous row) among its inputs, if it is installed (the environment of
``benchmarks/requirements-lightgbm.txt``). Of each file, at most the first 5,000 rows count (``--rows``). ``--half choosing``
uses every second file, ``--half checking`` the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import NormalDist

import numpy as np

import driftline as dl
from benchmarks.bench_rivals.refitted import MANY, shifted
from benchmarks.data import Array
from benchmarks.intervals_by_group import HALVES, files, read
from benchmarks.report import Cell, Table

LEVELS = np.array([0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
SHOWN = (0.05, 0.5, 0.95)
DENSE = np.arange(1, 20) / 20
ROWS, WINDOW, FIRST, ERRORS, EVERY, FIT_ON = 20_000, 2_000, 500, 500, 500, 5_000
LEARNERS: dict[str, Callable[[], dl.Learner]] = {
    "RLS": lambda: dl.RLS(forgetting=0.999),
    "Kalman": lambda: dl.Kalman(drift=1e-5),
    "Auto": dl.Auto,
}
Stream = tuple[str, Array, Array]


def generated(rng: np.random.Generator) -> Iterator[Stream]:
    t = np.arange(ROWS)
    X = rng.standard_normal((ROWS, 3))
    mean = X @ [0.3, -0.2, 0.1]
    yield "log-normal", X, mean + np.exp(rng.standard_normal(ROWS))
    yield "gamma", X, mean + rng.gamma(0.5, 2.0, ROWS)
    yield "exponential, size in waves", X, mean + np.exp(np.sin(t / 250)) * rng.exponential(size=ROWS)
    yield "exponential, side changes", X, mean + np.where(t // 3000 % 2, 1, -1) * rng.exponential(size=ROWS)
    yield (
        "exponential, weights move",
        X,
        np.sum(X * np.sin(t[:, None] / 900 + [0, 1, 2]), axis=1) + rng.exponential(size=ROWS),
    )
    for size in (1, 2, 5):
        yield f"Poisson, mean {size}", X, rng.poisson(size, ROWS).astype(float)
        yield f"Poisson, about {size}", X, rng.poisson(size * np.exp(mean)).astype(float)
    for share in (0.6, 0.9):
        zeros = rng.random(ROWS) < share
        yield f"{share:.0%} zeros, else Poisson", X, np.where(zeros, 0, rng.poisson(3, ROWS)).astype(float)


def deviations(quantiles: Array, y: Array) -> tuple[Array, Array]:
    """How far the share of labels below each quantile is from its level: over all rows, and in the worst window."""

    def off(under: Array, least: Array) -> Array:
        """0 if the share below is at most the level, and the share at or below at least the level."""
        found: Array = np.maximum(np.maximum(under - LEVELS, LEVELS - least), 0)
        return found

    labels, quantiles = y[FIRST:, None], quantiles[FIRST:]
    below, at_most = labels < quantiles, labels <= quantiles
    sums = [np.vstack([np.zeros(len(LEVELS)), each.cumsum(axis=0)]) for each in (below, at_most)]
    windows = [(each[WINDOW:] - each[:-WINDOW]) / WINDOW for each in sums]
    return off(below.mean(axis=0), at_most.mean(axis=0)), off(*windows).max(axis=0)


def table_of_streams() -> Table:
    lines: list[tuple[Cell, ...]] = []
    for name, X, y in generated(np.random.default_rng(8)):
        for learner, make in LEARNERS.items():
            quantiles = make().run(X, y, quantiles=LEVELS).quantiles
            overall, worst = deviations(quantiles, y)
            shares = [(y[FIRST:] < quantiles[FIRST:, LEVELS.tolist().index(level)]).mean() for level in SHOWN]
            lines.append(
                (name, learner, *(f"{share:.3f}" for share in shares), f"{overall.max():.4f}", f"{worst.max():.3f}")
            )
    header = ("stream", "learner", *(f"below {level}" for level in SHOWN), "largest deviation", "in a window")
    return Table("Shares of labels below the quantiles", header, lines, f"Levels {', '.join(map(str, LEVELS))}.")


def of_recent_errors(predictions: Array, errors: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(errors, ERRORS)[: len(errors) - ERRORS]
    return predictions[ERRORS:, None] + np.quantile(windows, DENSE, axis=1).T


def of_normal_errors(predictions: Array, errors: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(errors, ERRORS)[: len(errors) - ERRORS]
    normal = np.array([NormalDist().inv_cdf(level) for level in DENSE])
    return predictions[ERRORS:, None] + np.sqrt(np.square(windows).mean(axis=1))[:, None] * normal


def with_lags(X: Array, y: Array) -> Array:
    """The features of the row and of the previous one, and earlier labels."""
    before = np.concatenate([X[:1], X[:-1]])
    return np.column_stack([X, before, *(shifted(y, lag) for lag in MANY)])


def of_lightgbm(X: Array, y: Array) -> Array:
    from lightgbm import LGBMRegressor

    found = np.empty((len(y), len(DENSE)))
    for start in range(ERRORS, len(y), EVERY):
        past, rows = slice(max(0, start - FIT_ON), start), slice(start, min(start + EVERY, len(y)))
        for k, level in enumerate(DENSE):
            model = LGBMRegressor(objective="quantile", alpha=level, n_estimators=100, n_jobs=1, verbose=-1, random_state=0)
            found[rows, k] = model.fit(X[past], y[past]).predict(X[rows])
    return np.sort(found[ERRORS:], axis=1)


def scores(X: Array, y: Array, lightgbm: bool) -> dict[str, float]:
    """The mean CRPS of each method from row 500 on."""
    run, ridge = dl.Auto().run(X, y, quantiles=DENSE), dl.Ridge().run(X, y)
    found = {
        "Auto": run.quantiles[ERRORS:],
        "recent errors": of_recent_errors(run.predictions, run.errors),
        "ridge, normal": of_normal_errors(ridge.predictions, ridge.errors),
        **({"LightGBM": of_lightgbm(X, y), "LightGBM, lags": of_lightgbm(with_lags(X, y), y)} if lightgbm else {}),
    }
    return {name: float(dl.evaluate.crps(each, DENSE, y[ERRORS:]).mean()) for name, each in found.items()}


def table_of_files(folder: Path, half: str, rows: int, lightgbm: bool) -> Table:
    lines: list[tuple[Cell, ...]] = []
    ratios: list[list[float]] = []
    names: list[str] = []
    for name in files(folder, half):
        X, y = read(folder, name, rows)
        if len(y) < 3 * ERRORS:
            continue
        found = scores(X, y, lightgbm)
        names = list(found)
        ratios.append([found["Auto"] / found[other] for other in names[1:]])
        lines.append((name, len(y), f"{found['Auto']:.4g}", *(f"{ratio:.3f}" for ratio in ratios[-1])))
        print(*lines[-1], flush=True)
    all_of = np.array(ratios)
    lines.append(("geometric mean", "", "", *(f"{value:.3f}" for value in np.exp(np.log(all_of).mean(axis=0)))))
    lines.append(("files ahead", len(all_of), "", *((all_of < 1).sum(axis=0).tolist())))
    header = ("file", "rows", "CRPS of Auto", *(f"over {other}" for other in names[1:]))
    return Table("CRPS from 19 quantiles", header, lines, "A ratio below 1: Auto is ahead.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "data", type=Path, metavar="DIR", nargs="?", help="a folder of files, with an INDEX.md that lists them"
    )
    parser.add_argument("--rows", type=int, default=5_000, metavar="N", help="use at most the first N rows of each file")
    parser.add_argument("--half", choices=list(HALVES), default="all", help="the files to use")
    options = parser.parse_args()
    if options.data is None:
        print(table_of_streams().text())
    else:
        print(table_of_files(options.data, options.half, options.rows, find_spec("lightgbm") is not None).text())


if __name__ == "__main__":
    main()
