"""``python -m benchmarks [names] [--quick]``: run, print the tables, write results.json and results.md."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from importlib import import_module, metadata
from pathlib import Path

from benchmarks.report import Report, Table, verdict_table
from benchmarks.timing import pin

NAMES = (
    "one_row",
    "replay",
    "learners",
    "memory",
    "accuracy",
    "intervals",
    "evaluation",
    "sweeps",
    "fleet",
    "high_dimension",
    "kernels",
    "soak",
)
PACKAGES = ("driftline", "numpy", "scipy", "river", "padasip", "filterpy", "numba", "scikit-learn", "mpmath", "vowpalwabbit")
FOLDER = Path(__file__).parent


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(NAMES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="few rounds: a check that everything runs")
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
    _write(reports, everything, f"python -m benchmarks {' '.join(arguments)}".strip())
    return 1 if failures else 0


def _measure(name: str, quick: bool) -> Report:
    """Imported by name, so that the environment is pinned before NumPy and only what is asked for is needed."""
    try:
        module = import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as error:
        sys.exit(f"benchmark {name} needs {error.name}: pip install -r benchmarks/requirements.txt")
    report: Report = module.measure(quick)
    return report


def _write(reports: dict[str, Report], tables: Sequence[Table], command: str) -> None:
    facts = {
        "date": date.today().isoformat(),
        "command": command,
        "processor": _processor(),
        "python": platform.python_version(),
        **_versions(),
    }
    figures = {name: asdict(report) for name, report in reports.items()}
    (FOLDER / "results.json").write_text(json.dumps({"facts": facts, "reports": figures}, indent=1))
    lines = ["# Results", "", *(f"- {key}: {value}" for key, value in facts.items()), ""]
    lines += [f"{table.markdown()}\n" for table in tables]
    (FOLDER / "results.md").write_text("\n".join(lines))


def _versions() -> dict[str, str]:
    installed = {}
    for package in PACKAGES:
        try:
            installed[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            installed[package] = "not installed"
    return installed


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
