"""A bar on a terminal: how far, how fast, how well, how long still."""

from __future__ import annotations

import sys
from time import monotonic
from typing import Any, Self

from driftline.base.learner import Learner
from driftline.cli.scoring import Score

PAUSE = 0.2  # seconds between two changes


class Progress:
    """Shows nothing where the standard error is no terminal.

    Args:
        rows: how many there are, where that is known.
        size: how many bytes there are, where that is known.
        show: whether to show anything.
    """

    def __init__(self, rows: int | None, size: int | None, *, show: bool) -> None:
        self.rows, self.size = rows, size
        self.show = show and sys.stderr.isatty()
        self._bar: Any = None
        self._task: Any = None
        self._last = self._began = monotonic()
        self._first: int | None = None

    def advance(self, done: int, consumed: int | None, score: Score, model: Learner) -> None:
        """Says how many rows are done, and of how many bytes."""
        if self._first is None:
            self._first = done
        now = monotonic()
        if self._bar is None or now - self._last < PAUSE:
            return
        self._last = now
        rate = (done - self._first) / (now - self._began)
        error = score.figures()["rmse"]
        words = [f"{done:,} rows", f"{rate:,.0f} rows/s"]
        if error is not None:
            words.append(f"error {error:.4g}")
        memory = model._memory() if model._core is not None else None
        if memory is not None:
            words.append(f"memory {memory:,.0f} rows")
        completed, total = (done, self.rows) if self.rows is not None else (consumed or 0, self.size)
        self._bar.update(self._task, completed=completed, total=total, words="  ".join(words))

    def __enter__(self) -> Self:
        if self.show:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (BarColumn(), TextColumn("{task.fields[words]}"), TimeRemainingColumn())
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("run", total=self.rows or self.size, words="")
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
