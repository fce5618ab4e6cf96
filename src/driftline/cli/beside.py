"""Baselines for rows whose labels come by id: what was known when each row was predicted."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from driftline.cli.scoring import UNIT
from driftline.evaluate.baselines import LastValue, RunningMean
from driftline.evaluate.metrics import RMSE, BaselineRMSE
from driftline.evaluate.scorer import Scorer, Settings
from driftline.tables.inputs import Array

BESIDE = (LastValue.name, RunningMean.name)  # without the seasonal value: ids have no order that could have a season


class Beside:
    """The label learned last and the mean of all labels learned, as of when each row was predicted."""

    def __init__(self) -> None:
        self.scores = {name: Scorer(Settings((RMSE(),), points=0, unit=UNIT)) for name in BESIDE}
        self._last, self._total, self._count = math.nan, 0.0, 0
        self._waiting: dict[str, tuple[float, float]] = {}  # what the baselines said, by id

    def ask(self, key: str) -> None:
        """A row is predicted, and waits."""
        self._waiting[key] = (self._last, self._total / self._count if self._count else math.nan)

    def tell(self, key: str, label: float) -> tuple[float, float]:
        """A label is learned; what the baselines said of its row."""
        self._last, self._total, self._count = label, self._total + label, self._count + 1
        return self._waiting.pop(key)

    def keep(self, keys: Collection[str]) -> None:
        """Forgets the rows that were let go; ``keys`` are those that wait."""
        if len(keys) < len(self._waiting):
            self._waiting = {key: self._waiting[key] for key in keys}

    def add(self, y: Array, said: Iterable[Array]) -> None:
        """Scores what the baselines said of rows whose labels have come."""
        for name, own in zip(BESIDE, said, strict=True):
            self.scores[name].add(y, own)

    def figures(self) -> dict[str, float | None]:
        """Their errors, by the names of the figures; None where there is nothing to measure."""
        found = {BaselineRMSE(name).name: score.totals()["rmse"] for name, score in self.scores.items()}
        return {name: None if math.isnan(value) else value for name, value in found.items()}

    def state(self) -> dict[str, dict[str, Any]]:
        """The parts of a run's state. Rows are in the order in which they were predicted."""
        waiting = np.array(list(self._waiting.values()), dtype=np.float64).reshape(-1, 2)
        own = {"sums": np.array([self._last, self._total, self._count]), "waiting": waiting}
        return {"beside": own, **{f"score {name}": score.state() for name, score in self.scores.items()}}

    def restore(self, parts: dict[str, dict[str, Any]], keys: Iterable[str]) -> None:
        """Back to them; ``keys`` are those of the rows that wait, in the same order."""
        self._last, self._total, count = parts["beside"]["sums"].tolist()
        self._count = int(count)
        self._waiting = dict(zip(keys, map(tuple, parts["beside"]["waiting"].tolist()), strict=True))
        for name, score in self.scores.items():
            score.restore(parts[f"score {name}"])
