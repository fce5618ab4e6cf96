"""``python -m benchmarks [names] [--quick] [--docs]``: runs benchmarks, prints and stores tables and pictures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from benchmarks import machine
from benchmarks.ledger import Ledger
from benchmarks.report import Report
from benchmarks.timing import pin

NAMES = (
    "one_row",
    "replay",
    "dimensions",
    "instructions",
    "imports",
    "tracking",
    "learners",
    "memory",
    "accuracy",
    "intervals",
    "evaluation",
    "sweeps",
    "fleet",
    "high_dimension",
    "echo",
    "kernels",
    "soak",
    "capymoa_rows",
    "spark",
)
APART = ("capymoa_rows", "spark")  # each needs its own environment
FOLDER = Path(__file__).parent


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="name", help=f"one of {', '.join(NAMES)}; by default all except {', '.join(APART)}"
    )
    parser.add_argument("--quick", action="store_true", help="few rounds: a check that everything runs")
    parser.add_argument("--docs", action="store_true", help="also write the tables and the pictures to the documentation")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")

    if options.quick and options.docs:
        parser.error("--quick cannot be combined with --docs: the documentation needs full runs")

    pin()
    commit = machine.commit()  # before anything is written
    failures: list[str] = []
    for name in options.names or [name for name in NAMES if name not in APART]:
        load = machine.load()
        report = _measure(name, options.quick)
        print(*(f"{table.text()}\n" for table in report.tables), sep="\n")
        print(report.verdict_lines(), flush=True)
        failures += report.failures
        facts = {
            "command": f"`python -m benchmarks {name}{' --quick' if options.quick else ''}`",
            "commit": commit,
            "load": load,
            **machine.circumstances(),
        }
        for stem in [FOLDER / "results", *([FOLDER.parent / "docs" / "_static" / "benchmarks"] if options.docs else [])]:
            Ledger(stem).enter(name, report, facts)
    print(*failures, sep="\n")
    return 1 if failures else 0


def _measure(name: str, quick: bool) -> Report:
    """Imports the benchmark by name, after the environment is pinned, so that only its own packages are needed."""
    try:
        module = import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as error:
        needed = f"benchmarks/requirements{'-capymoa' if name in APART else ''}.txt"
        sys.exit(f"benchmark {name} needs {error.name}: pip install -r {needed}")
    report: Report = module.measure(quick)
    return report


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
