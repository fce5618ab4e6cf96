"""Forecasts of many series, one a key: ``python -m benchmarks.forecasts_many [--series N]``.

Needs the packages of ``requirements-forecasts.txt``: ``make .venv-forecasts/ready``. Monthly sales of shops that share their
season and part of their trend, with levels and noise of their own. Each has 60 months; the last 12 are forecast once.
Prints how many series each method forecasts a second of processor time, its errors in units of those of the last season, and
its interval scores. A Forecaster of each series takes all of them, the slower methods the first few. The two fleets learn
all of these together, month by month.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.data import Array
from benchmarks.report import Cell, Table

ROWS, STEPS, SEASON, LEVEL, FEW = 60, 12, 12, 0.9, 50


def make(series: int, seed: int = 0) -> Array:
    """Sales by series and month."""
    rng = np.random.default_rng(seed)
    month = np.arange(ROWS)
    season = 0.25 * np.sin(2 * np.pi * (month + 2) / SEASON) + 0.15 * (month % SEASON == 11)
    growth = np.cumsum(0.02 * rng.standard_normal(ROWS))
    own = np.cumsum(0.03 * rng.standard_normal((series, ROWS)), axis=1)
    level, strength = rng.normal(5, 1, (series, 1)), rng.uniform(0.5, 1.5, (series, 1))
    return np.exp(level + strength * season + growth + own + 0.08 * rng.standard_normal((series, ROWS)))


def by_fleet(y: Array, pooled: bool) -> Array:
    """Predictions and ends of intervals, (series, 3, steps): one fleet of regressions on earlier labels, in logarithms."""
    import driftline as dl
    from driftline.features import Lags

    learner = dl.Transformed(Lags(y=[1, 2, SEASON], x=0) | dl.Ridge(), "log")
    fleet = dl.FleetForecaster(dl.Fleet(learner, pooled=pooled), STEPS)
    shops = np.arange(len(y))
    for column in y[:, :-STEPS].T:
        fleet.run(shops, np.zeros((len(y), 1)), column)
    found = [fleet.forecast(shop, np.zeros((STEPS, 1)), level=LEVEL) for shop in shops.tolist()]
    return np.array([[one.predictions, one.lower, one.upper] for one in found])


def by_forecaster(y: Array) -> Array:
    import driftline as dl

    found = [dl.Forecaster(dl.Auto(), STEPS).fit(one[:-STEPS]).forecast(level=LEVEL) for one in y]
    return np.array([[one.predictions, one.lower, one.upper] for one in found])


def by_statsforecast(y: Array, model: Callable[..., Any]) -> Array:
    said = [model(season_length=SEASON).forecast(y=one[:-STEPS], h=STEPS, level=[round(100 * LEVEL)]) for one in y]
    names = ("mean", f"lo-{100 * LEVEL:.0f}", f"hi-{100 * LEVEL:.0f}")
    return np.array([[one[name] for name in names] for one in said])


def row(name: str, y: Array, method: Callable[[Array], Array]) -> tuple[Cell, ...]:
    begin = time.process_time()
    said = method(y)
    seconds = time.process_time() - begin
    actual, last_season = y[:, -STEPS:], y[:, -2 * STEPS : -STEPS]
    error = np.abs(actual - said[:, 0]).mean(axis=1) / np.abs(actual - last_season).mean(axis=1)
    lower, upper = said[:, 1], said[:, 2]
    miss = np.maximum(lower - actual, 0) + np.maximum(actual - upper, 0)
    score = (upper - lower + 2 / (1 - LEVEL) * miss).mean(axis=1) / np.abs(actual - last_season).mean(axis=1)
    inside = ((lower <= actual) & (actual <= upper)).mean()
    return name, len(y), f"{len(y) / seconds:.3g}", float(np.median(error)), float(np.median(score)), f"{inside:.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=2_000, metavar="N", help="2,000 by default")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    from statsforecast.models import AutoETS, AutoTheta, SeasonalNaive

    y = make(options.series)
    few = y[:FEW]
    rows = [
        row("Forecaster(Auto()) of each", y, by_forecaster),
        row("the same", few, by_forecaster),
        row("FleetForecaster of Ridge on lags, pooled", few, lambda y: by_fleet(y, True)),
        row("the same, not pooled", few, lambda y: by_fleet(y, False)),
    ]
    for model in (AutoETS, AutoTheta, SeasonalNaive):
        rows.append(row(model.__name__, few, lambda y, model=model: by_statsforecast(y, model)))
    header = ["", "series", "a second", "error", "interval score", "coverage"]
    note = "\n\nError and interval score: medians over the series, in units of the mean error of the last season."
    print(Table(f"Forecasts of {options.series:,} series, {STEPS} months ahead", header, rows).text() + note)


if __name__ == "__main__":
    main()
