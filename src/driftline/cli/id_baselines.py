"""Baselines for rows whose labels arrive by id."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from driftline.cli.scoring import UNIT
from driftline.evaluate.baselines import LastValue, RunningMean
from driftline.evaluate.metrics import BASELINE_ERRORS, RMSE
from driftline.evaluate.scorer import Scorer, Settings
from driftline.tables.inputs import Array

NAMES = (LastValue.name, RunningMean.name)  # no seasonal value: ids have no order, so no season


class IdBaselines:
    """Predicts each row by the last label, and by the mean of all labels, that were known at the time."""

    def __init__(self) -> None:
        self.scores = {name: Scorer(Settings((RMSE(),), points=0, unit=UNIT)) for name in NAMES}
        self._last, self._total, self._count = math.nan, 0.0, 0
        self._waiting: dict[str, tuple[float, float]] = {}  # the baselines' predictions, by id

    def ask(self, key: str) -> None:
        """Predicts a row, which then waits."""
        self._waiting[key] = (self._last, self._total / self._count if self._count else math.nan)

    def tell(self, key: str, label: float) -> tuple[float, float]:
        """Learns a label; returns the baselines' predictions of its row."""
        self._last, self._total, self._count = label, self._total + label, self._count + 1
        return self._waiting.pop(key)

    def keep(self, keys: Collection[str]) -> None:
        """Forgets rows that were dropped; ``keys`` are those that still wait."""
        if len(keys) < len(self._waiting):
            self._waiting = {key: self._waiting[key] for key in keys}

    def add(self, y: Array, predicted: Iterable[Array]) -> None:
        """Scores the baselines' predictions of rows whose labels have arrived."""
        for name, own in zip(NAMES, predicted, strict=True):
            self.scores[name].add(y, own)

    def figures(self) -> dict[str, float | None]:
        """The baselines' errors, by figure; None if there is nothing to measure."""
        found = {BASELINE_ERRORS[name]: score.totals()["rmse"] for name, score in self.scores.items()}
        return {name: None if math.isnan(value) else value for name, value in found.items()}

    def state(self) -> dict[str, dict[str, Any]]:
        """The parts of a run's state. Rows are in the order in which they were predicted."""
        waiting = np.array(list(self._waiting.values()), dtype=np.float64).reshape(-1, 2)
        own = {"sums": np.array([self._last, self._total, self._count]), "waiting": waiting}
        return {"beside": own, **{f"score {name}": score.state() for name, score in self.scores.items()}}

    def restore(self, parts: dict[str, dict[str, Any]], keys: Iterable[str]) -> None:
        """Restores what :meth:`state` returned; ``keys`` are the ids of the waiting rows, in the same order."""
        self._last, self._total, count = parts["beside"]["sums"].tolist()
        self._count = int(count)
        self._waiting = dict(zip(keys, map(tuple, parts["beside"]["waiting"].tolist()), strict=True))
        for name, score in self.scores.items():
            score.restore(parts[f"score {name}"])
