"""Measures learners on fresh rows from the current distribution, which is less noisy than the next row alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftline.base.rules import COUNT, WHOLE
from driftline.evaluate.driver import Driver, LearnerDriver
from driftline.evaluate.metrics import Metric, ScoredRows, value_of
from driftline.evaluate.scores import Curve
from driftline.tables import inputs


@dataclass
class Holdout:
    """Measures the learners on ``size`` fresh rows after every ``every`` rows of the stream."""

    stream: Any
    metrics: tuple[Metric, ...]
    size: int
    every: int
    seed: int
    rows: list[int] = field(default_factory=list)
    values: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    @classmethod
    def plan(
        cls, stream: Any, metrics: tuple[Metric, ...], size: Any, every: Any, seed: Any, rows: int | None, where: str
    ) -> Holdout | None:
        """Checks the options; None if no holdout is wanted."""
        size = COUNT.or_none().require(where, "holdout", size)
        every = COUNT.or_none().require(where, "holdout_every", every)
        if size is None:
            if every is not None:
                raise ValueError(f"{where}: holdout_every needs holdout, the number of fresh rows")
            return None
        if not hasattr(stream, "holdout"):
            raise TypeError(f"{where}: {type(stream).__name__} has no holdout(t, n, seed): it cannot be sampled")
        if every is None:
            every = 1_000 if rows is None else max(1, rows // 100)
        plain = tuple(metric for metric in metrics if metric.plain)
        return cls(stream, plain, size, every, WHOLE.require(where, "seed", seed))

    def measure(self, row: int, drivers: dict[str, Driver]) -> None:
        """Measures after ``row`` rows, on the distribution of the last of them."""
        X, y = self.stream.holdout(row - 1, self.size, self.seed)
        self.rows.append(row)
        for name, driver in drivers.items():
            assert isinstance(driver, LearnerDriver)  # forecasts have no fresh rows
            numeric = not driver.classes or any(metric.numeric for metric in self.metrics)
            labels = inputs.as_vector(y, len(y), "holdout", "y") if numeric else np.asarray(y)
            origin = float(labels.mean()) if numeric else 0.0
            rows = ScoredRows(labels, driver.predict(X), classes=driver.classes, origin=origin)
            values = self.values.setdefault(name, {metric.name: [] for metric in self.metrics})
            for metric in self.metrics:
                values[metric.name].append(value_of(metric, rows))

    def curves(self) -> dict[str, dict[str, Curve]]:
        """The curves, by learner and metric."""
        rows = np.array(self.rows, dtype=np.int64)
        return {
            name: {metric: Curve(rows, np.array(values)) for metric, values in by_metric.items()}
            for name, by_metric in self.values.items()
        }
