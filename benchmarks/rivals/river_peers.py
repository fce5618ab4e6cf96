"""River's forest and adaptive tree with their defaults; the regressors get scaled rows and labels."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.data import Array
from benchmarks.rivals.scaling import scaled


def forest(X: Array, y: Array, seed: int) -> Array:
    from river.forest import ARFClassifier

    return _classes(ARFClassifier(seed=seed), X, y)


def tree(X: Array, y: Array, seed: int) -> Array:
    from river.tree import HoeffdingAdaptiveTreeClassifier

    return _classes(HoeffdingAdaptiveTreeClassifier(seed=seed), X, y)


def forest_regressor(X: Array, y: Array, seed: int) -> Array:
    from river.forest import ARFRegressor

    return scaled(partial(_numbers, ARFRegressor(seed=seed)), X, y)


def tree_regressor(X: Array, y: Array, seed: int) -> Array:
    from river.tree import HoeffdingAdaptiveTreeRegressor

    return scaled(partial(_numbers, HoeffdingAdaptiveTreeRegressor(seed=seed)), X, y)


def _rows(X: Array) -> Any:
    names = [f"x{j}" for j in range(X.shape[1])]
    return (dict(zip(names, x, strict=True)) for x in X.tolist())


def _classes(model: Any, X: Array, y: Array) -> Array:
    found = np.ones(len(y))
    for t, (x, label) in enumerate(zip(_rows(X), (y > 0).tolist(), strict=True)):
        said = model.predict_one(x)
        found[t] = 1.0 if said is None or said else -1.0
        model.learn_one(x, label)
    return found


def _numbers(model: Any, X: Array, y: Array) -> Array:
    found = np.zeros(len(y))
    for t, (x, label) in enumerate(zip(_rows(X), y.tolist(), strict=True)):
        found[t] = model.predict_one(x) or 0.0
        model.learn_one(x, label)
    return found
