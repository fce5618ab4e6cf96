"""A generated stream: a town's hourly demand for heat, whose causes change."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from driftline.storage import atomic
from driftline.tables.inputs import Array

ROWS = 8_760  # a year of hours
NEW_PIPES, NEW_DISTRICT = 3_600, 6_000  # the rows of two abrupt changes


def smooth_noise(rng: np.random.Generator, rows: int, keep: float) -> Array:
    """Autoregressive noise of variance 1."""
    steps = rng.standard_normal(rows) * np.sqrt(1 - keep**2)
    values = np.empty(rows)
    level = 0.0
    for row, step in enumerate(steps.tolist()):
        level = keep * level + step
        values[row] = level
    return values


def make(rows: int = ROWS, seed: int = 7) -> dict[str, Array]:
    """Columns by name, the target last.

    Colder air and stronger wind raise the demand, high prices lower it. Houses are insulated over the year, so the effect
    of the cold shrinks. At one row new pipes remove the effect of the wind, and at another more houses are connected,
    which scales up everything.
    """
    rng = np.random.default_rng(seed)
    hour = np.arange(rows)
    day, year = 2 * np.pi * hour / 24, 2 * np.pi * hour / 8_760
    temperature = 9 - 9 * np.cos(year) - 3 * np.cos(day) + 3 * smooth_noise(rng, rows, 0.98)
    wind = 5 + 2.5 * smooth_noise(rng, rows, 0.95)
    price = 80 + 20 * smooth_noise(rng, rows, 0.9)
    cold = np.maximum(20 - temperature, 0)
    insulated = 3.0 - 1.5 * hour / 8_760
    draughty = np.where(hour < NEW_PIPES, 4.0, 0.5)
    houses = np.where(hour < NEW_DISTRICT, 1.0, 2.2)
    demand = houses * (60 + insulated * cold + draughty * wind - 0.25 * price + 3 * smooth_noise(rng, rows, 0.5))
    return {
        "time": np.datetime64("2025-01-01T00:00") + hour * np.timedelta64(1, "h"),
        "temperature": temperature.round(2),
        "wind": np.maximum(wind, 0).round(2),
        "price": price.round(1),
        "demand": demand.round(2),
    }


def expected(hours: int, rows: int = ROWS) -> dict[str, Array]:
    """Columns by name for the hours after the stream, without the target: the weather and prices of a day before."""
    columns = make(rows)
    del columns["demand"]
    coming = {name: values[-24:][:hours] for name, values in columns.items()}
    return coming | {"time": coming["time"] + np.timedelta64(24, "h")}


def write(path: Path, columns: dict[str, Array]) -> None:
    """Writes columns as a CSV file; raises FileExistsError rather than overwrite a file with other columns."""
    texts = [[name, *values.astype(str).tolist()] for name, values in columns.items()]
    text = io.StringIO(newline="")
    csv.writer(text).writerows(zip(*texts, strict=True))
    data = text.getvalue().encode()
    header = data[: data.index(b"\n") + 1]
    if path.exists() and not path.read_bytes().startswith(header):
        raise FileExistsError(f"{path}: is not the demo's stream and will not be overwritten. Give another folder")
    atomic.write(path, data)
