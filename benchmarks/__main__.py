"""``python -m benchmarks [names] [--quick] [--docs]``: run, print the tables, write them with their figures and pictures."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from benchmarks import machine
from benchmarks.report import Report, Table, verdict_table
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
)
FOLDER = Path(__file__).parent


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(NAMES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="few rounds: a check that everything runs")
    parser.add_argument("--docs", action="store_true", help="the tables and the pictures go to the documentation too")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")

    pin()
    reports = {}
    for name in options.names or NAMES:
        reports[name] = _measure(name, options.quick)
        print(*(f"{table.text()}\n" for table in reports[name].tables), sep="\n", flush=True)
    everything = [table for report in reports.values() for table in report.tables]
    verdicts = [verdict for report in reports.values() for verdict in report.verdicts]
    if verdicts:
        targets = verdict_table(verdicts)
        print(targets.text())
        everything.insert(0, targets)
    failures = [failure for report in reports.values() for failure in report.failures]
    print(*failures, sep="\n")
    facts = machine.facts(f"python -m benchmarks {' '.join(arguments)}".strip())
    _write(FOLDER, "results", reports, everything, facts)
    if options.docs:
        _write(FOLDER.parent / "docs" / "_static", "benchmarks", reports, everything, facts)
    return 1 if failures else 0


def _measure(name: str, quick: bool) -> Report:
    """Imported by name, so that the environment is pinned before NumPy and only what is asked for is needed."""
    try:
        module = import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as error:
        sys.exit(f"benchmark {name} needs {error.name}: pip install -r benchmarks/requirements.txt")
    report: Report = module.measure(quick)
    return report


def _write(folder: Path, stem: str, reports: dict[str, Report], tables: Sequence[Table], facts: dict[str, str]) -> None:
    """The figures as JSON, the tables as Markdown, and the pictures."""
    figures = {name: report.figures() for name, report in reports.items()}
    (folder / f"{stem}.json").write_text(json.dumps({"facts": facts, "reports": figures}, indent=1) + "\n")
    lines = ["# Results", "", *(f"- {key}: {value}" for key, value in facts.items()), ""]
    (folder / f"{stem}.md").write_text("\n".join([*lines, *(f"{table.markdown()}\n" for table in tables)]))
    for report in reports.values():
        for name, draw in report.pictures.items():
            draw(folder / f"{stem}_{name}.png")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
