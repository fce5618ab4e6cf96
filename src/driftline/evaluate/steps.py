"""Measures learners that forecast several rows ahead, at every step."""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from driftline.delayed import Forecaster
from driftline.delayed.forecast import ForecastRun
from driftline.evaluate.baselines import BASELINES, Baselines
from driftline.evaluate.scorer import Scorer, Settings, every_row
from driftline.evaluate.sources import Block
from driftline.tables import inputs
from driftline.tables.inputs import Array

UNIT = 256  # rows to sum at once; there is a sum for each step


class StepDriver:
    """Forecasts each row from 1, 2, …, steps rows before it, then learns it.

    Args:
        learner: a forecaster, or a regressor of this library, copied for each step.
        steps: how many rows ahead.
        level: coverage of the intervals; None for no intervals.
        metrics: what to measure at each step.
        where: the caller's name, for messages.
    """

    def __init__(self, learner: Any, steps: int, level: float | None, metrics: Settings, where: str) -> None:
        self.forecaster = learner if isinstance(learner, Forecaster) else Forecaster(learner, steps)
        if self.forecaster.steps != steps:
            raise ValueError(f"{where}: steps is {steps}, but {learner!r} has {self.forecaster.steps}")
        self.level, self.where = level, where
        totals = Settings(metrics.metrics, points=0, unit=UNIT)
        self.scorers = [Scorer(totals) for _ in range(steps)]
        self.seconds = 0.0
        self._lost = np.zeros(steps, dtype=bool)  # which of the last rows lack a feature

    def step(self, block: Block, y: Array) -> ForecastRun:
        """Forecasts and learns the rows of a block."""
        began = perf_counter()
        try:
            names, rows = self._rows(block)
            run = self.forecaster._learn(rows, y, names, self.level, self.where, block.start)
        except Exception as error:
            error.add_note(f"while evaluating {self.forecaster!r} on the block that begins at row {block.start}")
            raise
        finally:
            self.seconds += perf_counter() - began
        for step, scorer in enumerate(self.scorers):
            ends = None if run.lower is None or run.upper is None else (run.lower[:, step], run.upper[:, step])
            scorer.add(y, run.predictions[:, step], ends, partial(self.lost, block, step + 1), int(run.uninformed[step]))
        self._lost = np.append(self._lost, block.lost())[-len(self.scorers) :]
        return run

    def lost(self, block: Block, step: int) -> Array:
        """Which rows cannot be forecast, because a value is missing there or at the origin."""
        missing = block.lost()
        first = len(self._lost) - step
        lost: Array = missing | np.append(self._lost, missing)[first : first + len(block)]
        return lost

    def _rows(self, block: Block) -> tuple[list[Any] | None, Array]:
        forecaster = self.forecaster
        if not block.mappings:
            return forecaster._table(block.X, self.where)
        names = forecaster._names or list(inputs.as_items(block.X[0], self.where))
        rows = [inputs.as_items(x, self.where) for x in block.X]
        for row in rows:
            forecaster._check_width(len(row), list(row), self.where)
            if row.keys() != set(names):
                raise ValueError(f"{self.where}: the feature names differ from the first row's")
        return names, np.array([[row[name] for name in names] for row in rows])

    def figures(self) -> dict[str, Array]:
        """Each metric by step."""
        totals = [scorer.totals() for scorer in self.scorers]
        return {name: np.array([found[name] for found in totals]) for name in totals[0]}


class StepBaselines:
    """Measures baselines at every step, with the labels known at that step.

    Args:
        steps: how many rows ahead.
        metrics: what to measure, except metrics that need intervals.
    """

    def __init__(self, steps: int, metrics: Settings) -> None:
        plain = tuple(metric for metric in metrics.metrics if not metric.intervals)
        self.measured = bool(plain)
        self.baselines = [Baselines(step) for step in range(steps)]
        settings = Settings(plain, points=0, unit=UNIT)
        self.scorers = [{name: Scorer(settings) for name in BASELINES} for _ in range(steps)] if plain else []

    def step(self, y: Array) -> None:
        """Predicts rows, then learns their labels. Rows before the first known label do not count."""
        for baselines, scorers in zip(self.baselines, self.scorers, strict=False):
            for name, predicted in baselines.predict(y).items():
                scorers[name].add(y, predicted, None, every_row)

    def figures(self) -> dict[str, dict[str, Array]]:
        """Each metric by step, by the baseline's title."""
        found: dict[str, dict[str, Array]] = {}
        for name, kind in BASELINES.items() if self.measured else ():
            totals = [scorers[name].totals() for scorers in self.scorers]
            found[kind.title] = {metric: np.array([own[metric] for own in totals]) for metric in totals[0]}
        return found
