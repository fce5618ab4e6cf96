"""Panels for ``benchmarks.pooled``: rows of several keys by day, whose keys enter over time."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.data import Array

# The column of each file that becomes the key. On the first half, the rule and its constants were chosen.
CHOSEN_ON = {
    "rossmann_20stores": "store",
    "wikipedia_10pages": "page",
    "chick_weights": "chick",
    "seoul_bike": "Hour",
    "bike_hourly": "hr",
}
CHECK = {
    "household_power_hourly": "hour",
    "metro_traffic": "hour",
    "air_quality": "hour",
    "electricity_hourly": "hour",
    "retail_orders": "hour",
}
GENERATED = ("nothing in common", "everything in common", "groups")
THERE_FROM_THE_START = 0.25  # a share of the keys; the others enter in the first 70 % of the days


class Panel(NamedTuple):
    """Rows in order of their days; a key has at most one row a day."""

    keys: Array
    X: Array
    y: Array
    days: Array


def of_file(folder: Path, name: str, most_days: int) -> Panel:
    """The rows of the first days of a file, from the day on which their key enters; weekdays are seven features."""
    with gzip.open(folder / f"{name}.csv.gz", "rt", encoding="utf-8") as file:
        header, *lines = csv.reader(file)
    table = np.array(lines, dtype=np.float64)
    place = header.index((CHOSEN_ON | CHECK)[name])
    keys = np.floor(table[:, place]).astype(np.int64)
    others = [j for j in range(table.shape[1] - 1) if j != place]
    X = table[:, others]
    if "weekday" in header[:-1]:
        weekday = others.index(header.index("weekday"))
        X = np.column_stack([np.delete(X, weekday, 1), np.eye(7)[X[:, weekday].astype(np.int64) % 7]])
    days = table[:, header.index("time")].astype(np.int64) if name == "chick_weights" else _days_of(keys)
    kept = np.isfinite(table).all(axis=1) & (days < most_days)
    return _entering(Panel(keys[kept], X[kept], table[kept, -1], days[kept]))


def generated(kind: str, days: int, keys: int = 60) -> Panel:
    """Keys whose weights and levels have nothing, everything, or those of four groups in common."""
    rng = np.random.default_rng(GENERATED.index(kind))
    if kind == "nothing in common":
        weights, levels = 2 * rng.standard_normal((keys, 3)), 3 * rng.standard_normal(keys)
    elif kind == "everything in common":
        weights, levels = np.tile(rng.standard_normal(3), (keys, 1)), np.zeros(keys)
    else:
        group = rng.integers(0, 4, keys)
        weights = rng.standard_normal((4, 3))[group] + 0.1 * rng.standard_normal((keys, 3))
        levels = 3 * rng.standard_normal(4)[group]
    which, X = np.tile(np.arange(keys), days), rng.standard_normal((keys * days, 3))
    y = np.sum(X * weights[which], axis=1) + levels[which] + 0.5 * rng.standard_normal(len(X))
    return _entering(Panel(which, X, y, np.repeat(np.arange(days), keys)))


def _days_of(keys: Array) -> Array:
    """A new day begins with the first key that comes again."""
    days, met, day = np.empty(len(keys), dtype=np.int64), set(), 0
    for row, key in enumerate(keys.tolist()):
        if key in met:
            day, met = day + 1, set()
        met.add(key)
        days[row] = day
    return days


def _entering(panel: Panel) -> Panel:
    rng = np.random.default_rng(1)
    keys = np.unique(panel.keys)
    latest = int(0.7 * panel.days.max())
    enters = np.where(rng.random(len(keys)) < THERE_FROM_THE_START, 0, rng.integers(0, latest, len(keys)))
    there = panel.days >= enters[np.searchsorted(keys, panel.keys)]
    return Panel(*(part[there] for part in panel))
