"""How learners and runs are displayed: as a page, as a picture, and in a notebook."""

from __future__ import annotations

import os
from typing import Any

from driftline.base.run import Run
from driftline.report.notebook import explanation_html, fleet_html, forecast_html, learner_html, run_html
from driftline.report.picture import draw
from driftline.report.run_log import RunLog

__all__ = ["explanation_html", "fleet_html", "forecast_html", "learner_html", "plot", "run_html", "write_report"]


def write_report(
    run: Run, path: str | os.PathLike[str], X: Any, *, command: str | None, title: str | None, **options: Any
) -> None:
    """:meth:`driftline.Run.report`."""
    RunLog.of(run, X, **options).write(path, command=command, title=title)


def plot(run: Run, X: Any, *, path: str | os.PathLike[str] | None, **options: Any) -> Any:
    """:meth:`driftline.Run.plot`."""
    return draw(RunLog.of(run, X, **options), path)
