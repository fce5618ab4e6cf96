"""How often an alarm is false, and how soon a change raises one: ``python -m benchmarks.alarms``. Needs NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter

import driftline as dl

Array = npt.NDArray[np.float64]

ROWS, SEEDS = 1_000_000, 3
SHORT, STREAMS = 1000, 200  # rows of a short stream, and the number of such streams
SHORTEST, KEYS = 200, 5000  # rows of a key, and the number of keys
BEFORE, AFTER, TRIALS = 1000, 2000, 400


def autocorrelated(kept: float) -> Callable[[np.random.Generator, int], Array]:
    """Gaussian errors of variance 1, each correlated with the one before."""
    return lambda rng, rows: np.asarray(lfilter([np.sqrt(1 - kept**2)], [1, -kept], rng.standard_normal(rows)))


def seasonal(period: int) -> Callable[[np.random.Generator, int], Array]:
    """Gaussian errors whose standard deviation goes from 1/e to e and back in each period, with a random phase."""

    def draw(rng: np.random.Generator, rows: int) -> Array:
        phase = rng.integers(0, period)
        return rng.standard_normal(rows) * np.exp(np.sin(2 * np.pi * (np.arange(rows) + phase) / period))

    return draw


def bursts(rng: np.random.Generator, rows: int) -> Array:
    """Gaussian errors whose log standard deviation is itself autocorrelated: stochastic volatility."""
    return rng.standard_normal(rows) * np.exp(0.7 * autocorrelated(0.95)(rng, rows))


KINDS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "Gaussian": lambda rng, rows: rng.standard_normal(rows),
    "Cauchy": lambda rng, rows: rng.standard_cauchy(rows),
    "exponential, positive": lambda rng, rows: rng.exponential(size=rows),
    "autocorrelation 0.5": autocorrelated(0.5),
    "autocorrelation 0.9": autocorrelated(0.9),
    "autocorrelation 0.99": autocorrelated(0.99),
    "variance with a season of 24 rows": seasonal(24),
    "of 96 rows": seasonal(96),
    "of 1,000 rows": seasonal(1000),
    "variance in bursts of 20 rows": bursts,
}
CHANGES: dict[str, Callable[[Array], Array]] = {
    "1.5 times as large": lambda errors: 1.5 * errors,
    "twice as large": lambda errors: 2 * errors,
    "3 times as large": lambda errors: 3 * errors,
    "shifted by 1 deviation": lambda errors: errors + 1,
    "by 2 deviations": lambda errors: errors + 2,
}


def main() -> None:
    print(
        f"| errors | false alarms in {ROWS:,} rows, {SEEDS} seeds | in {STREAMS} streams of {SHORT:,} rows "
        f"| keys of {KEYS:,} with one within {SHORTEST} rows |"
    )
    print("| --- | --- | ---: | ---: |")
    for name, draw in KINDS.items():
        long = [dl.Alarm().update_many(draw(np.random.default_rng(seed), ROWS)).size for seed in range(SEEDS)]
        short = sum(dl.Alarm().update_many(draw(np.random.default_rng(seed), SHORT)).size for seed in range(STREAMS))
        rng = np.random.default_rng(0)
        named = sum(dl.Alarm().update_many(draw(rng, SHORTEST)).size > 0 for _ in range(KEYS))
        print(f"| {name} | {', '.join(map(str, long))} | {short} | {named} |", flush=True)
    kinds = ["Gaussian", "autocorrelation 0.9", "of 96 rows"]
    print(f"\n| from row {BEFORE:,} on | " + " | ".join(kinds) + " |\n| --- | --- | --- | --- |")
    for change, apply in CHANGES.items():
        print(f"| {change} | " + " | ".join(_delays(KINDS[kind], apply) for kind in kinds) + " |", flush=True)
    print(f"\n| errors grow half-way through {SHORTEST} rows | found |\n| --- | ---: |")
    for factor in (2, 3, 4, 6, 8):
        print(f"| {factor} times | {_found(factor):.0%} |", flush=True)


def _found(factor: float) -> float:
    """The share of streams in which errors that grow by a factor halfway raise an alarm before the end."""
    found, rng = 0, np.random.default_rng(1)
    for _ in range(TRIALS):
        errors = rng.standard_normal(SHORTEST)
        errors[: SHORTEST // 16] *= factor  # errors of an untrained model
        errors[SHORTEST // 2 :] *= factor
        found += bool((dl.Alarm().update_many(errors) >= SHORTEST // 2).any())
    return found / TRIALS


def _delays(draw: Callable[[np.random.Generator, int], Array], apply: Callable[[Array], Array]) -> str:
    """The median and the 90 % quantile of the number of rows until an alarm."""
    delays = []
    for seed in range(TRIALS):
        errors = draw(np.random.default_rng(seed), BEFORE + AFTER)
        errors[BEFORE:] = apply(errors[BEFORE:])
        delays.append(next((t - BEFORE + 1 for t in dl.Alarm().update_many(errors) if t >= BEFORE), AFTER + 1))
    delays.sort()
    middle, late = (delays[TRIALS * share // 100] for share in (50, 90))
    return ", ".join(f"{rows:,}" if rows <= AFTER else f"beyond {AFTER:,}" for rows in (middle, late))


if __name__ == "__main__":
    main()
