"""CapyMOA's forests, which need Java: adaptive random forests, streaming random patches and SOKNL, of ten trees each.

The regressors get scaled rows and labels.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.data import Array
from benchmarks.rivals.scaling import scaled

TREES = 10


def forest(X: Array, y: Array, seed: int) -> Array:
    from capymoa.classifier import AdaptiveRandomForestClassifier

    return _classes(AdaptiveRandomForestClassifier, X, y, seed)


def patches(X: Array, y: Array, seed: int) -> Array:
    from capymoa.classifier import StreamingRandomPatches

    return _classes(StreamingRandomPatches, X, y, seed)


def forest_regressor(X: Array, y: Array, seed: int) -> Array:
    from capymoa.regressor import AdaptiveRandomForestRegressor

    return scaled(partial(_numbers, AdaptiveRandomForestRegressor, seed), X, y)


def soknl(X: Array, y: Array, seed: int) -> Array:
    from capymoa.regressor import SOKNL

    return scaled(partial(_numbers, SOKNL, seed), X, y)


def _classes(kind: Any, X: Array, y: Array, seed: int) -> Array:
    from capymoa.core import LabeledInstance
    from capymoa.stream import Schema

    schema = Schema.from_custom([*(f"x{j}" for j in range(X.shape[1])), "y"], target="y", categories={"y": ["0", "1"]})
    model = kind(schema=schema, random_seed=seed, ensemble_size=TREES)
    found = np.ones(len(y))
    for t, label in enumerate((y > 0).astype(int).tolist()):
        instance = LabeledInstance.from_array(schema, X[t], label)
        said = model.predict(instance)
        found[t] = 1.0 if said is None or said == 1 else -1.0
        model.train(instance)
    return found


def _numbers(kind: Any, seed: int, X: Array, y: Array) -> Array:
    from capymoa.core import RegressionInstance
    from capymoa.stream import Schema

    schema = Schema.from_custom([*(f"x{j}" for j in range(X.shape[1])), "y"], target="y")
    model = kind(schema=schema, random_seed=seed, ensemble_size=TREES)
    found = np.zeros(len(y))
    for t, label in enumerate(y.tolist()):
        instance = RegressionInstance.from_array(schema, X[t], label)
        said = model.predict(instance)
        found[t] = 0.0 if said is None or not np.isfinite(said) else float(said)
        model.train(instance)
    return found
