"""``driftline compare``: several learners over one source, in one pass."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.cli.measures import Errors, WrongClasses, standing
from driftline.errors import DriftlineWarning
from driftline.evaluate import Progress, Table
from driftline.evaluate.scores import Score
from driftline.evaluate.stretches import LossesByStretch, holm
from driftline.files import Block, DataError, Follower, Options, Rows
from driftline.files.options import CLASSIFY
from driftline.tables.inputs import Array

LEVEL = 0.05  # significance level


@dataclass
class Competitor:
    """A learner in the comparison."""

    name: str
    model: Learner
    follower: Follower
    measure: Errors
    score: Score
    seconds: float = 0.0
    failure: DataError | None = None

    def step(self, block: Block) -> Array:
        """Predicts and learns a block, unless a row was refused before; returns the losses, or zeros."""
        if self.failure is None:
            began = perf_counter()
            try:
                run = self.follower.step(block)
            except DataError as error:
                self.failure = error
            else:
                self.seconds += perf_counter() - began
                assert block.y is not None
                self.score.add(run, block.y)
                return self.measure.losses(run)
        return np.zeros(len(block))

    @property
    def loss(self) -> float:
        """The loss that ranks it; infinite if there is nothing to measure."""
        found = self.measure.loss(self.score.figures())
        return math.inf if self.failure is not None or found is None else found


@dataclass(frozen=True)
class ComparisonResult:
    """The result of a comparison."""

    source: str
    rows: int
    entries: list[Competitor]
    losses: LossesByStretch

    def ranked(self) -> list[Competitor]:
        """The learners, the best first."""
        return sorted(self.entries, key=lambda entry: entry.loss)

    def p_values(self) -> dict[str, float]:
        """The probability that chance alone makes a learner differ this much from the best, adjusted for several tests."""
        ranked = [entry for entry in self.ranked() if math.isfinite(entry.loss)]
        if not ranked:
            return {}
        best, *others = ranked
        places = {entry.name: place for place, entry in enumerate(self.entries)}
        tests = [self.losses.test(places[best.name], places[other.name]).p_value for other in others]
        if any(map(math.isnan, tests)):
            return {}
        return dict(zip((other.name for other in others), holm(tests), strict=True))

    def verdict(self) -> str:
        """Which learners are significantly worse than the best."""
        found, best = self.p_values(), self.ranked()[0].name
        if not found:
            return ""
        worse = [name for name, p_value in found.items() if p_value < LEVEL]
        level = f"at the {100 * LEVEL:g} % level"
        if not worse:
            return f"No learner is significantly worse than {best}, {level}"
        rest = [name for name in found if name not in worse]
        too = f"; {', '.join(rest)} may do as well" if rest else ""
        return f"Significantly worse than {best}, {level}: {', '.join(worse)}{too}"

    def table(self) -> Table:
        """The learners, the best first, and the baselines."""
        measure, entries, p_values = self.entries[0].measure, self.ranked(), self.p_values()
        rows: list[list[Any]] = []
        for entry in entries:
            cells = [None] * len(measure.columns) if entry.failure else measure.cells(entry.score.figures())
            rows.append([entry.name, *cells, p_values.get(entry.name), round(entry.seconds, 3)])
        sound = next((entry for entry in entries if not entry.failure), None)
        if sound is not None:
            rows += [[f"({name})", *cells, None, None] for name, cells in measure.baselines(sound.score.figures())]
        columns = ("model", *measure.columns, "p against the best", "seconds")
        return Table(columns, rows, caption=f"{self.source}: {self.rows:,} rows")


def compare(source: str, options: Options, models: dict[str, Learner], *, delay: int, show: bool) -> ComparisonResult:
    """Lets learners predict and learn the same rows. A learner that refuses a row drops out."""
    rows = Rows(source, options)
    measure = WrongClasses() if options.task == CLASSIFY else Errors()
    entries = [
        Competitor(name, model, Follower(model, delay=delay), measure, measure.score(delay))
        for name, model in models.items()
    ]
    first, done, losses = entries[0], 0, LossesByStretch(len(entries))
    with Progress(rows.count, show=show) as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", DriftlineWarning)  # reported at the end
        for block in rows:
            block.X.kept = {}  # all learners share the encoded rows
            losses.add(np.column_stack([entry.step(block) for entry in entries]))
            done += len(block)
            bar.advance(len(block), rows.share(block.consumed), lambda: standing(first.score, first.model))
    if not done:
        raise DataError("has a header but no rows", source=rows.name)
    failures = [entry.failure for entry in entries if entry.failure is not None]
    if len(failures) == len(entries):
        raise failures[0].within(rows.name)
    return ComparisonResult(rows.name, done, entries, losses)
