"""How often an alarm is false, and how soon it comes: ``python -m benchmarks.alarms``. Needs driftline alone."""

from __future__ import annotations

import numpy as np

import driftline as dl

ROWS, BEFORE, AFTER, TRIALS = 4_000_000, 1000, 2000, 400


def main() -> None:
    rng = np.random.default_rng(0)
    for name, draw in (("Gaussian", rng.standard_normal), ("Cauchy", rng.standard_cauchy)):
        found = dl.Alarm().update_many(draw(ROWS)).size
        print(f"{name:9} {found} false alarms in {ROWS:,} rows")
    for scale in (1.5, 2.0, 4.0):
        delays = sorted(_delay(rng, scale) for _ in range(TRIALS))
        print(f"{scale:g} times as large: median {delays[TRIALS // 2]:.0f} rows, 90 % {delays[TRIALS * 9 // 10]:.0f}")


def _delay(rng: np.random.Generator, scale: float) -> float:
    errors = rng.standard_normal(BEFORE + AFTER)
    errors[BEFORE:] *= scale
    alarms = dl.Alarm().update_many(errors)
    later = alarms[alarms >= BEFORE]
    return float(later[0] - BEFORE + 1) if later.size else float("inf")


if __name__ == "__main__":
    main()
