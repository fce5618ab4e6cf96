"""CapyMOA's regressors, as :mod:`benchmarks.auto_peers` runs them. CapyMOA needs Java."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.data import Array


def peers() -> dict[str, Callable[[int], Callable[[Array, float], float]]]:
    """Regressors by name: each makes, for a number of inputs, a function that predicts a row, then learns it."""
    try:
        from capymoa.regressor import SOKNL, AdaptiveRandomForestRegressor
    except RuntimeError as error:  # CapyMOA raises it if it finds no Java
        raise ModuleNotFoundError(f"CapyMOA cannot start: {error}") from error

    return {
        "SOKNL": lambda d: _Row(SOKNL, d),
        "AdaptiveRandomForestRegressor": lambda d: _Row(AdaptiveRandomForestRegressor, d),
    }


class _Row:
    def __init__(self, regressor: Any, d: int) -> None:
        from capymoa.stream import Schema

        self.schema = Schema.from_custom([*(f"x{j}" for j in range(d)), "y"], target="y")
        self.model = regressor(schema=self.schema)

    def __call__(self, x: Array, y: float) -> float:
        from capymoa.core import RegressionInstance

        instance = RegressionInstance.from_array(self.schema, x, y)
        prediction = self.model.predict(instance)
        self.model.train(instance)
        return 0.0 if prediction is None else float(prediction)
