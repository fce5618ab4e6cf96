"""Memory and drift by the clock beside memory and drift by rows, on irregular samples of a drifting target.

    python -m benchmarks.irregular [--rows 4000] [--seeds 3]

A line is a stream: the mean squared error of RLS(half_life=...) over that of RLS(forgetting=...), and of
Kalman(drift=..., per=...) over that of Kalman(drift=...). Each is the best of its grid in hindsight, over all rows but the
first 100. Rows come a step apart, in bursts, with gaps of 150 to 1,000 steps between them, or at random.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

import driftline as dl
from benchmarks.data import Array

FEATURES, NOISE, FIRST = 5, 0.1, 100
MEMORIES = np.geomspace(3, 3000, 16)  # half-lives in steps
DRIFTS = np.geomspace(1e-8, 1, 17)
RIDGES = (1e-2, 1.0)


def samples(rows: int, rng: np.random.Generator) -> Iterator[tuple[str, Array]]:
    """Times of rows: the usual step is 1."""
    for name, burst in (("bursts of 20", 20), ("bursts of 100", 100), ("bursts of 400", 400)):
        steps = rng.exponential(1.0, rows)
        gaps = rng.random(rows) < 1 / burst
        yield name, np.cumsum(np.where(gaps, rng.uniform(150, 1000, rows), steps))
    yield "random, heavy tails", np.cumsum(rng.pareto(1.1, rows) + 0.1)
    day = np.cumsum(rng.exponential(1.0, rows))
    yield "nights missing", day + 300 * np.floor(day / 200)


def targets(times: Array, rng: np.random.Generator) -> Iterator[tuple[str, Array]]:
    """Weights over time, (rows, FEATURES)."""
    steps = np.diff(times, prepend=times[0])[:, None]
    for name, speed in (("slow walk", 1e-4), ("walk", 1e-3), ("fast walk", 1e-2)):
        yield name, np.cumsum(np.sqrt(speed * steps) * rng.normal(size=(len(times), FEATURES)), axis=0)
    for name, period in (("slow turn", 20_000), ("turn", 4_000)):
        angles = 2 * np.pi * times[:, None] / period + rng.uniform(0, 2 * np.pi, FEATURES)
        yield name, np.cos(angles)


def best(learners: Iterator[Any], X: Array, y: Array, times: Array | None) -> float:
    """The least mean squared error."""
    errors = []
    for model in learners:
        run = model.run(X, y) if times is None else model.run(X, y, times=times)
        errors.append(float(run.losses[FIRST:].mean()))
    return min(errors)


def compared(X: Array, y: Array, times: Array) -> tuple[float, float]:
    """RLS and Kalman by the clock over themselves by rows."""
    keeps = list(product(MEMORIES, RIDGES))
    by_rows = best((dl.RLS(forgetting=0.5 ** (1 / m), ridge=r) for m, r in keeps), X, y, None)
    half_lives = [(m * scale, r) for (m, r), scale in product(keeps, (1.0, 10.0))]
    by_clock = best((dl.RLS(half_life=h, ridge=r) for h, r in half_lives), X, y, times)
    noise = NOISE**2
    plain = best((dl.Kalman(noise=noise, drift=q, ridge=r) for q, r in product(DRIFTS, RIDGES)), X, y, None)
    timed = best((dl.Kalman(noise=noise, drift=q, ridge=r, per=1.0) for q, r in product(DRIFTS, RIDGES)), X, y, times)
    return by_clock / by_rows, timed / plain


def main() -> None:
    """Prints a line for each stream, and the geometric means."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    warnings.simplefilter("ignore", dl.DriftlineWarning)
    print(f"{'':36}{'RLS':>8}{'Kalman':>8}")
    all_ratios = []
    for sampling in range(5):
        for target in range(5):
            ratios, names = [], ("", "")
            for seed in range(given.seeds):
                rng = np.random.default_rng(seed)
                name, times = list(samples(given.rows, rng))[sampling]
                kind, weights = list(targets(times, rng))[target]
                names = name, kind
                X = rng.normal(size=(given.rows, FEATURES))
                y = (X * weights).sum(axis=1) + NOISE * rng.normal(size=given.rows)
                ratios.append(compared(X, y, times))
            mean = np.exp(np.log(ratios).mean(axis=0))
            all_ratios.append(mean)
            print(f"{names[0] + ', ' + names[1]:36}{mean[0]:8.3f}{mean[1]:8.3f}", flush=True)
    total = np.exp(np.log(all_ratios).mean(axis=0))
    print(f"{'geometric mean':36}{total[0]:8.3f}{total[1]:8.3f}")


if __name__ == "__main__":
    main()
