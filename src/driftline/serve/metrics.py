"""Numbers for Prometheus, in its text format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

_ABOUT = {
    "commits": ("counter", "Committed groups of calls."),
    "entries": ("counter", "Calls written to the log."),
    "learned": ("counter", "Learned rows."),
    "snapshots": ("counter", "Saved learners."),
    "refused_full": ("counter", "Calls refused because the disk was full."),
}
_OF_MODELS = {
    "rows": ("counter", "Labels that a model has learned."),
    "waiting": ("gauge", "Rows that wait for their labels."),
    "dropped": ("counter", "Rows dropped because too many were waiting."),
    "mse": ("gauge", "Mean squared error of the predictions."),
    "mae": ("gauge", "Mean absolute error of the predictions."),
    "coverage": ("gauge", "Share of labels inside their interval."),
    "alarms": ("counter", "Alarms."),
}


def text(counts: dict[str, int], models: list[dict[str, Any]], calls: dict[int, int], gauges: Mapping[str, float]) -> str:
    """All metrics of a service."""
    lines: list[str] = []
    for name, value in counts.items():
        lines += _metric(f"driftline_{name}_total", *_ABOUT[name], [("", value)])
    by_status = [(f'{{status="{status}"}}', count) for status, count in sorted(calls.items())]
    lines += _metric("driftline_calls_total", "counter", "Calls by the status of their answer.", by_status)
    for name, (kind, about) in _OF_MODELS.items():
        values = [(f'{{model="{model["name"]}"}}', model[name]) for model in models if model[name] is not None]
        ending = "_total" if kind == "counter" else ""
        lines += _metric(f"driftline_model_{name}{ending}", kind, about, values)
    beside = [
        (f'{{model="{model["name"]}",baseline="{baseline}"}}', error)
        for model in models
        for baseline, error in model["baselines"].items()
        if error is not None
    ]
    lines += _metric("driftline_model_baseline_mse", "gauge", "Mean squared error of a baseline on the same labels.", beside)
    for name, gauge in {**gauges, "resident_bytes": resident()}.items():
        lines += _metric(f"driftline_{name}", "gauge", name.replace("_", " ").capitalize() + ".", [("", gauge)])
    return "\n".join(lines) + "\n"


def resident() -> int:
    """Bytes of memory of this process; 0 if the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def _metric(name: str, kind: str, about: str, values: Iterable[tuple[str, float]]) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}", *(f"{name}{labels} {value!r}" for labels, value in values)]
