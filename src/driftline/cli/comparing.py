"""``driftline compare``: several learners over one source, in one pass."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.cli.scoring import add_run, figures, make_scorer, r2_in_words, standing
from driftline.errors import DriftlineWarning
from driftline.evaluate import Progress, Table
from driftline.evaluate.baselines import BASELINES, LastValue
from driftline.evaluate.metrics import BaselineRMSE
from driftline.evaluate.scorer import Scorer
from driftline.evaluate.stretches import LossesByStretch, holm
from driftline.evaluate.tables import Cell, Value
from driftline.files import Block, DataError, Follower, Options, Rows
from driftline.tables.inputs import Array

COLUMNS = ("model", "rmse", "mae", "r2", "rmse / last value's", "p against the best", "seconds")
LEVEL = 0.05  # significance level


@dataclass
class Entry:
    """A learner in the comparison."""

    name: str
    model: Learner
    follower: Follower
    score: Scorer
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
                add_run(self.score, run, block)
                return run.losses
        return np.zeros(len(block))

    @property
    def rmse(self) -> float:
        """The error so far, infinite if there is none."""
        found = figures(self.score)["rmse"]
        return math.inf if self.failure is not None or found is None else found


@dataclass(frozen=True)
class Contest:
    """The result of a comparison."""

    source: str
    rows: int
    entries: list[Entry]
    losses: LossesByStretch

    def ranked(self) -> list[Entry]:
        """The learners, best first."""
        return sorted(self.entries, key=lambda entry: entry.rmse)

    def p_values(self) -> dict[str, float]:
        """p-values of each learner's difference from the best, adjusted for the number of tests."""
        ranked = [entry for entry in self.ranked() if math.isfinite(entry.rmse)]
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
        level = f"at the level of {100 * LEVEL:g} %"
        if not worse:
            return f"No learner is worse than {best} beyond chance, {level}"
        rest = [name for name in found if name not in worse]
        too = f"; {', '.join(rest)} may do as well" if rest else ""
        return f"Worse than {best} beyond chance, {level}: {', '.join(worse)}{too}"

    def table(self) -> Table:
        """The learners, best first, and the baselines."""
        found = {entry.name: figures(entry.score) for entry in self.entries}
        entries, p_values = self.ranked(), self.p_values()
        rows: list[list[Any]] = []
        for entry in entries:
            own = found[entry.name]
            errors = [None] * 4 if entry.failure else [own["rmse"], own["mae"], _r2(own["r2"]), _ratio(own, "rmse")]
            rows.append([entry.name, *errors, p_values.get(entry.name), round(entry.seconds, 3)])
        base = next((found[entry.name] for entry in entries if not entry.failure), None)
        if base is not None:
            for name, kind in BASELINES.items():
                key = BaselineRMSE(name).name
                rows.append([f"({kind.title})", base[key], None, None, _ratio(base, key), None, None])
        return Table(COLUMNS, rows, caption=f"{self.source}: {self.rows:,} rows")


def _r2(value: float | None) -> Value | Cell:
    return value if value is None or value >= -1 else Cell(value, r2_in_words(value))


def _ratio(own: dict[str, float | None], key: str) -> float | None:
    """An error relative to the last value's."""
    error, last = own[key], own[BaselineRMSE(LastValue.name).name]
    return error / last if error is not None and last else None


def compare(source: str, options: Options, models: dict[str, Learner], *, delay: int, show: bool) -> Contest:
    """Lets learners predict and learn the same rows. A learner that refuses a row drops out."""
    rows = Rows(source, options)
    entries = [Entry(name, model, Follower(model, delay=delay), make_scorer(delay)) for name, model in models.items()]
    first, done, losses = entries[0], 0, LossesByStretch(len(entries))
    with Progress(rows.count, show=show) as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", DriftlineWarning)  # reported at the end
        for block in rows:
            losses.add(np.column_stack([entry.step(block) for entry in entries]))
            done += len(block)
            bar.advance(len(block), rows.share(block.consumed), lambda: standing(first.score, first.model))
    if not done:
        raise DataError("has a header but no rows", source=rows.name)
    failures = [entry.failure for entry in entries if entry.failure is not None]
    if len(failures) == len(entries):
        raise failures[0].within(rows.name)
    return Contest(rows.name, done, entries, losses)
