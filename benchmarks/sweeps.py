"""Sweeps: the time of one setting out of 64, over that of a run by itself; all cores are used."""

from __future__ import annotations

import os

import numpy as np

import driftline as dl
from benchmarks.data import gaussian
from benchmarks.report import Report, Table, Verdict
from benchmarks.timing import Case, compare

D, SETTINGS, TARGET = 20, 64, 0.6


def measure(quick: bool) -> Report:
    rows = 50_000 if quick else 1_000_000
    X, y = gaussian(rows, D)
    grid = {"forgetting": np.linspace(0.9, 0.9999, SETTINGS).tolist()}
    allowed = os.sched_getaffinity(0)
    cases = [
        Case("one run", lambda: dl.RLS().run(X, y), rows),
        Case("sweep", lambda: _on_all_cores(allowed, grid, X, y), rows * SETTINGS),
    ]
    timed = compare(cases, 2 if quick else 3)
    ratio = timed.ratio("sweep", "one run")
    lines = [("one run", timed.median("one run") * 1e9, 1.0), ("sweep, a setting", timed.median("sweep") * 1e9, ratio)]
    note = f"RLS, d = {D}, {rows:,} rows, {SETTINGS} settings, {os.cpu_count()} cores. Nanoseconds a row and setting."
    verdict = Verdict("sweep, a setting / one run", ratio, TARGET, "ratio")
    return Report([Table("Sweep", ("what", "ns a row", "ratio"), lines, note)], [verdict])


def _on_all_cores(before: set[int], grid: dict[str, list[float]], X: np.ndarray, y: np.ndarray) -> None:
    """The other benchmarks are pinned to one core."""
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        dl.sweep(dl.RLS(), grid, X, y)
    finally:
        os.sched_setaffinity(0, before)
