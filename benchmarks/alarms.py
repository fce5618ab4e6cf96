"""How often an alarm is false, and how soon a change raises one: ``python -m benchmarks.alarms``.

Needs NumPy and SciPy. With River (``.venv-peers``), its detectors are measured too, on the same errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter

import driftline as dl

Array = npt.NDArray[np.float64]

ROWS, SEEDS = 1_000_000, 3
SHORT, STREAMS = 1000, 200  # rows of a short stream, and the number of such streams
SHORTEST, KEYS = 200, 5000  # rows of a key, and the number of keys
BEFORE, AFTER, TRIALS = 1000, 2000, 400
EVERY, CHANGES_EACH, WITHIN = (400, 1000, 2000, 5000), 7, 100  # rows between changes, changes of a stream, rows to find one
SEEDS_FOR = {400: 5, 1000: 5, 2000: 3, 5000: 2}
REST = 100_000  # rows without a change on which the peers are set


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
MODELS = {"RLS(0.99)": dl.RLS(forgetting=0.99), "Kalman": dl.Kalman(), "Auto": dl.Auto()}
REPEATED = ("slopes 1 and -2", "levels 0 and 3", "noise x 2", "noise x 3")
Detector = Callable[[Array], Sequence[int]]  # from errors to the rows of the alarms


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
    dependent = _list_of_delays(KINDS["autocorrelation 0.9"], CHANGES["3 times as large"], 40)
    missed = sum(rows > 300 for rows in dependent)
    middle = np.median(dependent)
    print(f"\nAutocorrelation 0.9, 3 times as large: {middle:.0f} rows in the median, {missed} of 40 missed in 300 rows")
    _print_repeated()


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
    delays = sorted(_list_of_delays(draw, apply, TRIALS))
    middle, late = (delays[TRIALS * share // 100] for share in (50, 90))
    return ", ".join(f"{rows:,}" if rows <= AFTER else f"beyond {AFTER:,}" for rows in (middle, late))


def _list_of_delays(
    draw: Callable[[np.random.Generator, int], Array], apply: Callable[[Array], Array], trials: int
) -> list[int]:
    delays = []
    for seed in range(trials):
        errors = draw(np.random.default_rng(seed), BEFORE + AFTER)
        errors[BEFORE:] = apply(errors[BEFORE:])
        delays.append(next((t - BEFORE + 1 for t in dl.Alarm().update_many(errors) if t >= BEFORE), AFTER + 1))
    return delays


@cache
def _errors(model: str, kind: str, every: int, seed: int) -> Array:
    """The errors of a model on a stream that changes at regular intervals. The noise has a deviation of 0.5 at first."""
    rows = every * (CHANGES_EACH + 1)
    rng = np.random.default_rng([seed, every])
    odd = np.arange(rows) // every % 2 == 1
    x, noise = rng.standard_normal(rows), 0.5 * rng.standard_normal(rows)
    if kind.startswith("noise"):
        noise[odd] *= float(kind.split()[-1])
    slope = np.where(odd, -2.0, 1.0) if kind.startswith("slopes") else 1.0
    level = np.where(odd, 3.0, 0.0) if kind.startswith("levels") else 0.0
    return np.asarray(MODELS[model].clone().run(x[:, None], slope * x + level + noise).errors)


def _score(detector: Detector, model: str, kind: str, every: int, seeds: int) -> str:
    """The share of the rises found, the median delay of those, and the alarms per 2,000 rows that follow no change."""
    delays, found, stray, rows = list[int](), 0, 0, 0
    changes = every * np.arange(1, CHANGES_EACH + 1)
    rises = changes[::2] if kind.startswith("noise") else changes
    for seed in range(seeds):
        errors = _errors(model, kind, every, seed)
        raised = np.asarray(detector(errors), dtype=np.int64)
        since = raised[:, None] - changes  # rows from each change to each alarm
        stray += int((~((since >= 0) & (since < WITHIN)).any(axis=1)).sum())
        firsts = [raised[(raised >= row) & (raised < row + WITHIN)][:1] - row + 1 for row in rises]
        delays += [int(first[0]) for first in firsts if len(first)]
        found, rows = found + len(rises), rows + len(errors)
    middle = f"{np.median(delays):.0f}" if delays else "-"
    return f"{len(delays) / found:.0%}, {middle}, {2000 * stray / rows:.2f}"


def _river(make: Callable[[], Any], errors: Array) -> list[int]:
    """The rows at which a detector of River sees a drift of the errors' sizes."""
    detector, found = make(), []
    for row, size in enumerate(np.abs(errors).tolist()):
        detector.update(size)
        if detector.drift_detected:
            found.append(row)
    return found


def _peers() -> dict[str, Detector]:
    """River's detectors, each with its most sensitive setting that keeps to one false alarm in 10,000 rows at rest."""
    if find_spec("river") is None:
        print("\nRiver is not installed: its detectors are left out")
        return {}
    from river import drift

    settings: dict[str, list[Callable[[], Any]]] = {
        "ADWIN": [partial(drift.ADWIN, delta=delta) for delta in (0.3, 0.1, 0.03, 0.01, 0.002, 0.0005)],
        "Page-Hinkley": [
            partial(drift.PageHinkley, threshold=threshold, mode="up") for threshold in (2, 4, 7, 10, 15, 25, 50, 100)
        ],
        "KSWIN": [partial(drift.KSWIN, alpha=alpha, seed=0) for alpha in (0.005, 0.001, 0.0003, 0.0001, 0.00003, 0.00001)],
    }
    chosen: dict[str, Detector] = {}
    for name, makes in settings.items():
        rows = REST // 10 if name == "KSWIN" else REST  # it takes half a millisecond a row
        rest = 0.5 * np.random.default_rng(0).standard_normal(rows)
        make = next((make for make in makes if len(_river(make, rest)) <= rows / 10_000), makes[-1])
        print(f"{name}: {make.keywords}", flush=True)  # type: ignore[attr-defined]
        chosen[name] = partial(_river, make)
    return chosen


def _print_repeated() -> None:
    """Found within 100 rows, the median delay of those, and stray alarms in 2,000 rows."""
    peers = _peers()
    for model in MODELS:
        # KSWIN is slow: one stream of each kind for the first model, and none of the longest.
        detectors = {"driftline": lambda errors: dl.Alarm().update_many(errors), **peers}
        print(f"\n| {model}, changes every | " + " | ".join(detectors) + " |")
        print("| --- |" + " --- |" * len(detectors))
        for every in EVERY:
            for kind in REPEATED:
                cells = []
                for name, detector in detectors.items():
                    slow = name == "KSWIN"
                    skip = slow and (model != "RLS(0.99)" or every > 2000)
                    cells.append("" if skip else _score(detector, model, kind, every, 1 if slow else SEEDS_FOR[every]))
                print(f"| {every:,} rows, {kind} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
