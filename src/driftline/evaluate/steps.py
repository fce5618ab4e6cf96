"""Measures learners that forecast several rows ahead, at every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from driftline.base.levels import Spread
from driftline.delayed import Forecaster
from driftline.delayed.forecast import ForecastRun
from driftline.evaluate.baselines import BASELINES, Baselines
from driftline.evaluate.driver import Driver, Taken
from driftline.evaluate.metrics import OfBaseline
from driftline.evaluate.scores import Score, Settings
from driftline.evaluate.sources import lost
from driftline.tables import inputs
from driftline.tables.block import MAPPINGS, RowBlock
from driftline.tables.inputs import Array


class StepDriver(Driver):
    """Forecasts each row from 1, 2, …, steps rows before it, then learns it.

    Args:
        learner: a forecaster, or a regressor of this library, copied for each step.
        steps: how many rows ahead.
        spread: the intervals and quantiles.
        where: the caller's name, for messages.
    """

    def __init__(self, learner: Any, steps: int, spread: Spread, where: str) -> None:
        super().__init__(learner if isinstance(learner, Forecaster) else Forecaster(learner, steps), spread, where)
        if self.learner.steps != steps:
            raise ValueError(f"{where}: steps is {steps}, but {learner!r} has {self.learner.steps}")
        self._lost = np.zeros(steps, dtype=bool)  # which of the last rows lack a feature

    def _take(self, block: RowBlock) -> list[Taken]:
        y = inputs.as_vector(block.labels, len(block), self.where, "y")
        run: ForecastRun = self.learner._learn(self._rows(block), y, self.spread, self.where, block.start)
        before, self._lost = self._lost, np.append(self._lost, lost(block))[-self.learner.steps :]
        return [
            Taken(run.at_step(step + 1), partial(_lost_ahead, block, before, step + 1), int(run.uninformed[step]))
            for step in range(self.learner.steps)
        ]

    def _rows(self, block: RowBlock) -> Any:
        forecaster: Forecaster = self.learner
        if block.kind != MAPPINGS:
            return block.raw
        rows = [inputs.as_items(x, self.where) for x in block.values]
        names = forecaster._names or list(rows[0])
        for row in rows:
            forecaster._check_width(len(row), list(row), self.where)
            if row.keys() != set(names):
                raise ValueError(f"{self.where}: the feature names differ from the first row's")
        values = np.array([[row[name] for name in names] for row in rows])
        return RowBlock(values, names=list(names), where=self.where)


def _lost_ahead(block: RowBlock, before: Array, step: int) -> Array:
    """Which rows cannot be forecast, because a value is missing there or at the origin."""
    missing = lost(block)
    first = len(before) - step
    found: Array = missing | np.append(before, missing)[first : first + len(block)]
    return found


def by_step(scores: Sequence[Score]) -> dict[str, Array]:
    """Each metric by step, from the score of each step."""
    totals = [score.totals() for score in scores]
    return {name: np.array([found[name] for found in totals]) for name in totals[0]} if totals else {}


def baseline_scores(steps: int, metrics: Settings, spread: Spread) -> list[Score]:
    """A score of the baselines for each step, with the labels known at that step."""
    return [of_baselines(metrics, spread, step) for step in range(steps)]


def of_baselines(metrics: Settings, spread: Spread, delay: int) -> Score:
    """A score of the baselines alone, whose labels come this many rows late."""
    beside = [OfBaseline(metric, name, f"{metric.name} {name}") for name in BASELINES for metric in metrics.metrics]
    return Score(Settings.totals(beside, spread), baselines=Baselines(delay))


def baseline_figures(totals: Mapping[str, Any], metrics: Settings) -> dict[str, dict[str, Any]]:
    """Each metric by the baseline's title, from what :func:`of_baselines` measured; empty without any."""
    return {
        kind.title: {metric.name: totals[f"{metric.name} {name}"] for metric in metrics.metrics}
        for name, kind in BASELINES.items()
        if totals
    }
