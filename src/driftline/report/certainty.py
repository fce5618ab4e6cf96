"""How good intervals and quantiles were, beside those of simple baselines, and whether the quantiles held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from driftline.base.levels import as_spread
from driftline.base.run import Run
from driftline.evaluate.baselines import BASELINES
from driftline.evaluate.certainty import shares, shares_below
from driftline.evaluate.metrics import CRPS, Coverage, IntervalScore, Metric, OfBaseline, Pinball, Predicted, Width
from driftline.evaluate.scores import Score, Settings
from driftline.report import words
from driftline.report.rows import RunRows
from driftline.storage.resumable import Resumable, part_of
from driftline.tables.inputs import Array

OFTEN = 2  # standard deviations of a share of independent rows, on either side


class CertaintyLog(Resumable):
    """Collects the scores of intervals and quantiles; the result does not depend on how the stream is cut.

    Args:
        level: the level of the intervals; None if it is not known.
        delay: the number of rows by which labels are late, for the baselines.
    """

    def __init__(self, level: float | None = None, delay: int = 0) -> None:
        self.level, self.delay = level, delay
        self.levels: Array | None = None  # of the quantiles, as in the first block
        self.score: Score | None = None  # from the first block on

    def check(self, run: Run, where: str) -> None:
        """Raises ValueError unless the run has the same quantiles as those before."""
        given = None if run.quantiles is None else run.quantile_levels
        if self.score is not None and not np.array_equal(
            np.empty(0) if given is None else given, np.empty(0) if self.levels is None else self.levels
        ):
            spelt = ["none" if each is None else str(each.tolist()) for each in (self.levels, given)]
            raise ValueError(f"{where}: quantiles were {spelt[0]} in earlier blocks, and are {spelt[1]} now")

    def add(self, rows: RunRows) -> None:
        """Adds the rows of a block that :meth:`check` has accepted."""
        run = rows.run
        if self.score is None:
            self.levels = None if run.quantiles is None else run.quantile_levels
            self.score = self._begun()
        if self.score.settings.metrics:
            lower, upper = rows.ends
            labels = np.where(rows.counted, rows.y, np.nan)
            self.score.add(Predicted(rows.predictions, lower, upper, run.quantiles), labels, baselines=rows.baselines)

    def _begun(self) -> Score:
        metrics: list[Metric] = []
        if self.level is not None:
            metrics += [IntervalScore(self.level), Coverage(), Width()]
        if self.levels is not None:
            metrics += [CRPS(self.levels), *(Pinball(level, self.levels) for level in self.levels.tolist())]
        beside = [OfBaseline(metric, name, _of(metric.name, name)) for name in BASELINES for metric in metrics]
        own = [] if self.levels is None else shares_below(self.levels)
        spread = as_spread("RunLog", self.level, self.levels)
        return Score(Settings.totals([*metrics, *own, *beside], spread), delay=self.delay)

    def state(self) -> dict[str, Any]:
        """The levels and the sums."""
        own = {} if self.score is None else self.score.state()
        levels = None if self.levels is None else self.levels.tolist()
        plain = {"level": self.level, "levels": levels, "begun": self.score is not None}
        return {**plain, **{f"score/{name}": value for name, value in own.items()}}

    def resume(self, state: Mapping[str, Any]) -> Self:
        """Continues from a state."""
        self.level = state["level"]
        self.levels = None if state["levels"] is None else np.array(state["levels"], dtype=np.float64)
        self.score = None
        if state["begun"]:
            self.score = self._begun()
            self.score.restore(part_of(state, "score"))
        return self


def _of(metric: str, baseline: str) -> str:
    return f"{metric} of {baseline}" if baseline else metric


@dataclass(frozen=True)
class Certainty:
    """The scores as the page shows them; lists start with those of the model.

    Attributes:
        level: of the intervals, in words; empty without intervals.
        names: of the model and the baselines.
        table: a heading and a figure for each name, for each column of the table.
        finding: one sentence.
        quantiles: for each quantile its level, the share of labels below it, and its pinball losses.
        reliability: levels, shares below and at most equal to the quantiles, as arrays; None without quantiles.
        rows: the number of rows with quantiles.
    """

    level: str
    names: list[str]
    table: list[tuple[str, list[str]]]
    finding: str
    quantiles: list[tuple[str, str, list[str]]]
    reliability: dict[str, Array] | None
    rows: float


def certainty(log: CertaintyLog, model: str) -> Certainty | None:
    """What a log holds; None if there was nothing to score."""
    if log.score is None or not log.score.settings.metrics or not log.score.scored:
        return None
    totals = log.score.totals()
    who = {"": model, **{name: kind.title for name, kind in BASELINES.items()}}

    def row(metric: str, spell: Any = words.number) -> list[str]:
        return [_spelt(totals[_of(metric, name)], spell) for name in who]

    table: list[tuple[str, list[str]]] = []
    if log.level is not None and np.isfinite(totals["interval_score"]):
        scored = (("interval score", "interval_score", words.number), ("inside", "coverage", words.share))
        table += [(title, row(name, spell)) for title, name, spell in (*scored, ("mean width", "width", words.number))]
    ranked = "interval_score" if table else "crps"
    known = log.levels is not None and np.isfinite(totals["crps"])
    if known:
        table.insert(0, ("CRPS", row("crps")))
        ranked = "crps"
    if not table:
        return None
    assert log.score is not None
    levels = log.levels if known and log.levels is not None else np.empty(0)
    found = shares(totals, levels) if known else None
    quantiles = [
        (f"{level:g}", words.share(totals[f"below_{level!r}"]), row(f"pinball_{level!r}")) for level in levels.tolist()
    ]
    own, others = totals[ranked], {name: totals[_of(ranked, name)] for name in BASELINES}
    best = min(others, key=lambda name: np.nan_to_num(others[name], nan=np.inf))
    what = "CRPS of the quantiles" if known else "interval score"
    finding = (
        f"The {what} is {words.compared(own, others[best])} that of the {BASELINES[best].title}, the best of the baselines."
    )
    asked = "" if log.level is None else words.level(log.level)
    return Certainty(
        asked, list(who.values()), table, finding, quantiles, found, log.score.sums().get("finite quantiles", 0.0)
    )


def _spelt(value: float, spell: Any) -> str:
    return str(spell(value)) if np.isfinite(value) else "–"
