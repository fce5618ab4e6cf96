"""Kernels: a budget of points compared with none, time a row compared with a linear learner, and memory over many rows.

``python -m benchmarks.kernels`` prints them; ``--data FOLDER`` adds Silverbox (silverbox_snls.csv.gz in that folder).
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np

import driftline as dl
from benchmarks.data import Array, gaussian
from benchmarks.report import Cell, Report, Table, Verdict
from benchmarks.resident import peak, probed
from benchmarks.timing import Case, compare, pin

BUDGET = 100
WORST_RATIO, SLOWEST, GROWTH = 1.05, 60.0, 1.0
LONG = 1_000_000


def smooth(rows: int, seed: int = 0) -> tuple[Array, Array]:
    """Two inputs, a product of a sine and a line, and noise of variance 0.01."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (rows, 2))
    return X, np.sin(X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(rows)


def walk(rows: int, step: float = 0.3) -> tuple[Array, Array]:
    """Two inputs that follow a random walk with large steps for a kernel of width 1, and a noiseless target."""
    X = np.cumsum(step * np.random.default_rng(0).standard_normal((rows, 2)), axis=0)
    return X, np.sin(X[:, 0]) + np.cos(X[:, 1])


def silverbox(folder: Path, rows: int, start: int, lags: int = 3) -> tuple[Array, Array]:
    """Features are the current input and the lagged inputs and outputs; the label is the output."""
    u, y = np.loadtxt(folder / "silverbox_snls.csv.gz", delimiter=",", skiprows=1).T
    columns = [u[start - k : start - k + rows] for k in range(lags + 1)]
    columns += [y[start - k : start - k + rows] for k in range(1, lags + 1)]
    return np.column_stack(columns), y[start : start + rows]


def measure(quick: bool, folder: Path | None = None) -> Report:
    """Errors, then speed in one run with interleaved cases, then memory in a separate process."""
    rows = 1000 if quick else 3000
    enough = {"smooth": (*smooth(rows), dl.AROWR(noise=0.01), 0.25)}
    scarce = {"inputs that wander": (*walk(rows), dl.AROWR(noise=0.01), 1.0)}
    if folder is not None:
        for start in (1000, 40_000, 100_000):
            name, stream = f"Silverbox from row {start:,}", silverbox(folder, rows, start)
            enough[name] = (*stream, dl.AROWR(noise=1e-6), 1.0)
            scarce[f"{name}, gamma = 10"] = (*stream, dl.AROWR(noise=1e-6), 10.0)
        scarce["Silverbox from row 36,000"] = (*silverbox(folder, rows, 36_000), dl.AROWR(noise=1e-6), 1.0)
    lines = [_errors(name, *stream) for name, stream in enough.items()]
    verdicts = [
        Verdict(f"error with {BUDGET} points over error with all, {line[0]}", float(line[4]), WORST_RATIO, "ratio")
        for line in lines
    ]
    header = ("stream", "linear", "all rows", f"{BUDGET} points", "ratio", "points")
    note = f"Mean squared error of the predictions over the last three quarters of {rows:,} rows; AROWR."
    scarce_lines = [_errors(name, *stream) for name, stream in scarce.items()]
    tables = [
        Table(f"A budget of {BUDGET}", header, lines, note),
        Table(f"A budget of {BUDGET} where that can be too few", header, scarce_lines, "Likewise; no bar is set."),
    ]
    speed, memory = _speed(quick), _memory(quick)
    return Report([*tables, *speed.tables, *memory.tables], [*verdicts, *speed.verdicts, *memory.verdicts])


def _errors(name: str, X: Array, y: Array, learner: dl.AROWR, gamma: float) -> tuple[Cell, ...]:
    late = slice(len(y) // 4, None)
    bounded = dl.Kernel(learner, gamma=gamma, budget=BUDGET)
    models = (learner.clone(), dl.Kernel(learner, gamma=gamma), bounded)
    linear, exact, close = (float(model.run(X, y).losses[late].mean()) for model in models)
    return name, linear, exact, close, close / exact, len(bounded.points_)


def _speed(quick: bool) -> Report:
    rows = 2000 if quick else 20_000
    settled, churned = smooth(rows), gaussian(rows, 8)
    cases = [
        Case("AROWR, 100 features", partial(_run, dl.AROWR(), gaussian(rows, 100)), rows),
        Case("Kernel, rows near the points", partial(_run, _model(), settled), rows),
        Case("Kernel, every row a new point", partial(_run, _model(), churned), rows),
    ]
    timed = compare(cases, 3 if quick else 9)
    lines = [(case.label, 1e6 * timed.median(case.label), timed.ratio(case.label, cases[0].label)) for case in cases]
    header = ("case", "microseconds a row", "time, AROWR = 1")
    note = f"Budget {BUDGET}. The third case adds a point and removes one with every row."
    verdicts = [
        Verdict(f"seconds for {LONG:,} rows, {case.label}", LONG * timed.median(case.label), SLOWEST, "s")
        for case in cases[1:]
    ]
    return Report([Table("Time of a row", header, lines, note)], verdicts)


def _model() -> dl.Kernel:
    return dl.Kernel(dl.AROWR(noise=0.01), gamma=0.25, budget=BUDGET)


def _run(model: dl.Learner, stream: tuple[Array, Array]) -> None:
    model.run(*stream)


def _memory(quick: bool) -> Report:
    rows = LONG // 20 if quick else LONG
    early, late, seconds = probed("benchmarks.kernels", rows)
    lines = [(f"{rows // 10:,}", early), (f"{rows:,}", late)]
    note = f"Resident peak, blocks of 1,000 rows, budget {BUDGET}; {seconds:.0f} s of processor time in all."
    verdict = Verdict(f"growth of the resident peak from row {rows // 10:,} to {rows:,}", late - early, GROWTH, "MB")
    return Report([Table("Memory", ("rows", "peak MB"), lines, note)], [verdict])


def probe(rows: int, size: int = 1000) -> tuple[float, float, float]:
    """The peak of the resident memory, in MB, after a tenth of the rows and after all, and the time of all."""
    model, early, begin = _model(), 0.0, process_time()
    for start in range(0, rows, size):
        model.run(*smooth(size, seed=start))
        if start + size == rows // 10:
            early = peak()
    return early, peak(), process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, metavar="FOLDER")
    parser.add_argument("--probe", type=int, metavar="ROWS", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.probe:
        print(json.dumps(probe(options.probe)))
        return
    pin()
    print(measure(options.quick, options.data).text())


if __name__ == "__main__":
    main()
