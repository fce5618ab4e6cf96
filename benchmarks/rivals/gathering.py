"""Gathers all results into the file that the library ships."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.rivals.methods import ORDER
from driftline import streams
from papers.dfop_fig1 import STAGES
from papers.rivals import FILE, fingerprint, same

ABOUT = ("origin", "words", "library")
SCORES = ("subsets", "scores", "microseconds")


def gathered(keep: Path) -> dict[str, Any]:
    """Methods and data sets of both tasks, and DWM's curves."""
    found: dict[str, Any] = {"machine": machine.machine(), "methods": {}, "data_sets": {}, "holdout": {}}
    for task, order in ORDER.items():
        about, sets = {}, {}
        for folder in sorted((keep / task).iterdir()):
            records = {name: json.loads(path.read_text()) for name in order if (path := folder / f"{name}.json").exists()}
            first = next(iter(records.values()))["fingerprint"]
            for name, record in records.items():
                if not same(first, record["fingerprint"]):
                    raise ValueError(f"{folder / name} was measured on other rows; remove it and measure again")
                about[name] = {key: record[key] for key in ABOUT}
            rows = {name: {key: rounded(record[key]) for key in SCORES} for name, record in records.items()}
            sets[folder.name] = {"fingerprint": first, "methods": rows}
        found["methods"][task] = {name: about[name] for name in order if name in about}
        found["data_sets"][task] = sets
    for name in STAGES:
        path = keep / f"holdout {name}.json"
        if path.exists():
            first = fingerprint(*streams.make(name.lower(), seed=0).take())
            found["holdout"][name] = {"fingerprint": first, "DWM": json.loads(path.read_text())}
    return found


def rounded(value: Any) -> Any:
    """Numbers with seven digits."""
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value


def write(keep: Path) -> None:
    FILE.write_text(lines(gathered(keep)), "utf-8")
    print(f"{FILE}: {FILE.stat().st_size:,} bytes")


def lines(content: dict[str, Any]) -> str:
    """JSON with a line for each method of a data set, so that a diff shows which figures changed."""
    folded: list[str] = []

    def fold(value: Any, depth: int) -> Any:
        if depth and isinstance(value, dict):
            return {name: fold(item, depth - 1) for name, item in value.items()}
        folded.append(json.dumps(value, ensure_ascii=False))
        return f"@{len(folded) - 1}@"

    text = json.dumps(fold(content, 5), indent=1, ensure_ascii=False)
    return re.sub(r'"@(\d+)@"', lambda found: folded[int(found[1])], text) + "\n"
