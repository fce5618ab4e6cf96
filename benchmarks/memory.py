"""Memory: that of ``run`` beyond its outputs, and that of a model divided by d². Linux only."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from benchmarks.report import Cell, Report, Table, Verdict
from driftline.base.registry import regressors

RUN_D = 5
RUN_ROWS = (10_000, 100_000, 1_000_000)
COUNTS = {1: 2000, 500: 20, 1000: 8}
QUICK_LEARNERS = ("rls", "arcor", "kalman")
MODEL_TARGET = 12.0
RUN_TARGET = 0.1


def measure(quick: bool) -> Report:
    run, models = _run(), _models(QUICK_LEARNERS if quick else tuple(regressors()))
    return Report([*run.tables, *models.tables], [*run.verdicts, *models.verdicts])


def _run() -> Report:
    rows: list[list[Cell]] = []
    for count in RUN_ROWS:
        taken = {what: size / count for what, size in _probe("run", count, RUN_D).items()}
        rows.append([f"{count:,}", *taken.values()])
    header = ("rows", "held by the Run", "allocated", "resident peak")
    note = (
        f"Bytes a row, RLS.run at d = {RUN_D}. Allocated: by NumPy and Python, including memory that was freed again. "
        "Resident peak: how far it rose during run, including native code, in whole pages."
    )
    what = f"RLS.run, bytes a row allocated beyond outputs, T = {count:,}"
    verdict = Verdict(what, taken["allocated"] - taken["held"], RUN_TARGET, "bytes")
    return Report([Table("Memory of run", header, rows, note)], [verdict])


def _models(names: tuple[str, ...]) -> Report:
    rows: list[list[Cell]] = []
    square = {}
    for name in names:
        size = {d: _probe("models", name, d, count)["bytes"] for d, count in COUNTS.items()}
        square[name], linear, fixed = np.polyfit(list(size), list(size.values()), deg=2).tolist()
        rows.append([name, *size.values(), square[name], linear, fixed])
    header = ("learner", *(f"d = {d}" for d in COUNTS), "a", "b", "c")
    note = (
        "Bytes a model: the growth of resident memory while a new process creates many models, after run and learn_one. "
        "a d² + b d + c is the parabola through the three sizes."
    )
    single = [name for name in names if regressors()[name].__module__.startswith("driftline.linear.")]  # not meta-learners
    worst = max(single, key=lambda name: square[name])
    verdict = Verdict(f"bytes of a linear learner for each d², largest ({worst})", square[worst], MODEL_TARGET, "bytes")
    return Report([Table("Memory of a model, float64", header, rows, note)], [verdict])


def _probe(*arguments: str | int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.memory_probe", *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    taken: dict[str, float] = json.loads(done.stdout)
    return taken
