"""What a run does with a block of rows: predict and learn them, or forecast each from several earlier rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from driftline._core import Outputs
from driftline.base.learner import Learner
from driftline.base.levels import Spread, as_spread, quantile_names
from driftline.base.run import Run
from driftline.base.stability import concerns
from driftline.cli.measures import Errors, WrongClasses
from driftline.delayed import Forecaster
from driftline.delayed.forecast import Forecast
from driftline.evaluate.scores import Score
from driftline.files import Block, Follower, Rows
from driftline.files.follower import REFUSED, refused
from driftline.fleet.call import Answer
from driftline.report import RunLog
from driftline.report.clock import InUTC
from driftline.report.page import write_page
from driftline.tables.columns import Column
from driftline.tables.inputs import Array, Name

Columns = dict[str, Array]
REPORTED = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)  # the quantiles in the report of a run with intervals


def spread_columns(out: Outputs | Run | Forecast | Answer) -> Columns:
    """The columns of intervals and quantiles, as far as there are any."""
    columns: Columns = {}
    if out.lower is not None and out.upper is not None:
        columns |= {"lower": out.lower, "upper": out.upper}
    if out.quantiles is not None and out.quantile_levels is not None:
        columns |= dict(zip(quantile_names(out.quantile_levels), out.quantiles.T, strict=True))
    return columns


class Task(ABC):
    """Processes the blocks of a run.

    Attributes:
        model: the model that learns and is saved.
        score: the score behind the summary's figures.
        measure: the words for these.
        run_log: collects the data of the report; None for no report.
        least_rows: the smallest number of rows worth learning at once.
    """

    least_rows = 64
    measure = Errors()

    def __init__(self, model: Any, score: Score, run_log: RunLog | None) -> None:
        self.model, self.score, self.run_log = model, score, run_log

    @property
    @abstractmethod
    def learner(self) -> Learner:
        """The learner that the summary describes."""

    @property
    def title(self) -> str:
        """The name of the model."""
        return self.learner._title

    @property
    def figures(self) -> dict[str, float | None]:
        """The figures of the summary, by name."""
        return self.score.figures()

    @property
    def by_step(self) -> list[dict[str, float | None]]:
        """The figures at each step; empty unless rows are forecast."""
        return []

    def warnings(self) -> list[str]:
        """Warnings about the learner."""
        return concerns(self.learner)

    @abstractmethod
    def take(self, rows: Rows, raw: Block) -> tuple[Columns, str | None]:
        """Reads and processes some rows; returns the columns to write, and the zone of their times.

        Raises DataError if a row is refused.
        """

    @property
    def features(self) -> list[str]:
        """The names of the model's features."""
        return [str(name) for name in self.learner._names or ()]

    @property
    def columns(self) -> Mapping[Name, Column | None]:
        """The columns that the model encodes."""
        return {} if self.learner._columns is None else self.learner._columns.columns

    def finish(self) -> bool:
        """Called after the last row; returns whether there was more to learn."""
        return False

    def write_page(self, path: Path, command: str) -> None:
        """Writes the report."""
        if self.run_log is not None:
            write_page(self.run_log, path, command=command, steps=self.by_step)

    def close(self) -> None:  # noqa: B027 - most tasks have nothing to close
        """Closes what the task opened."""

    def state(self) -> dict[str, dict[str, Any]]:
        """The parts of a run's state, without the model."""
        return {} if self.run_log is None else {"report": self.run_log.state()}

    @abstractmethod
    def restore(self, parts: dict[str, dict[str, Any]]) -> None:
        """Restores a state; the model has been restored already."""

    def _tell_report(self, run: Run, X: Any, y: Array, block: Any, times: Array | None) -> None:
        if self.run_log is not None:
            moments = times if times is None or block.zone is None else InUTC(times)
            self.run_log.add(run, X if X.shape[1] else None, y, times=moments, model=self.learner)


