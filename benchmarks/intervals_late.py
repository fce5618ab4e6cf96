"""Intervals with late labels: ``python -m benchmarks.intervals_late [DIR]``, on the files that DIR/INDEX.md lists.

Every row is predicted by ``ask``, and its label arrives ``--late`` rows later. Only rows with a finite interval count.
Coverage is the share of labels inside the interval. Winkler's interval score is the mean of the width plus 2 / (1 - level)
times the distance of a label outside. A file is used if it has at least 20 times as many rows as the delay.

For delays of 96 rows or more, the table also has an oracle. Its intervals are quantiles of the learner's own errors in a
window of one delay around the newest known label; half of these errors belong to labels that have not arrived.

A surprise is a case beyond its limit that no method could have avoided: within one delay, before the first label shows the
change, the misses already exceed the limit for a whole window. Needs only driftline.
"""

from __future__ import annotations

import argparse
import json
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import driftline as dl
from benchmarks import auto_streams
from benchmarks.auto_streams import Rows
from benchmarks.data import Array
from benchmarks.report import Cell, Table

LEVELS = (0.8, 0.9, 0.95)
LATE = (1, 12, 24, 96, 200)
WINDOW, D = 2000, 5
OVERALL = 0.02
LATE_FOR_ORACLE = 96
LEARNERS = {"RLS": dl.RLS, "Kalman": dl.Kalman, "Auto": dl.Auto}


def in_a_window(late: int) -> float:
    """The limit on the deviation of coverage in a window of 2,000 rows, with room for rounding."""
    return (0.03 if late <= 24 else 0.05) + 1e-9


@dataclass(frozen=True)
class Figures:
    """One learner on one stream, at one delay and level. A stream shorter than the window has no worst window."""

    stream: str
    learner: str
    late: int
    level: float
    rows: int
    deviation: float
    worst_window: float | None
    oracle_window: float | None
    surprise: float  # the most excess misses within one delay, as a share of a window
    winkler: float
    width: float


