"""Soak: many rows with stretches of constant and of zero input; the state must stay finite and positive definite.

``python -m benchmarks.soak --rows 100000000`` exits with 1 if it does not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import driftline as dl
from benchmarks.data import Array
from benchmarks.report import Report, Table

D = 5
CYCLE = 100
# The chunks of a cycle after which the state is inspected; the first comes right after the previous cycle's zero input.
FIRST, FRESH, CONSTANT, ZERO = 0, 79, 89, 99
INSPECTED = {FIRST: "first fresh", FRESH: "fresh", CONSTANT: "constant", ZERO: "zero"}
NOISE = 0.1


@dataclass
class Worst:
    """The worst figures of one learner after one kind of input."""

    error: float = 0.0
    smallest: float = np.inf
    largest: float = 0.0


def measure(quick: bool) -> Report:
    return soak(1_000_000 if quick else 100_000_000)


def soak(rows: int) -> Report:
    size = max(1, min(100_000, rows // CYCLE))
    models: dict[str, Any] = {
        "RLS(forgetting=0.999)": dl.RLS(forgetting=0.999, intercept=False),
        "Kalman(drift=1e-4)": dl.Kalman(noise=NOISE**2, drift=1e-4, intercept=False),
        "DFOP(forget_rate=0.01)": dl.DFOP(forget_rate=0.01, intercept=False),
    }
    worst = {(name, kind): Worst() for name in models for kind in INSPECTED.values()}
    failures = []
    for number, (X, y) in enumerate(chunks(rows, size)):
        for name, model in models.items():
            errors = model.run(X, y).errors
            place = f"{name}, rows to {(number + 1) * size:,}"
            if not np.isfinite(errors).all():
                failures.append(f"{place}: a prediction is not finite")
            if kind := INSPECTED.get(number % CYCLE):
                failures += _inspect(f"{place}, {kind} input", model, errors, worst[name, kind])
    table_rows = [
        (name, kind, seen.error, seen.smallest, seen.largest, _events(models[name])) for (name, kind), seen in worst.items()
    ]
    header = ("learner", "input", "rms error", "smallest eigenvalue", "largest eigenvalue", "events")
    note = (
        f"{rows:,} rows, d = {D}; the worst over the run. Eigenvalues of covariance_ as computed, accurate to d eps times "
        "the largest. Events: totals at the end."
    )
    return Report([Table("Soak", header, table_rows, note)], failures=failures)


def chunks(rows: int, size: int) -> Iterator[tuple[Array, Array]]:
    """Drifting weights; in a cycle of chunks, eight tenths have new input, one tenth constant and one tenth zero input."""
    phases = np.arange(D)
    for number in range(rows // size):
        rng = np.random.default_rng((7, number))
        place = number % CYCLE
        if place <= FRESH:
            X = rng.standard_normal((size, D))
        elif place <= CONSTANT:
            X = np.tile(np.array([1.0, -2.0, 0.5, 3.0, 1.5]), (size, 1))
        else:
            X = np.zeros((size, D))
        w = np.sin(0.01 * number + phases)
        yield X, X @ w + NOISE * rng.standard_normal(size)


def _inspect(place: str, model: Any, errors: Array, seen: Worst) -> list[str]:
    """Records and prints the figures; returns what is wrong with the state, if anything."""
    error = float(np.sqrt(np.mean(errors**2)))
    S = model.covariance_
    finite = bool(np.isfinite(S).all() and np.isfinite(model.coef_).all())
    eigenvalues = np.linalg.eigvalsh(S) if finite else np.full(D, np.nan)
    smallest, largest = float(eigenvalues[0]), float(eigenvalues[-1])
    seen.error = float(np.maximum(seen.error, error))
    seen.smallest = float(np.minimum(seen.smallest, smallest))
    seen.largest = float(np.maximum(seen.largest, largest))
    failures = []
    if not finite:
        failures.append(f"{place}: the state is not finite")
    elif not (_definite(model, smallest, largest) and np.array_equal(S, S.T)):
        failures.append(f"{place}: the state is not positive definite")
    figures = f"error {error:.3g}, eigenvalues {smallest:.3g} .. {largest:.3g}"
    print(f"{place}: {figures}, events: {_events(model)}", file=sys.stderr, flush=True)
    return failures


def _definite(model: Any, smallest: float, largest: float) -> bool:
    """Judges by D if the state is S = U D U', because S itself loses everything below d eps of its largest part to rounding.

    A state that stores S exports zeros for D.
    """
    diagonal = model.__getstate__()["core"]["diagonal"][:D]
    if not diagonal.any():
        return smallest > 0
    return bool((diagonal > 0).all() and smallest > -D * np.finfo(float).eps * largest)


def _events(model: Any) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in model.certificate().events.items()) or "none"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000)
    report = soak(parser.parse_args().rows)
    print(*(table.text() for table in report.tables), *report.failures, sep="\n")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
