"""River's regressors, as :mod:`benchmarks.auto_peers` runs them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.data import Array


def peers() -> dict[str, Callable[[int], Callable[[Array, float], float]]]:
    """Regressors by name: each makes, for a number of inputs, a function that predicts a row, then learns it."""
    from river import forest, linear_model, tree

    return {
        "ARFRegressor": lambda d: _Row(forest.ARFRegressor(seed=1), d),
        "HoeffdingAdaptiveTreeRegressor": lambda d: _Row(tree.HoeffdingAdaptiveTreeRegressor(seed=1), d),
        "LinearRegression": lambda d: _Row(linear_model.LinearRegression(), d),
        "BayesianLinearRegression": lambda d: _Row(linear_model.BayesianLinearRegression(), d),
    }


class _Row:
    def __init__(self, model: Any, d: int) -> None:
        self.model = model
        self.names = [f"x{j}" for j in range(d)]

    def __call__(self, x: Array, y: float) -> float:
        row = dict(zip(self.names, x.tolist(), strict=True))
        try:
            prediction = float(self.model.predict_one(row) or 0.0)
            self.model.learn_one(row, y)
        except (OverflowError, ValueError, ZeroDivisionError, np.linalg.LinAlgError):
            return math.inf
        return prediction
