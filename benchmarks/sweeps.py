"""Sweeps: the time of one of 64 settings, relative to a separate run; uses all cores."""

from __future__ import annotations

import os

import numpy as np

import driftline as dl
from benchmarks.data import gaussian
from benchmarks.report import Report, Table, Verdict
from benchmarks.timing import Case, compare, on_all_cores

D, SETTINGS, TARGET = 20, 64, 0.6


def measure(quick: bool) -> Report:
    rows = 50_000 if quick else 1_000_000
    X, y = gaussian(rows, D)
    grid = {"forgetting": np.linspace(0.9, 0.9999, SETTINGS).tolist()}
    cases = [
        Case("one run", lambda: dl.RLS().run(X, y), rows),
        Case("sweep", lambda: on_all_cores(lambda: dl.sweep(dl.RLS(), grid, X, y)), rows * SETTINGS),
    ]
    timed = compare(cases, 2 if quick else 3)
    ratio = timed.ratio("sweep", "one run")
    lines = [("one run", timed.median("one run") * 1e9, 1.0), ("sweep, a setting", timed.median("sweep") * 1e9, ratio)]
    note = f"RLS, d = {D}, {rows:,} rows, {SETTINGS} settings, {os.cpu_count()} cores. Nanoseconds a row and setting."
    verdict = Verdict("sweep, a setting / one run", ratio, TARGET, "ratio")
    return Report([Table("Sweep", ("what", "ns a row", "ratio"), lines, note)], [verdict])
