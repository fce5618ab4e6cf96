"""Intervals of a Forecaster by step: ``python -m benchmarks.intervals_steps [DIR]``, on the files that DIR/INDEX.md lists.

Every row is forecast from each of 24 steps ahead, with all features known ahead. Step k has labels k - 1 rows late. Coverage
is the share of labels inside the finite intervals, overall and in every window of 2,000 rows. Needs only driftline.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

import driftline as dl
from benchmarks import auto_streams
from benchmarks.data import Array
from benchmarks.intervals_late import LEARNERS, LEVELS, OVERALL, WINDOW, generated, in_a_window, parser_of, worst_window
from benchmarks.report import Cell, Table

STEPS = 24
GROUPS = ((1, 1), (2, 6), (7, 12), (13, 18), (19, 24))


@dataclass(frozen=True)
class Figures:
    """One step of a learner's forecasts of a stream, at one level. A stream shorter than the window has no worst window."""

    stream: str
    learner: str
    step: int
    level: float
    deviation: float
    worst_window: float | None


def figures(name: str, learner: str, X: Array, y: Array) -> Iterator[Figures]:
    for level in LEVELS:
        run = dl.Forecaster(LEARNERS[learner](), steps=STEPS).run(X, y, level=level)
        for k in range(STEPS):
            earned = np.isfinite(run.upper[:, k])
            inside = (run.lower[earned, k] <= y[earned]) & (y[earned] <= run.upper[earned, k])
            yield Figures(name, learner, k + 1, level, float(inside.mean() - level), worst_window(inside, level))


def line(first: int, last: int, learner: str, found: list[Figures]) -> tuple[Cell, ...]:
    these = [one for one in found if first <= one.step <= last and learner in ("all", one.learner)]
    overall = max(these, key=lambda one: abs(one.deviation))
    windows = [one for one in these if one.worst_window is not None]
    worst = max(windows, key=lambda one: abs(one.worst_window or 0.0), default=None)
    beyond = sum(abs(one.worst_window or 0.0) > in_a_window(one.step - 1) for one in windows)
    return (
        f"{first}" if first == last else f"{first} to {last}",
        learner,
        f"{sum(abs(one.deviation) > OVERALL for one in these):,} of {len(these):,}",
        f"{100 * overall.deviation:+.1f} ({overall.stream}, {overall.level})",
        f"{beyond:,} of {len(windows):,}",
        "" if worst is None else f"{100 * (worst.worst_window or 0.0):+.1f} ({worst.stream}, {worst.level})",
    )


def table(found: list[Figures], title: str) -> Table:
    learners = [*dict.fromkeys(one.learner for one in found), "all"]
    rows = [line(first, last, learner, found) for first, last in GROUPS for learner in learners]
    header = ("step", "learner", "off by > 2 points", "worst", "a window off by > 3 points", "worst window")
    return Table(title, header, rows, f"Deviations in points. Windows of {WINDOW:,} rows.")


def main() -> None:
    options = parser_of(__doc__).parse_args()
    source = generated(options.seed) if options.data is None else auto_streams.files(options.data)
    found = [
        one
        for name, (X, y) in source
        if len(y[: options.rows]) >= 20 * STEPS
        for learner in options.learners
        for one in figures(name, learner, X[: options.rows], y[: options.rows])
    ]
    print(table(found, "Generated streams" if options.data is None else "Files").text())
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(one) for one in found], indent=1))


if __name__ == "__main__":
    main()
