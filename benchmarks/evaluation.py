"""Evaluation: the time that ``prequential`` adds to ``run``, and its memory over a long generator.

``python -m benchmarks.evaluation`` prints both; ``--pictures FOLDER`` draws the pictures of the documentation instead.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import driftline as dl
from benchmarks.data import Array, gaussian
from benchmarks.report import Cell, Report, Table, Verdict
from benchmarks.resident import peak, probed
from benchmarks.timing import Case, compare, pin
from driftline import evaluate

D = 20
TARGET = 0.2
MEMORY_TARGET = 300.0
LEARNERS = {"RLS": dl.RLS, "Kalman": dl.Kalman, "NLMS": dl.NLMS}


def measure(quick: bool) -> Report:
    time = _time(quick)
    rows = 300_000 if quick else 10_000_000
    most: float = probed("benchmarks.evaluation", rows)
    table = Table("Memory of prequential", ("rows", "peak MB"), [(f"{rows:,}", most)], "Resident, the interpreter included.")
    return Report([*time.tables, table], [*time.verdicts, Verdict(f"prequential, {rows:,} rows", most, MEMORY_TARGET, "MB")])


def _time(quick: bool) -> Report:
    lines: list[tuple[Cell, ...]] = []
    verdicts = []
    for rows, rounds in ((100_000, 41), (1_000_000, 9)):
        X, y = gaussian(rows, D)
        for name, make in LEARNERS.items():
            cases = [
                Case("run", lambda: make().run(X, y), rows),  # noqa: B023 - called before the next iteration
                Case("prequential", lambda: evaluate.prequential(make(), (X, y)), rows),  # noqa: B023
                Case("totals", lambda: evaluate.prequential(make(), (X, y), window=None, fading=None, points=0), rows),  # noqa: B023
            ]
            timings = compare(cases, 3 if quick else rounds)
            adds = timings.ratio("prequential", "run") - 1
            least = timings.ratio("totals", "run") - 1
            lines.append((name, rows, timings.median("run") * 1e9, 100 * adds, 100 * least))
            if name == "RLS":
                verdicts.append(
                    Verdict(f"prequential of RLS at d = {D}, {rows:,} rows, added to run", adds, TARGET, "share")
                )
    header = ("learner", "rows", "run, ns a row", "prequential adds, %", "totals alone, %")
    note = "Squared and absolute error and R², each cumulative, over a window and fading, with curves; or totals alone."
    return Report([Table(f"Evaluation, d = {D}", header, lines, note)], verdicts)


def probe(rows: int, size: int = 1000) -> float:
    """The peak of the resident memory, in MB, after two learners learned the rows of a generator (Linux)."""

    def blocks() -> Iterator[tuple[Array, Array]]:
        rng = np.random.default_rng(0)
        weights = rng.standard_normal(D)
        for _ in range(rows // size):
            X = rng.standard_normal((size, D))
            yield X, X @ weights + 0.1 * rng.standard_normal(size)

    evaluate.prequential([dl.RLS(), dl.NLMS()], blocks())
    return peak()


def draw(folder: Path) -> None:
    """The pictures of docs/evaluation.md."""
    stream = dl.streams.Switching(rate=0.4, unit="deg", every=1500, noise=0.5, seed=7)
    learners = [dl.Ridge(), dl.NLMS(rate=0.8), dl.RLS(forgetting=0.93), dl.Kalman(noise=0.5, drift=3e-4)]
    result = evaluate.prequential(learners, stream, rows=6000, window=200)
    print(result)
    result.plot("mse", path=folder / "evaluation_curves.png")
    comparison = evaluate.compare(**contest())
    print(comparison)
    comparison.plot("scores", path=folder / "evaluation_scores.png")
    comparison.plot("ranks", path=folder / "evaluation_ranks.png")


def contest() -> dict[str, object]:
    """Five learners, tuned on four kinds of drift at three levels each."""
    streams = {
        f"{kind}, {rate} deg": cls(rate=rate, unit="deg", noise=0.5, **options)
        for kind, cls, options in (
            ("turns", dl.streams.Rotating, {}),
            ("slows down", dl.streams.Rotating, {"power": 0.5}),
            ("jumps", dl.streams.Switching, {"every": 300}),
            ("jumps often", dl.streams.Switching, {"every": 100}),
        )
        for rate in (0.1, 0.5, 2.0)
    }
    learners = [dl.Kalman(noise=0.5), dl.RLS(), dl.NLMS(), dl.AROWR(), dl.Ridge()]
    grid = {
        "Kalman": {"drift": [1e-6, 1e-5, 1e-4, 1e-3, 1e-2]},
        "RLS": {"forgetting": [0.8, 0.9, 0.95, 0.98, 0.99, 0.999]},
        "NLMS": {"rate": [0.1, 0.2, 0.4, 0.8]},
        "AROWR": {"noise": [1.0, 10.0, 100.0]},
    }
    return {"learners": learners, "streams": streams, "rows": 2000, "repeats": 10, "grid": grid}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path, metavar="FOLDER")
    parser.add_argument("--probe", type=int, metavar="ROWS", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.pictures:
        draw(options.pictures)
    elif options.probe:
        print(json.dumps(probe(options.probe)))
    else:
        print(measure(options.quick).text())


if __name__ == "__main__":
    pin()
    main()
