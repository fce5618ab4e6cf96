"""Figures computed from a run log: sums over the whole stream and over windows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from driftline.base.events import Event
from driftline.evaluate import baselines
from driftline.report import words
from driftline.report.clock import DATES, ZONED
from driftline.report.hindsight import best_fixed, merged
from driftline.report.rows import SUMS
from driftline.report.run_log import RunLog
from driftline.tables.inputs import Array

WINDOWS = 256
LATELY = 500  # rows
SHORTEST = 16  # the fewest rows of a window, if the stream is long enough
BASELINES = {name: kind.title for name, kind in baselines.BASELINES.items()} | {"fixed": "best fixed linear model"}


@dataclass(frozen=True)
class Trajectory:
    """The weights of the features, (n, d), and the memory, (n,), after ``rows`` rows each."""

    rows: Array
    weights: Array
    memory: Array
    share_rows: Array  # rows after which the experts' weights were recorded
    shares: Array  # the weights of the experts, (n, k)
    experts: tuple[str, ...]


@dataclass
class Facts:
    """Figures of a run log, each computed on first access."""

    log: RunLog
    fine: dict[str, Array] = field(init=False)

    def __post_init__(self) -> None:
        self.fine = self.log.fine.buckets()
        self.model_summary: dict[str, Any] = self.log.model_summary()

    # The place of a row on the axis.

    @property
    def by_time(self) -> bool:
        """Whether the axis is time; otherwise it is the number of the row."""
        return self.log.clock is not None and self.log.in_order

    @property
    def by_date(self) -> bool:
        """Whether the axis is made of dates."""
        return self.by_time and self.log.clock in (DATES, ZONED)

    @property
    def axis(self) -> str:
        """The label of the axis."""
        if not self.by_time:
            return "row"
        return "time (UTC)" if self.log.clock == ZONED else "time"

    @cached_property
    def ends(self) -> tuple[Array, Array]:
        """First and last row of each bucket."""
        stop = np.cumsum(self.fine["rows"])
        return stop - self.fine["rows"], stop - 1

    def at(self, rows: Array) -> Array:
        """The places of rows on the axis."""
        rows = np.asarray(rows, dtype=np.float64)
        if not self.by_time:
            return rows
        known = np.stack(self.ends, axis=1).ravel()
        places: Array = np.interp(rows, known, np.stack([self.fine["start"], self.fine["end"]], axis=1).ravel())
        return places

    @property
    def span(self) -> tuple[float, float]:
        """The axis from its first to its last place."""
        first, last = self.at(np.array([0, self.log.rows - 1]))
        return float(first), float(last)

    def place(self, row: float) -> str:
        """A row's place in words."""
        where = float(self.at(np.array([row]))[0])
        first, last = self.span
        if self.by_date:
            return f"on {words.date(where, last - first)}"
        return f"at time {words.number(where, 6)}" if self.by_time else f"at row {row:,.0f}"

    def moment(self, row: float) -> str:
        """A row's place as tables show it, to the minute or second if rows are that close."""
        where = float(self.at(np.array([row]))[0])
        first, last = self.span
        if self.by_date:
            daily = (last - first) >= 0.99 * words.DAY * max(self.log.rows - 1, 1)
            return words.date(where, np.inf if daily else min(last - first, 100 * words.DAY))
        return words.number(where, 6) if self.by_time else f"row {row:,.0f}"

    # Windows.

    @cached_property
    def window(self) -> int:
        """The rows of a window."""
        fixed = self.log.hindsight
        width = max(self.log.fine.width, fixed.width if fixed else 1)
        rows = self.log.rows
        while rows > width * WINDOWS or (width < SHORTEST and rows > width * SHORTEST):
            width *= 2
        return width

    @cached_property
    def windows(self) -> dict[str, Array]:
        """The sums of the buckets by window."""
        each = max(self.window // self.log.fine.width, 1)
        starts = np.arange(0, len(self.fine["rows"]), each)
        with np.errstate(over="ignore", invalid="ignore"):
            return {name: np.add.reduceat(self.fine[name], starts) for name in SUMS}

    @cached_property
    def window_ends(self) -> Array:
        """The last row of each window."""
        return np.cumsum(self.windows["rows"]) - 1

    @cached_property
    def triangles(self) -> Array:
        """One for each stretch: see :mod:`driftline.report.hindsight`; none if the inputs were not recorded."""
        fixed = self.log.hindsight
        return np.empty((0, 3, 3)) if fixed is None or not self.sums["counted"] else fixed.triangles()

    @cached_property
    def _fixed(self) -> tuple[Array, Array, Array] | None:
        """Weights of the best fixed model, its losses by window, the spreads of the features."""
        fixed = self.log.hindsight
        if fixed is None or not len(self.triangles):
            return None
        return best_fixed(merged(self.triangles, self.window // fixed.width))

    @property
    def spreads(self) -> Array | None:
        """The standard deviations of the features."""
        if self._fixed is not None:
            return self._fixed[2]
        spread = self.log.spread
        return spread.deviations() if spread.count else None

    @cached_property
    def losses(self) -> dict[str, Array]:
        """Summed squared errors by window, of the model and the baselines."""
        found = {"model": self.windows["squared"]} | {name: self.windows[f"squared {name}"] for name in baselines.BASELINES}
        return found if self._fixed is None else {**found, "fixed": self._fixed[1]}

    # The whole stream.

    @cached_property
    def sums(self) -> dict[str, float]:
        """The sums over the whole stream."""
        with np.errstate(over="ignore", invalid="ignore"):
            return {name: float(self.fine[name].sum()) for name in SUMS}

    @cached_property
    def errors(self) -> dict[str, float]:
        """Root mean squared errors of the model and the baselines."""
        counted = self.sums["counted"]
        with np.errstate(over="ignore"):
            return {
                name: math.sqrt(float(loss.sum()) / counted) if counted else math.nan for name, loss in self.losses.items()
            }

    @cached_property
    def lately(self) -> tuple[float, int]:
        """The model's root mean squared error over the last buckets, of about 500 rows, and their number of rows."""
        rows = np.cumsum(self.fine["rows"][::-1])
        last = slice(-(int(np.searchsorted(rows, LATELY)) + 1), None)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            loss = self.fine["squared"][last].sum() / self.fine["counted"][last].sum()
        return float(np.sqrt(loss)), int(self.fine["rows"][last].sum())

    @property
    def coverage(self) -> float | None:
        """The share of labels inside their intervals."""
        return self.sums["inside finite"] / self.sums["judged"] if self.sums["judged"] else None

    @cached_property
    def trajectory(self) -> Trajectory:
        """Weights and memory along the stream, ending with the current model."""
        kept, rows = self.log.snapshots, self.log.rows
        now = np.array(self.model_summary.get("weights", ()), dtype=np.float64)
        width, shares = kept.weights.shape[1], (kept.rows[kept.mixed], kept.shares[kept.mixed], kept.experts)
        if not self.model_summary or len(now) < width:
            return Trajectory(kept.rows, kept.weights, kept.memory, *shares)
        which = kept.whole(rows) & (kept.rows < rows - 1)
        weights = np.concatenate([kept.weights[which], now[None, :width]])
        memory = self.model_summary["memory"]
        return Trajectory(
            np.append(kept.rows[which], rows - 1),
            weights,
            np.append(kept.memory[which], np.nan if memory is None else memory),
            *shares,
        )

    @property
    def memory(self) -> tuple[float, float] | None:
        """The memory of the model in rows: its median over the second half of the stream, and at the end."""
        later = np.isfinite(self.trajectory.memory) & (2 * self.trajectory.rows >= self.log.rows - 1)
        known = self.trajectory.memory[later]
        return (float(np.median(known)), float(known[-1])) if len(known) else None

    @cached_property
    def alarm_rows(self) -> Array:
        """The rows that raised the latest alarms."""
        return np.array([record.row for record in self.log.alarms.records()], dtype=np.int64)

    @cached_property
    def events(self) -> list[Event]:
        """What changed."""
        return self.log.watch.events

    @cached_property
    def reset_rows(self) -> Array:
        """The first rows of the buckets in which there were resets."""
        return self.ends[0][self.fine["resets"] > 0]

    @cached_property
    def names(self) -> list[str]:
        """The names of the features."""
        known = self.model_summary.get("names") or self.log.names or []
        letter = "x" if self.log.features or self.model_summary else "weight "  # without either, only weights are known
        width = max(self.log.features, len(self.model_summary.get("weights", ())), self.log.snapshots.weights.shape[1])
        return [*known[:width], *(f"{letter}{place}" for place in range(len(known), width))] if width else list(known)
