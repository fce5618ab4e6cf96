"""Intervals: coverage in every window of 2,000 rows, and width compared with an oracle and with River's jackknife.

``python -m benchmarks intervals`` needs River.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from river import conf
from scipy import stats

import driftline as dl
from benchmarks.data import Array
from benchmarks.report import Cell, Report, Table, Verdict

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
WINDOW, D = 2000, 5
TARGET = 0.03
FADED = 1000  # rows of River's window
Quantile = Callable[[float], float]


@dataclass(frozen=True)
class Stream:
    """Rows, and the knowledge of an oracle: the scale of each row's noise, and the distribution relative to it."""

    name: str
    X: Array
    y: Array
    size: Array
    quantile: Quantile

    def oracle_width(self, level: float) -> float:
        return float(2 * self.quantile((1 + level) / 2) * self.size.mean())


def measure(quick: bool) -> Report:
    rows = 5_000 if quick else 20_000
    lines: list[tuple[Cell, ...]] = []
    worst = 0.0
    for stream in streams(rows):
        learner = dl.Kalman(noise=float(np.median(stream.size) ** 2), drift=1e-4)
        for level in LEVELS:
            run = learner.clone().run(stream.X, stream.y, level=level)
            ours = _figures(stream, level, run.lower, run.upper)
            theirs = _jackknife(learner, stream, level) if level == 0.9 else ("", "", "")
            auto = dl.Auto().run(stream.X, stream.y, level=level)
            autos = _figures(stream, level, auto.lower, auto.upper)
            worst = max(worst, ours[1], autos[1])
            lines.append((stream.name, level, *ours, *autos, *theirs))
    header = (
        "stream",
        "level",
        "share inside",
        "largest deviation",
        "width / oracle",
        "Auto: share",
        "deviation",
        "width",
        "jackknife: share",
        "deviation",
        "width",
    )
    note = (
        f"{rows:,} rows, Kalman, then Auto. Deviation: the largest difference between coverage and level in any window of "
        f"{WINDOW:,} rows. The oracle knows the weights and the distribution of the noise. Jackknife: "
        f"river.conf.RegressionJackknife around the same Kalman, window {FADED:,}."
    )
    verdict = Verdict("largest deviation of coverage", worst, TARGET, "share")
    return Report([Table("Intervals", header, lines, note)], [verdict])


def streams(rows: int) -> Iterator[Stream]:
    rng = np.random.default_rng(11)
    t = np.arange(rows)
    X, w = rng.standard_normal((rows, D)), rng.standard_normal(D)
    one, normal, heavy = np.ones(rows), stats.norm.ppf, stats.t(2).ppf
    gauss = rng.standard_normal(rows)
    waves = np.exp(1.5 * np.sin(t / 400))
    by_x = np.exp(X[:, 0])
    yield Stream("stationary", X, X @ w + gauss, one, normal)
    yield Stream("heavy-tailed", X, X @ w + rng.standard_t(2, rows), one, heavy)
    yield Stream("size changes in time", X, X @ w + waves * gauss, waves, normal)
    yield Stream("size by a feature", X, X @ w + by_x * gauss, by_x, normal)
    spread = math.sqrt(0.05)
    for name, source in (
        ("rotating", dl.streams.Rotating(rate=0.01, noise=0.05, seed=11)),
        ("switching", dl.streams.Switching(power=0.5, every=500, noise=0.05, seed=11)),
    ):
        yield Stream(name, *source.take(rows), spread * one, normal)


def _figures(stream: Stream, level: float, lower: Array | None, upper: Array | None) -> tuple[float, float, float]:
    assert lower is not None
    assert upper is not None
    inside = (lower <= stream.y) & (stream.y <= upper)
    share = np.convolve(inside, np.ones(WINDOW) / WINDOW, mode="valid")
    finite = np.isfinite(upper - lower)
    return (
        float(inside.mean()),
        float(np.abs(share - level).max()),
        float((upper - lower)[finite].mean()) / stream.oracle_width(level),
    )


def _jackknife(learner: dl.Learner, stream: Stream, level: float) -> tuple[float, float, float]:
    model = conf.RegressionJackknife(learner.clone(), confidence_level=level, window_size=FADED)
    ends = []
    for x, y in zip(stream.X.tolist(), stream.y.tolist(), strict=True):
        row = dict(enumerate(x))
        interval = model.predict_one(row, with_interval=True)
        ends.append((interval.lower, interval.upper))
        model.learn_one(row, y)
    lower, upper = np.array(ends).T
    return _figures(stream, level, lower, upper)