def generated(seed: int, rows: int = 20_000) -> Iterator[tuple[str, Rows]]:
    rng = np.random.default_rng(seed)
    t = np.arange(rows)

    def stream(weights: Array, noise: Array, shift: Array | float = 0.0) -> Rows:
        X = rng.standard_normal((rows, D))
        return X, (X * weights).sum(axis=1) + shift + noise

    def walk(step: float) -> Array:
        return rng.standard_normal(D) + np.cumsum(step * rng.standard_normal((rows, D)), axis=0)

    gauss, fixed = rng.standard_normal((6, rows)), rng.standard_normal(D)
    season = 3 * np.sin(2 * np.pi * t / 24) + 2 * np.sin(2 * np.pi * t / 168)
    yield "stationary", stream(fixed, gauss[0])
    yield "random walk", stream(walk(0.03), 0.5 * gauss[1])
    yield "jumps", stream(np.repeat(rng.standard_normal((rows // 1000, D)), 1000, axis=0), 0.3 * gauss[2])
    yield "seasons", stream(fixed, 0.5 * gauss[3], season)
    yield "heavy tails", stream(walk(0.01), rng.standard_t(2, rows))
    yield "size in waves", stream(fixed, np.exp(1.5 * np.sin(t / 400)) * gauss[4])
    yield "size jumps", stream(fixed, np.where(t // 1500 % 2, 3.0, 1.0) * gauss[5])


def worst_window(inside: Array, level: float) -> float | None:
    """The largest deviation of the coverage in a window."""
    if len(inside) < WINDOW:
        return None
    windows = np.convolve(inside, np.ones(WINDOW), mode="valid") / WINDOW - level
    return float(windows[np.abs(windows).argmax()])


def surprise(inside: Array, level: float, late: int) -> float:
    """The largest number of misses above the expected number within one delay, as a share of a window."""
    excess = np.cumsum(np.append(0.0, level - inside))
    return float((excess[late:] - excess[: len(excess) - late]).max(initial=0.0)) / WINDOW


def oracle(sizes: Array, late: int) -> Array:
    """For each level, which errors the oracle's intervals would have covered."""
    around = np.lib.stride_tricks.sliding_window_view(sizes, late)[: -1 - (late + 1) // 2]
    halves = np.quantile(
        around, LEVELS, axis=1, method="weibull"
    )  # covers a share `level` of further such errors on average
    return sizes[-halves.shape[1] :] <= halves


def figures(name: str, learner: str, X: Array, y: Array, late: int) -> Iterator[Figures]:
    model, waiting = LEARNERS[learner](), deque[dl.Ticket]()
    errors, halves = np.empty(len(y)), np.empty((len(LEVELS), len(y)))
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        ticket = model.ask(x, delay=late)
        errors[t] = label - ticket.prediction
        for k, level in enumerate(LEVELS):
            halves[k, t] = ticket.interval(level)[1] - ticket.prediction
        waiting.append(ticket)
        if t >= late:
            model.tell(waiting.popleft(), y[t - late])
    ideal = oracle(np.abs(errors), late) if late >= LATE_FOR_ORACLE else [np.empty(0)] * len(LEVELS)
    for level, half, seen in zip(LEVELS, halves, ideal, strict=True):
        earned = np.isfinite(half)
        error, width = np.abs(errors[earned]), 2 * half[earned]
        inside = error <= half[earned]
        yield Figures(
            name,
            learner,
            late,
            level,
            len(inside),
            float(inside.mean() - level),
            worst_window(inside, level),
            worst_window(seen, level),
            surprise(inside, level, late),
            float(np.mean(width + 2 / (1 - level) * np.maximum(0, error - width / 2))),
            float(width.mean()),
        )


def line(late: int, learner: str, these: list[Figures]) -> tuple[Cell, ...]:
    """A line of the table: the figures of one learner, or of all, at one delay."""
    overall = max(these, key=lambda one: abs(one.deviation))
    windowed = [one for one in these if one.worst_window is not None]
    worst = max(windowed, key=lambda one: abs(one.worst_window or 0.0), default=None)

    surprised = sum(
        abs(one.worst_window or 0.0) > in_a_window(late) and one.surprise > in_a_window(late) for one in windowed
    )

    def beyond(windows: list[float | None]) -> str:
        known = [window for window in windows if window is not None]
        return f"{sum(abs(window) > in_a_window(late) for window in known)} of {len(known)}" if known else ""

    return (
        late,
        learner,
        f"{sum(abs(one.deviation) > OVERALL for one in these)} of {len(these)}",
        f"{100 * overall.deviation:+.1f} ({overall.stream}, {overall.level})",
        beyond([one.worst_window for one in windowed]),
        surprised if windowed else "",
        "" if worst is None else f"{100 * (worst.worst_window or 0.0):+.1f} ({worst.stream}, {worst.level})",
        beyond([one.oracle_window for one in windowed]),
    )


def table(found: list[Figures], title: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for late in sorted({one.late for one in found}):
        at = [one for one in found if one.late == late]
        for learner in LEARNERS:
            if these := [one for one in at if one.learner == learner]:
                rows.append(line(late, learner, these))
        rows.append(line(late, "all", at))
    header = (
        "rows late",
        "learner",
        "off by > 2 points",
        "worst",
        "a window beyond its limit",
        "surprises",
        "worst window",
        "oracle",
    )
    return Table(title, header, rows, f"Deviations in points. Windows of {WINDOW:,} rows: 3 points up to 24 late, then 5.")


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """The options of both benchmarks of intervals."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "data", type=Path, nargs="?", metavar="DIR", help="a folder of files, with an INDEX.md that lists them"
    )
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS), choices=list(LEARNERS), metavar="NAME")
    parser.add_argument("--rows", type=int, metavar="N", help="use at most the first N rows of each stream")
    parser.add_argument("--seed", type=int, default=9000, help="seed of the generated streams")
    parser.add_argument("--json", type=Path, help="file for all figures")
    return parser


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--late", type=int, nargs="+", default=LATE, metavar="K", help="delays of the labels, in rows")
    options = parser.parse_args()
    source = generated(options.seed) if options.data is None else auto_streams.files(options.data)
    found = [
        one
        for name, (X, y) in source
        for late in options.late
        if len(y[: options.rows]) >= 20 * late
        for learner in options.learners
        for one in figures(name, learner, X[: options.rows], y[: options.rows], late)
    ]
    print(table(found, "Generated streams" if options.data is None else "Files").text())
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(one) for one in found], indent=1))


if __name__ == "__main__":
    main()
