"""``driftline report``: the page of a run, from its saved state."""

from __future__ import annotations

from pathlib import Path

from driftline.base.levels import as_spread
from driftline.cli import checkpoint
from driftline.cli.checkpoint import Checkpoint, StateError
from driftline.cli.measures import Errors
from driftline.delayed import Forecaster
from driftline.report import RunLog
from driftline.report.page import write_page


def write(state: Path, out: Path) -> int:
    """Writes the page; returns how many rows it shows. Raises StateError if the run gathered no report."""
    kept = checkpoint.load(state)
    if "report" not in kept.parts:
        raise StateError(f"{state}: was saved by a run without --report, which collects the data for the page")
    write_page(RunLog.restore(kept.parts["report"]), out, command=f"driftline report {state}", steps=_by_step(kept))
    return kept.rows


def _by_step(kept: Checkpoint) -> list[dict[str, float | None]]:
    """The figures of a forecaster at each step; empty for any other model."""
    if not isinstance(kept.model, Forecaster):
        return []
    spread, found = as_spread("report", kept.settings["level"], kept.settings.get("quantiles")), []
    for step in range(kept.model.steps):
        score = Errors().score_of_step(step, spread)
        score.restore(kept.parts[f"score {step}"])
        found.append(score.figures())
    return found