class Following(Task):
    """Predicts each row, then learns the row whose label has arrived.

    Args:
        model: the learner.
        measure: errors of numbers, or wrong classes.
        delay: how many rows late labels arrive.
        spread: the intervals and quantiles.
        run_log: collects the data of the report; None for no report. With intervals, the report also follows quantiles.
    """

    def __init__(self, model: Learner, measure: Errors, delay: int, spread: Spread, run_log: RunLog | None) -> None:
        super().__init__(model, measure.score(delay, spread), run_log)
        self.measure, self.written = measure, spread
        if run_log is not None and spread.level is not None and spread.quantiles is None:
            spread = as_spread("run", spread.level, REPORTED)
        self.follower = Follower(model, delay=delay, spread=spread)

    @property
    def learner(self) -> Learner:
        """The model itself."""
        model: Learner = self.model
        return model

    @property
    def title(self) -> str:
        """The learner, and the one that a classifier is made of."""
        inner = self.model._base_learners() if isinstance(self.measure, WrongClasses) else ()
        return " of ".join([super().title, *(learner._title for learner in inner[:1])])

    def take(self, rows: Rows, raw: Block) -> tuple[Columns, str | None]:
        """Predicts and learns the rows."""
        block = rows.read(raw)
        watched = self.run_log is not None and self.learner._traits.by_feature  # there are weights to show
        every = self.run_log.weights_every(len(block)) if self.run_log is not None and watched else None
        run = self.follower.step(block, every)
        assert block.y is not None
        self._tell_report(run, block.X, block.y, block, block.times)
        self.score.add(run, block.y)
        wanted = run if self.written.quantiles is not None else replace(run, quantiles=None)
        return {**beginning(block), "prediction": as_written(run.predictions), **spread_columns(wanted)}, block.zone

    def state(self) -> dict[str, dict[str, Any]]:
        """Sums, and the rows that wait for their labels."""
        return {"score": self.score.state(), "late": self.follower.state(), **super().state()}

    def restore(self, parts: dict[str, dict[str, Any]]) -> None:
        """Restores what :meth:`state` returned."""
        self.score.restore(parts["score"])
        self.follower.restore(parts["late"])


class Forecasting(Task):
    """Forecasts each row from 1, 2, …, steps rows before it, and learns it.

    Args:
        model: the forecaster.
        spread: the intervals, and the quantiles if they are wanted.
        run_log: follows the first step.
    """

    def __init__(self, model: Forecaster, spread: Spread, run_log: RunLog | None) -> None:
        self.scores = [Errors().score_of_step(step, spread) for step in range(model.steps)]
        super().__init__(model, self.scores[0], run_log)
        self.spread = spread

    @property
    def learner(self) -> Learner:
        """The model of the first step."""
        learners: list[Learner] = self.model.learners_
        return learners[0]

    @property
    def title(self) -> str:
        """The learner and its number of steps."""
        return f"{super().title}, {self.model.steps:,} step{'' if self.model.steps == 1 else 's'} ahead"

    @property
    def by_step(self) -> list[dict[str, float | None]]:
        """The figures at each step."""
        return [score.figures() for score in self.scores]

    def warnings(self) -> list[str]:
        """Warnings about the models of all steps, without repetitions."""
        return list(dict.fromkeys(words for learner in self.model.learners_ for words in concerns(learner)))

    def take(self, rows: Rows, raw: Block) -> tuple[Columns, str | None]:
        """Forecasts and learns the rows."""
        block = rows.read(raw)
        assert block.y is not None
        try:
            run = self.model._learn(block.X, block.y, self.spread, "Forecaster", block.start)
        except REFUSED as error:
            raise refused(self.learner, block, error) from error
        assert run.lower is not None
        assert run.upper is not None
        predicted, errors, lower, upper = map(run.informed, (run.predictions, run.errors, run.lower, run.upper))
        quantiles = None
        if run.quantiles is not None:
            known = np.arange(len(run))[:, None] >= run.uninformed[0]
            quantiles = np.where(known, run.quantiles[:, 0], np.nan)
        ends, levels = (lower[:, 0], upper[:, 0]), run.quantile_levels
        one = Run(predicted[:, 0], errors[:, 0], *ends, quantiles=quantiles, quantile_levels=levels)
        self._tell_report(one, block.X, block.y, block, block.times)
        columns = beginning(block)
        for step, score in enumerate(self.scores):
            found = run.at_step(step + 1)
            written = {"prediction": found.predictions, **spread_columns(found)}
            columns |= {f"{name}_{step + 1}": values for name, values in written.items()}
            score.add(found, block.y, early=int(run.uninformed[step]))
        return columns, block.zone

    def state(self) -> dict[str, dict[str, Any]]:
        """The sums of each step."""
        return {**{f"score {step}": score.state() for step, score in enumerate(self.scores)}, **super().state()}

    def restore(self, parts: dict[str, dict[str, Any]]) -> None:
        """Restores what :meth:`state` returned."""
        for step, score in enumerate(self.scores):
            score.restore(parts[f"score {step}"])


def beginning(block: Block) -> Columns:
    """The columns that every output has: the row's number, its time and its label."""
    columns = {"row": np.arange(block.start, block.start + len(block))}
    if block.times is not None:
        columns["time"] = block.times
    if block.y is not None:
        columns["target"] = as_written(block.y)
    return columns


def as_written(labels: Array) -> Array:
    """Labels as written to an output: classes as text."""
    if labels.dtype.kind not in "OU":
        return labels
    written = np.full(len(labels), None, dtype=object)
    written[:] = [None if label is None else str(label) for label in labels]
    return written
