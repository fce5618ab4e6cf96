"""GLM on counts, beside Auto, the same model refitted on windows, and LightGBM's Poisson trees.

    python -m benchmarks.counts [--data FOLDER] [--rows 8000]

A line is a stream: the mean Poisson deviance of each learner over GLM's, from row 1,000 on; predictions below 0.1 count as
0.1. sqrt(Auto) is Transformed(Auto(), "sqrt"). All but Auto, which makes its own, get the logarithms of the labels 1 row,
1 day and 1 week back. Columns of few whole numbers are one-hot for the linear models. The refitted ones learn the last 3,000
rows every 250. LightGBM is left out if it is not installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy import special
from sklearn.linear_model import PoissonRegressor
from sklearn.preprocessing import StandardScaler

import driftline as dl
from benchmarks.data import Array

WARM, EVERY, WINDOW = 1000, 250, 3000
FILES = {  # rows a day
    "retail_orders": 15, "bike_hourly": 24, "seoul_bike": 24, "nyc_taxi": 48, "metro_traffic": 24, "rossmann_20stores": 20,
}  # fmt: skip


def deviance(y: Array, predictions: Array) -> float:
    """The mean Poisson deviance from row WARM on."""
    y, p = y[WARM:], np.maximum(predictions[WARM:], 0.1)
    return float(2 * np.mean(special.xlogy(y, y / p) - (y - p)))


def generated(rows: int) -> Iterator[tuple[str, Array, Array, int]]:
    """Name, rows, counts and rows a day."""
    rng = np.random.default_rng(0)
    for name, step, level in (("slow drift, few", 0.002, 0.0), ("slow drift", 0.002, 2.0), ("fast drift", 0.02, 2.0)):
        X = rng.normal(size=(rows, 5))
        W = 0.3 * rng.normal(size=5) + np.cumsum(step * rng.normal(size=(rows, 5)), axis=0)
        season = 0.5 * np.sin(2 * np.pi * np.arange(rows) / 24)
        hours = np.arange(rows) % 24
        mean = np.exp(np.clip(level + season + np.sum(X * W, axis=1), -20, 8))
        yield name, np.column_stack([hours, X]), rng.poisson(mean).astype(float), 24


def files(folder: Path, rows: int) -> Iterator[tuple[str, Array, Array, int]]:
    """The same of files; labels are rounded to whole numbers."""
    for name, day in FILES.items():
        table = np.genfromtxt(folder / f"{name}.csv.gz", delimiter=",", skip_header=1, max_rows=rows)
        table = table[np.isfinite(table).all(axis=1)]
        yield name, table[:, :-1], np.rint(table[:, -1]), day


def with_lags(X: Array, y: Array, day: int) -> Array:
    """The rows with the logarithms of earlier labels."""
    logs = np.log1p(y)
    lags = [np.append(np.zeros(lag), logs[:-lag]) for lag in (1, day, 7 * day)]
    return np.column_stack([X, *lags])


def one_hot(X: Array) -> Array:
    """Columns of up to 60 whole numbers as indicators; constant ones are dropped."""
    columns: list[Array] = []
    for column in X.T:
        values = np.unique(column)
        if 2 < len(values) <= 60 and (values == np.rint(values)).all():
            columns += [(column == value).astype(float) for value in values[1:]]
        elif len(values) > 1:
            columns.append(column)
    return np.column_stack(columns)


def refitted(fit: Callable[[Array, Array], Callable[[Array], Array]], X: Array, y: Array) -> Array:
    """Predictions of a model that is fitted to the last WINDOW rows every EVERY rows."""
    predictions = np.full(len(y), y[:EVERY].mean())
    for start in range(EVERY, len(y), EVERY):
        first = max(0, start - WINDOW)
        rows = slice(start, start + EVERY)
        predictions[rows] = fit(X[first:start], y[first:start])(X[rows])
    return predictions


def windowed(X: Array, y: Array) -> Callable[[Array], Array]:
    """A Poisson regression by scikit-learn."""
    scaler = StandardScaler().fit(X)
    model = PoissonRegressor(alpha=1e-3, max_iter=300).fit(scaler.transform(X), y)
    return lambda rows: np.asarray(model.predict(np.clip(scaler.transform(rows), -5, 5)))


def boosted(X: Array, y: Array) -> Callable[[Array], Array]:
    """LightGBM with the Poisson objective."""
    import lightgbm

    data = lightgbm.Dataset(X, y, free_raw_data=False)
    options = {"objective": "poisson", "learning_rate": 0.1, "num_leaves": 31, "verbose": -1, "num_threads": 1}
    model = lightgbm.train(options, data, 100)
    return lambda rows: np.asarray(model.predict(rows))


def main() -> None:
    """Prints a line for each stream."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, metavar="FOLDER")
    parser.add_argument("--rows", type=int, default=8000)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    streams = list(generated(given.rows)) + (list(files(given.data, given.rows)) if given.data else [])
    trees = importlib.util.find_spec("lightgbm") is not None
    names = ["refitted", "Auto", "sqrt(Auto)", *(["LightGBM"] if trees else [])]
    print(f"{'':20}{'deviance':>12}{'memory':>10}" + "".join(f"{name:>12}" for name in names))
    for name, X, y, day in streams:
        lagged = with_lags(X, y, day)
        wide = one_hot(lagged)
        found: dict[float, float] = {}
        begun: dict[float, float] = {}
        for forgetting in (1.0, 0.9995, 0.999, 0.998, 0.995):
            model = dl.features.Standardize() | dl.GLM(loss="poisson", forgetting=forgetting)
            run = model.run(wide, y)
            found[forgetting], begun[forgetting] = deviance(y, run.predictions), float(run.losses[100:WARM].mean())
        chosen = min(begun, key=begun.__getitem__)  # by the rows that are not scored
        own = found[chosen]
        others = [deviance(y, refitted(windowed, wide, y))]
        for learner in (dl.Auto(low=0), dl.Transformed(dl.Auto(), "sqrt")):
            others.append(deviance(y, learner.run(X, y).predictions))
        if trees:
            others.append(deviance(y, refitted(boosted, lagged, y)))
        memory = "all" if chosen == 1 else f"{1 / (1 - chosen):.0f}"
        best = min(found.values()) / own
        words = "".join(f"{other / own:12.3f}" for other in others)
        print(f"{name:20}{own:12.3f}{memory:>10}{words}   (best memory in hindsight: {best:.3f})", flush=True)


if __name__ == "__main__":
    main()
