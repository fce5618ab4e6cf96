"""``driftline compare``: several learners along one source, in one pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from driftline.base.learner import Learner
from driftline.base.run import Run
from driftline.cli.progress import Progress
from driftline.cli.scoring import Score
from driftline.evaluate.tables import Table
from driftline.files import DataError, Encoding, Follower, Rows
from driftline.files.encoder import Block
from driftline.files.follower import joined, named_by_line
from driftline.files.raw import Options

COLUMNS = ("model", "rmse", "mae", "r2", "rmse / last value's", "seconds")


@dataclass
class Entry:
    """A learner that takes part."""

    name: str
    model: Learner
    follower: Follower
    score: Score
    seconds: float = 0.0
    failure: str = ""
    figures: dict[str, float | None] = field(default_factory=dict)

    def step(self, block: Block) -> None:
        """Takes the rows of a block, unless an earlier one was refused."""
        if self.failure:
            return
        began = perf_counter()
        runs: list[Run] = []
        try:
            runs.extend(stretch.run for stretch in self.follower.stretches(block))
        except (ValueError, FloatingPointError) as error:
            done = sum(map(len, runs))
            self.failure = named_by_line(error, block, done) or f"{error} (from {block.place(done)} on)"
            return
        self.seconds += perf_counter() - began
        assert block.y is not None
        self.score.add(joined(runs).predictions, block.y)


@dataclass(frozen=True)
class Contest:
    """What came of a comparison."""

    source: str
    rows: int
    entries: list[Entry]

    def table(self) -> Table:
        """The learners, the best first, and the two baselines."""
        entries = sorted(self.entries, key=lambda entry: (bool(entry.failure), entry.score.figures()["rmse"] or 0.0))
        rows: list[list[Any]] = []
        for entry in entries:
            figures = entry.score.figures()
            if entry.failure:
                rows.append([entry.name, None, None, None, None, round(entry.seconds, 3)])
                continue
            last = figures["last_value_rmse"]
            ratio = figures["rmse"] / last if figures["rmse"] is not None and last else None
            rows.append([entry.name, figures["rmse"], figures["mae"], figures["r2"], ratio, round(entry.seconds, 3)])
        base = next((entry.score.figures() for entry in entries if not entry.failure), None)
        if base is not None:
            last, mean = base["last_value_rmse"], base["running_mean_rmse"]
            rows.append(["(last value)", last, None, None, 1.0, None])
            rows.append(["(running mean)", mean, None, None, mean / last if mean is not None and last else None, None])
        return Table(COLUMNS, rows, caption=f"{self.source}: {self.rows:,} rows")


def compare(
    source: str, options: Options, encoding: Encoding, models: dict[str, Learner], *, delay: int, show: bool
) -> Contest:
    """Lets learners predict and learn the same rows. One that refuses a row is out, and the others go on."""
    rows = Rows(source, options, encoding)
    entries = [Entry(name, model, Follower(model, delay=delay), Score(delay)) for name, model in models.items()]
    done = 0
    with Progress(rows.count, rows.size, show=show) as bar:
        for block in rows:
            for entry in entries:
                entry.step(block)
            done += len(block)
            bar.advance(done, block.consumed, entries[0].score, entries[0].model)
    if not done:
        raise DataError("has names and no rows", source=rows.name)
    if all(entry.failure for entry in entries):
        raise DataError(entries[0].failure, source=rows.name)
    return Contest(rows.name, done, entries)
