"""A fleet of Auto: rows per CPU-second and bytes a key. ``python -m benchmarks.fleet_auto`` takes minutes."""

from __future__ import annotations

from pathlib import Path
from resource import getpagesize
from time import process_time

import numpy as np

import driftline as dl

KEYS, D, ROWS_A_KEY, CALLS = 5000, 8, 50, 3


def main() -> None:
    rng = np.random.default_rng(0)
    fleet, weights = dl.Fleet(dl.Auto(), KEYS, jobs=1), rng.standard_normal((KEYS, D))
    before = _resident()
    print(f"| rows a key | rows per CPU-second, {ROWS_A_KEY} rows a key and call | kB a key: state | process |")
    print("| ---: | ---: | ---: | ---: |")
    for call in range(1, CALLS + 1):
        keys = rng.permutation(np.repeat(np.arange(KEYS), ROWS_A_KEY))
        X = rng.standard_normal((len(keys), D))
        y = np.einsum("td,td->t", X, weights[keys]) + 0.1 * rng.standard_normal(len(keys))
        start = process_time()
        fleet.run(keys, X, y)
        rate = len(keys) / (process_time() - start)
        state, process = fleet.summary()["memory"].mean() / 1e3, (_resident() - before) / KEYS / 1e3
        print(f"| {call * ROWS_A_KEY} | {rate:,.0f} | {state:.0f} | {process:.0f} |", flush=True)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * getpagesize()


if __name__ == "__main__":
    main()
