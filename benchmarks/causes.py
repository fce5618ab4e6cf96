"""Whether the causes of changes are right: ``python -m benchmarks.causes DIRECTORY``.

The directory holds streams as ``NAME.csv`` or ``NAME.csv.gz``: numbers, the target last, rows in time order. Each of twelve
mechanisms is injected into each file, at a random row and of a random size; the first event since that row should name it.
Then all files are watched as they are. Needs NumPy, and pandas for reading.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import driftline as dl

Array = npt.NDArray[np.float64]
Rng = np.random.Generator

# File: rows of a day (or of a week, for daily data), rows of an hour, names of columns that tell the time.
FILES = {
    "bike_hourly": (24, 1, ("hr", "weekday")),
    "metro_traffic": (24, 1, ("hour", "weekday")),
    "nyc_taxi": (48, 2, ("hour", "weekday")),
    "etth1": (24, 1, ("hour", "weekday")),
    "seoul_bike": (24, 1, ("Hour", "weekday")),
    "household_power_hourly": (24, 1, ("hour", "weekday")),
    "uk_meter": (24, 1, ("hour", "weekday")),
    "electricity_hourly": (24, 1, ("hour", "weekday")),
    "appliances_energy": (144, 6, ("hour", "weekday")),
    "air_quality": (24, 1, ("hour", "weekday")),
    "pv_power": (96, 4, ("slot",)),
    "wind_turbine": (144, 6, ("hour", "weekday")),
    "sru_y1": (60, 1, ()),
    "nox_zurich": (24, 1, ("hour",)),
}
BEFORE, AFTER = 2000, 300
TUNED, CHECKED = (1, 2), (101, 102)  # seeds for choosing constants, and for the check
QUIET = 2000  # rows for each event that untouched files may have
UNITS = ((1.8, 32.0), (3.6, 0.0), (1000.0, 0.0), (0.01, 0.0), (2.23694, 0.0), (0.3048, 0.0), (1.0, 273.15))


@dataclass(frozen=True)
class Stream:
    """A file, or a part of one."""

    name: str
    names: list[str]
    X: Array
    y: Array

    def part(self, start: int, stop: int) -> Stream:
        """Some of its rows."""
        return Stream(self.name, self.names, self.X[start:stop].copy(), self.y[start:stop].copy())

    @property
    def day(self) -> int:
        """The rows of a day."""
        return FILES[self.name][0]


@dataclass(frozen=True)
class Truth:
    """What was done to a stream: the kinds that describe it, the input, the onset, and the size in words."""

    kinds: tuple[str, ...]
    column: str | None
    row: int
    size: str


def read(path: Path) -> Stream:
    """A file."""
    import pandas as pd

    table = pd.read_csv(path)
    return Stream(
        path.name.split(".")[0],
        list(table.columns[:-1]),
        table.iloc[:, :-1].to_numpy(float),
        table.iloc[:, -1].to_numpy(float),
    )


def is_measured(values: Array) -> bool:
    """Whether a column is a measurement that varies within days, not a code or a flag."""
    steps = np.diff(values)
    return (
        len(np.unique(values)) > 24
        and bool(np.mean(steps != 0) > 0.7)
        and bool(np.std(values[-300:]) > 0.2 * np.std(values))
    )


def measured(stream: Stream, row: int) -> list[int]:
    """The inputs that are measurements."""
    clock = FILES[stream.name][2]
    return [j for j, name in enumerate(stream.names) if name not in clock and is_measured(stream.X[:row, j])]


def effective(stream: Stream, row: int) -> Array:
    """The spread of the labels, and of what a linear model with the last label leaves of them."""
    X, y = stream.X[:row], stream.y[:row]
    design = np.column_stack([np.ones(row - 1), X[1:], y[:-1]])
    left = y[1:] - design @ np.linalg.lstsq(design, y[1:], rcond=None)[0]
    return np.array([y.std(), left.std()])


Mechanism = Callable[[Stream, int, Rng], "Truth | None"]


def either(rng: Rng, low: float, high: float) -> float:
    """A number of either sign whose size is between the two."""
    return float(rng.uniform(low, high) * rng.choice([-1, 1]))


def labels_shifted(stream: Stream, row: int, rng: Rng) -> Truth:
    spread, left = effective(stream, row)
    by = np.sign(either(rng, 1, 2)) * max(rng.uniform(0.8, 2) * spread, 4 * left)
    stream.y[row:] += by
    return Truth(("label_level",), None, row, f"{by:+.3g}")


def labels_scaled(stream: Stream, row: int, rng: Rng) -> Truth:
    factor = float(rng.choice([rng.uniform(0.3, 0.7), rng.uniform(1.5, 3)]))
    stream.y[row:] *= factor
    return Truth(("label_scale",), None, row, f"x {factor:.2f}")


def labels_stuck(stream: Stream, row: int, rng: Rng) -> Truth:
    rows = int(rng.integers(12, 60))
    stream.y[row : row + rows] = stream.y[row - 1]
    return Truth(("label_stuck",), None, row - 1, f"{rows} rows")


def labels_late(stream: Stream, row: int, rng: Rng) -> Truth:
    rows = int(rng.integers(2, 25))
    stream.y[row:] = stream.y[row - rows : -rows].copy()
    return Truth(("label_late",), None, row, f"{rows} rows")


def input_stuck(stream: Stream, row: int, rng: Rng) -> Truth | None:
    if not (known := measured(stream, row)):
        return None
    j, rows = int(rng.choice(known)), int(rng.integers(24, 120))
    stream.X[row : row + rows, j] = stream.X[row - 1, j]
    return Truth(("input_stuck",), stream.names[j], row - 1, f"{rows} rows")


def input_moved(stream: Stream, row: int, rng: Rng) -> Truth | None:
    if not (known := measured(stream, row)):
        return None
    j = int(rng.choice(known))
    by = either(rng, 2, 5) * stream.X[:row, j].std()
    stream.X[row:, j] += by
    return Truth(("input_moved",), stream.names[j], row, f"{by:+.3g}")


def input_units(stream: Stream, row: int, rng: Rng) -> Truth | None:
    if not (known := measured(stream, row)):
        return None
    j, (factor, offset) = int(rng.choice(known)), UNITS[rng.integers(len(UNITS))]
    stream.X[row:, j] = factor * stream.X[row:, j] + offset
    return Truth(("input_units",), stream.names[j], row, f"x {factor:g} + {offset:g}")


def input_missing(stream: Stream, row: int, rng: Rng) -> Truth | None:
    if not (known := measured(stream, row)):
        return None
    j, share = int(rng.choice(known)), rng.uniform(0.3, 1)
    stream.X[row:, j][rng.random(len(stream.y) - row) < share] = np.nan
    stream.X[row, j] = np.nan
    return Truth(("input_missing",), stream.names[j], row, f"{share:.0%}")


def effect_changed(stream: Stream, row: int, rng: Rng) -> Truth | None:
    if not (known := measured(stream, row)):
        return None
    j = int(rng.choice(known))
    spread, left = effective(stream, row)
    x = stream.X[:, j]
    by = either(rng, 1, 2) * max(spread, 3 * left) / x[:row].std()
    stream.y[row:] += by * (x[row:] - x[:row].mean())
    return Truth(("effect_changed",), stream.names[j], row, f"{by:+.3g}")


def noisier(stream: Stream, row: int, rng: Rng) -> Truth:
    _, left = effective(stream, row)
    times = rng.uniform(3, 6)
    stream.y[row:] += times * left * rng.standard_normal(len(stream.y) - row)
    return Truth(("noise",), None, row, f"x {times:.1f}")


def outliers(stream: Stream, row: int, rng: Rng) -> Truth:
    spread, left = effective(stream, row)
    count = int(rng.integers(1, 6))
    rows = np.unique(np.append(row + rng.integers(0, 24, count - 1), row))
    for at in rows:
        stream.y[at] += either(rng, 5, 10) * max(spread, 2 * left)
    return Truth(("outliers",), None, row, f"{len(rows)} rows")


def season_shifted(stream: Stream, row: int, rng: Rng) -> Truth | None:
    _, hour, clock = FILES[stream.name]
    if not clock:
        return None
    rows = hour * int(rng.integers(1, 4))
    stream.y[row:-rows] = stream.y[row + rows :].copy()
    return Truth(("season_shifted",), None, row, f"{rows} rows")


MECHANISMS: dict[str, Mechanism] = {
    "labels shifted": labels_shifted,
    "labels scaled": labels_scaled,
    "labels stuck": labels_stuck,
    "labels late": labels_late,
    "input stuck": input_stuck,
    "input moved": input_moved,
    "input in other units": input_units,
    "input missing": input_missing,
    "effect changed": effect_changed,
    "noise": noisier,
    "outliers": outliers,
    "season shifted": season_shifted,
}
MODELS: dict[str, Callable[[], Any]] = {
    "RLS": lambda: dl.RLS(forgetting=0.998, missing="mean"),
    "Auto": lambda: dl.Auto(missing="mean"),
}


def injected(stream: Stream, inject: Mechanism, seed: int) -> tuple[Stream, Truth] | None:
    """A part of a stream with a change in it."""
    rng = np.random.default_rng([seed, *map(ord, stream.name + inject.__name__)])
    row = int(rng.integers(BEFORE, len(stream.y) - AFTER - 32))
    part = stream.part(row - BEFORE, row + AFTER)
    truth = inject(part, BEFORE, rng)
    return None if truth is None or not np.isfinite(part.y).all() else (part, truth)


def judge(stream: Stream, truth: Truth, model: Any) -> tuple[str, dl.Event | None]:
    """right, wrong, unknown or missed; and the first event since the change."""
    run = model.run(stream.X, stream.y)
    later = [event for event in run.events if event.row >= truth.row - stream.day and event.found >= truth.row - 8]
    if not later:
        return "missed", None
    first = later[0]
    column = None if first.column is None else stream.names[int(first.column)]
    if first.kind in truth.kinds and column == truth.column:
        return "right", first
    return ("unknown" if first.kind == "unknown" else "wrong"), first


def causes(streams: Iterable[Stream], seeds: Iterable[int], model: str, *, verbose: bool) -> None:
    """A table of the mechanisms."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    distances: list[float] = []
    taken_for: dict[str, Counter[str]] = defaultdict(Counter)
    for stream in streams:
        for name, inject in MECHANISMS.items():
            for seed in seeds:
                if (made := injected(stream, inject, seed)) is None:
                    continue
                part, truth = made
                verdict, event = judge(part, truth, MODELS[model]())
                counts[name][verdict] += 1
                if verdict == "wrong" and event is not None:
                    taken_for[name][event.kind] += 1
                if verdict == "right" and event is not None:
                    distances.append(abs(event.row - truth.row) / stream.day)
                if verbose and verdict != "right":
                    print(f"  {stream.name:24} {name:22} {truth.column or '':12} {truth.size:16} {verdict:8} {event}")
    total: Counter[str] = sum(counts.values(), Counter())
    print(f"\n{model}, seeds {list(seeds)}: {total.total()} changes\n")
    print("| mechanism | right | unknown | missed | wrong | taken for |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    for name, found in [*counts.items(), ("all", total)]:
        shares = " | ".join(f"{found[verdict] / found.total():.0%}" for verdict in ("right", "unknown", "missed", "wrong"))
        print(f"| {name} | {shares} | {', '.join(f'{kind} {n}' for kind, n in taken_for[name].most_common())} |")
    if distances:
        print(f"\nOf the right ones, {np.mean(np.array(distances) <= 1):.0%} are dated within a day of the change.")


def untouched(streams: Iterable[Stream], model: str, *, verbose: bool) -> None:
    """A table of the events of files as they are."""
    print(f"\nUntouched files, {model}\n")
    print(f"| file | rows | events | in {QUIET:,} rows | kinds |\n| --- | ---: | ---: | ---: | --- |")
    for stream in streams:
        found = MODELS[model]().run(stream.X, stream.y).events
        rate = len(found) * QUIET / len(stream.y)
        parts = Counter(event.kind for event in found).most_common()
        print(
            f"| {stream.name} | {len(stream.y):,} | {len(found)} | {rate:.2f} | {', '.join(f'{k} {n}' for k, n in parts)} |"
        )
        if verbose:
            for event in found:
                print("   ", event)


def main() -> None:
    """Prints all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--tune", action="store_true", help="the seeds for choosing constants")
    parser.add_argument("--model", choices=MODELS, action="append")
    parser.add_argument("--files", nargs="*", default=list(FILES))
    parser.add_argument("--verbose", action="store_true", help="print what is not right")
    parser.add_argument("--only", choices=("causes", "untouched"))
    options = parser.parse_args()
    paths = [path for path in sorted(options.directory.glob("*.csv*")) if path.name.split(".")[0] in options.files]
    streams = [read(path) for path in paths]
    for model in options.model or MODELS:
        if options.only != "untouched":
            causes(streams, TUNED if options.tune else CHECKED, model, verbose=options.verbose)
        if options.only != "causes":
            untouched(streams, model, verbose=options.verbose)


if __name__ == "__main__":
    main()
