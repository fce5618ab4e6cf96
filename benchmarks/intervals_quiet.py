"""Intervals after quiet spells: ``python -m benchmarks.intervals_quiet``, for every regressor of the registry.
``kernel`` has a budget, because it would grow with every row of these streams.

Labels are noisy for 600 rows, constant for the length of the spell, and noisy again for 2,000 rows. For these, the table has
the coverage, the longest run of misses, and the median width compared with that of the same rows without the spell. Other
streams have several spells, or labels that are rarely different from 0; for these, it has the coverage of all rows with a
finite interval. Labels come at once, except with ``--late``. Needs only driftline.
"""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import driftline as dl
from benchmarks.data import Array
from benchmarks.report import Cell, Table
from driftline.base import registry

LEVELS = (0.9, 0.95, 0.99)
SPELLS = (500, 2000, 5000, 20_000)
BEFORE, AFTER, D = 600, 2000, 3
TOLERANCE, MOST_MISSES, WIDER = 0.015, 20, 2.0


@dataclass(frozen=True)
class Intervals:
    """Of each row and level."""

    inside: Array
    width: Array

    @staticmethod
    def of(make: Callable[[], dl.Learner], X: Array, y: Array, late: int) -> Intervals:
        lower, upper = np.empty((len(LEVELS), len(y))), np.empty((len(LEVELS), len(y)))
        if late == 0:
            for k, level in enumerate(LEVELS):
                run = make().run(X, y, level=level)
                lower[k], upper[k] = run.lower, run.upper
            return Intervals((lower <= y) & (y <= upper), upper - lower)
        model, waiting = make(), deque[dl.Ticket]()
        for t, x in enumerate(X):
            waiting.append(model.ask(x, delay=late))
            for k, level in enumerate(LEVELS):
                lower[k, t], upper[k, t] = waiting[-1].interval(level)
            if t >= late:
                model.tell(waiting.popleft(), y[t - late])
        return Intervals((lower <= y) & (y <= upper), upper - lower)


def longest_run(missed: Array) -> int:
    ends = np.flatnonzero(np.concatenate(([True], ~missed.astype(bool), [True])))
    return int(np.diff(ends).max()) - 1


def noisy(rows: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, D))
    return X, X.sum(axis=1) + rng.standard_normal(rows)


def after_a_spell(make: Callable[[], dl.Learner], spell: int, seed: int, late: int) -> list[tuple[float, int, float]]:
    """For each level: coverage after the spell, the longest run of misses there, and the relative median width."""
    X, y = noisy(BEFORE + spell + AFTER, seed)
    y[BEFORE:-AFTER] = 1.0
    spoken = np.r_[0:BEFORE, len(y) - AFTER : len(y)]
    quiet, usual = (Intervals.of(make, X[rows], y[rows], late) for rows in (slice(None), spoken))
    wider = np.median(quiet.width[:, -AFTER:], axis=1) / np.median(usual.width[:, -AFTER:], axis=1)
    inside = quiet.inside[:, -AFTER:]
    return [(float(inside[k].mean()), longest_run(~inside[k].astype(bool)), float(wider[k])) for k in range(len(LEVELS))]


def other_streams(seed: int) -> dict[str, tuple[Array, Array]]:
    rng = np.random.default_rng(seed)
    rows = 20_000
    t = np.arange(rows)
    X, y = noisy(rows, seed)

    def rare(every: int) -> Array:
        return (rng.random(rows) < 1 / every).astype(float)

    return {
        "1 in 1,000 labels": (X, rare(1000)),
        "1 in 100 labels": (X, rare(100)),
        "nights of 12 rows": (X, np.where(t // 12 % 2, y, 0.0)),
        "nights of 720 rows": (X, np.where(t // 720 % 2, y, 0.0)),
        "quiet from the start": (X, np.where(t < 3000, 1.0, y)),
        "larger after the spell": (X, np.where(t < 3000, y, np.where(t < 6000, 1.0, 1e6 * y))),
        "smaller after the spell": (X, np.where(t < 3000, y, np.where(t < 6000, 1.0, 1e-6 * y))),
        "many scales": (X, y * 10.0 ** rng.integers(-30, 30, rows // 1000)[t // 1000]),
        "steps of the noise": (X, X.sum(axis=1) + rng.standard_normal(rows) * np.where(t // 1500 % 2, 10.0, 0.1)),
    }


def cell(found: tuple[float, int, float], level: float, late: int) -> str:
    coverage, misses, wider = found
    good = coverage >= level - TOLERANCE and misses <= MOST_MISSES + late and wider <= WIDER
    return f"{coverage:.3f} {misses:3} {wider:5.2f}{'' if good else ' !'}"


def main() -> None:
    makers = {**registry.regressors(), "kernel": lambda: dl.Kernel(budget=20)}
    names = sorted(makers)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learners", nargs="+", default=names, choices=names, metavar="NAME")
    parser.add_argument("--spells", type=int, nargs="+", default=SPELLS, metavar="ROWS")
    parser.add_argument("--late", type=int, default=0, metavar="K", help="delay of the labels, in rows")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    lines: list[tuple[Cell, ...]] = []
    others: list[tuple[Cell, ...]] = []
    for name in options.learners:
        make = makers[name]
        for spell in options.spells:
            found = after_a_spell(make, spell, options.seed, options.late)
            lines.append((name, spell, *(cell(one, p, options.late) for one, p in zip(found, LEVELS, strict=True))))
        for stream, (X, y) in other_streams(options.seed).items():
            made = Intervals.of(make, X, y, options.late)
            finite = np.isfinite(made.width)
            shares = [made.inside[k][finite[k]].mean() for k in range(len(LEVELS))]
            shown = [f"{s:.3f}{'' if s >= p - TOLERANCE else ' !'}" for s, p in zip(shares, LEVELS, strict=True)]
            others.append((name, stream, *shown))
    note = (
        f"!: coverage below the level by over {TOLERANCE}, over {MOST_MISSES} misses in a row (plus the delay), or over "
        f"{WIDER} times as wide. Learners that never forget have larger errors after a spell than without it."
    )
    levels = tuple(map(str, LEVELS))
    print(Table("After a quiet spell: coverage, misses in a row, width", ("learner", "spell", *levels), lines, note).text())
    print(Table("Coverage of other streams", ("learner", "stream", *levels), others, note).text())


if __name__ == "__main__":
    main()
