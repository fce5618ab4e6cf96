"""Import time: ``import driftline`` in a new process, compared with NumPy, which it imports, and with other libraries."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.report import Report, Table, Verdict
from benchmarks.timing import Case, compare

MODULES = ("driftline", "numpy", "river.linear_model", "sklearn.linear_model", "padasip", "filterpy.kalman")
TARGET = 0.3


def measure(quick: bool) -> Report:
    nothing = "no import"
    cases = [Case(nothing, lambda: _start("pass"), 1)]
    cases += [Case(module, lambda module=module: _start(f"import {module}"), 1) for module in MODULES]  # type: ignore[misc]
    timed = compare(cases, 2 if quick else 9)
    rows = [(label, timed.median(label), timed.minimum(label)) for label in timed.rounds]
    note = "Seconds from the start of an interpreter to its end, with all files in the file cache."
    verdict = Verdict(
        "import driftline, beyond an empty interpreter", timed.median("driftline") - timed.median(nothing), TARGET, "s"
    )
    return Report([Table("Import", ("import", "median s", "minimum s"), rows, note)], [verdict])


def _start(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True)
