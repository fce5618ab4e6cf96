"""The stored measurements of this machine: a new one replaces the earlier one of the same name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.report import Report, Table, Verdict, verdict_table
from driftline.storage import atomic


class Ledger:
    """The stored figures (JSON), tables (Markdown) and pictures.

    Args:
        stem: the common part of their paths.
    """

    def __init__(self, stem: Path) -> None:
        self.stem = stem

    def enter(self, name: str, report: Report, facts: dict[str, str]) -> None:
        """Stores a report. Reports of other machines are removed."""
        here = machine.machine()
        kept = self._read()
        reports: dict[str, Any] = kept["reports"] if kept and kept["machine"] == here else {}
        reports[name] = {"facts": facts, **report.figures()}
        text = json.dumps({"machine": here, "reports": reports}, indent=1)
        atomic.write(self._path(".json"), f"{text}\n".encode())
        atomic.write(self._path(".md"), _markdown(here, reports).encode())
        for picture, draw in report.pictures.items():
            draw(self._path(f"_{picture}.png"))

    def _read(self) -> dict[str, Any]:
        try:
            kept = json.loads(self._path(".json").read_text())
            return {"machine": kept["machine"], "reports": dict(kept["reports"])}
        except (OSError, ValueError, KeyError, TypeError):  # no file yet, or of another format
            return {}

    def _path(self, ending: str) -> Path:
        return self.stem.with_name(self.stem.name + ending)


def _markdown(here: dict[str, str], reports: dict[str, Any]) -> str:
    verdicts = [Verdict(**verdict) for report in reports.values() for verdict in report["verdicts"]]
    parts = ["# Results", "\n".join(f"- {key}: {value}" for key, value in here.items())]
    if verdicts:
        parts.append(verdict_table(verdicts).markdown())
    for report in reports.values():
        parts += [Table(**table).markdown() for table in report["tables"]]
        facts = report["facts"]
        parts.append(
            f"{facts['command']}, {facts['date']}, commit {facts['commit']}, load {facts['load']}; {facts['versions']}."
        )
    return "\n\n".join(parts) + "\n"
