"""``driftline compare``: several learners along one source, in one pass."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from driftline.base.learner import Learner
from driftline.cli.scoring import add_run, figures, make_scorer, r2_in_words, standing
from driftline.errors import DriftlineWarning
from driftline.evaluate import Progress, Table
from driftline.evaluate.baselines import BASELINES, LastValue
from driftline.evaluate.metrics import BaselineRMSE
from driftline.evaluate.scorer import Scorer
from driftline.evaluate.tables import Cell, Value
from driftline.files import Block, DataError, Follower, Options, Rows

COLUMNS = ("model", "rmse", "mae", "r2", "rmse / last value's", "seconds")


@dataclass
class Entry:
    """A learner that takes part."""

    name: str
    model: Learner
    follower: Follower
    score: Scorer
    seconds: float = 0.0
    failure: DataError | None = None

    def step(self, block: Block) -> None:
        """Takes the rows of a block, unless an earlier one was refused."""
        if self.failure:
            return
        began = perf_counter()
        try:
            run = self.follower.step(block)
        except DataError as error:
            self.failure = error
            return
        self.seconds += perf_counter() - began
        add_run(self.score, run, block)


@dataclass(frozen=True)
class Contest:
    """What came of a comparison."""

    source: str
    rows: int
    entries: list[Entry]

    def table(self) -> Table:
        """The learners, the best first, and the baselines."""
        found = {entry.name: figures(entry.score) for entry in self.entries}
        entries = sorted(self.entries, key=lambda entry: (entry.failure is not None, found[entry.name]["rmse"] or 0.0))
        rows: list[list[Any]] = []
        for entry in entries:
            own = found[entry.name]
            errors = [None] * 4 if entry.failure else [own["rmse"], own["mae"], _r2(own["r2"]), _ratio(own, "rmse")]
            rows.append([entry.name, *errors, round(entry.seconds, 3)])
        base = next((found[entry.name] for entry in entries if not entry.failure), None)
        if base is not None:
            for name, kind in BASELINES.items():
                key = BaselineRMSE(name).name
                rows.append([f"({kind.title})", base[key], None, None, _ratio(base, key), None])
        return Table(COLUMNS, rows, caption=f"{self.source}: {self.rows:,} rows")


def _r2(value: float | None) -> Value | Cell:
    return value if value is None or value >= -1 else Cell(value, r2_in_words(value))


def _ratio(own: dict[str, float | None], key: str) -> float | None:
    """An error relative to that of the last value."""
    error, last = own[key], own[BaselineRMSE(LastValue.name).name]
    return error / last if error is not None and last else None


def compare(source: str, options: Options, models: dict[str, Learner], *, delay: int, show: bool) -> Contest:
    """Lets learners predict and learn the same rows. One that refuses a row is out, and the others go on."""
    rows = Rows(source, options)
    entries = [Entry(name, model, Follower(model, delay=delay), make_scorer(delay)) for name, model in models.items()]
    first, done = entries[0], 0
    with Progress(rows.count, show=show) as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", DriftlineWarning)  # told at the end
        for block in rows:
            for entry in entries:
                entry.step(block)
            done += len(block)
            bar.advance(len(block), rows.share(block.consumed), lambda: standing(first.score, first.model))
    if not done:
        raise DataError("has names and no rows", source=rows.name)
    failures = [entry.failure for entry in entries if entry.failure is not None]
    if len(failures) == len(entries):
        raise failures[0].within(rows.name)
    return Contest(rows.name, done, entries)
