"""Helpers for checks: streams, copies, and exact comparisons of states."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.base.params import Parametrised
from driftline.storage.codec import leaves
from driftline.tables.inputs import Array


def require(condition: object, message: str) -> None:
    """Raises AssertionError with the message unless the condition holds, even under ``python -O``."""
    if not condition:
        raise AssertionError(message)


def stream(rows: int = 60, features: int = 3, seed: int = 0) -> tuple[Array, Array]:
    """Rows in a small cube, which no learner should refuse, with a drifting target."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.7, 0.7, size=(rows, features))
    weights = rng.normal(size=features) + np.cumsum(0.05 * rng.normal(size=(rows, features)), axis=0)
    return X, (X * weights).sum(axis=1) + 0.3 + 0.1 * rng.normal(size=rows)


def names(features: int = 3) -> list[str]:
    """Names for the columns of a stream."""
    return [f"feature {j}" for j in range(features)]


def fresh(learner: Learner, /, **changes: Any) -> Learner:
    """An untrained learner with the same parameters, apart from ``changes``."""
    return type(learner)(**{**learner.get_params(deep=False), **changes})


def trained(learner: Learner, /, **changes: Any) -> Learner:
    """The same, trained on a stream."""
    model = fresh(learner, **changes)
    model.run(*stream())
    return model


def looped(model: Learner, rows: Iterable[Any], y: Array) -> tuple[Learner, Array]:
    """Predicts and then learns row by row; returns the model and the predictions."""
    predictions = []
    for row, label in zip(rows, y.tolist(), strict=True):
        predictions.append(model.predict_one(row))
        model.learn_one(row, label)
    return model, np.array(predictions)


def learned(model: Learner, rows: Iterable[Any], y: Array, weights: Array | None = None) -> Learner:
    """The model after learning row by row."""
    for place, (row, label) in enumerate(zip(rows, y.tolist(), strict=True)):
        model.learn_one(row, label, **({} if weights is None else {"sample_weight": weights[place]}))
    return model


def same(a: Any, b: Any) -> bool:
    """Whether two states are equal to the last bit."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray) and a.dtype == object:
        return a.shape == b.shape and same(a.tolist(), b.tolist())
    if isinstance(a, np.ndarray):
        return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Parametrised):
        return same(a.__getstate__(), b.__getstate__())
    return bool(a == b) or (hasattr(a, "__dict__") and not callable(a) and same(vars(a), vars(b)))


def require_same(a: Any, b: Any, what: str) -> None:
    """Raises AssertionError that names the first difference between two states or arrays."""
    if same(a, b):
        return
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        for key in a:
            require_same(a[key], b[key], f"{what}: {key}")
    raise AssertionError(f"{what}: {a!r} is not {b!r}")


def require_same_state(a: Learner, b: Learner, what: str) -> None:
    """Raises AssertionError unless two learners are in the same state, to the last bit."""
    require_same(a.__getstate__(), b.__getstate__(), what)


def require_refusal(learner: Learner, what: str, act: Callable[..., object], /, *arguments: Any, **options: Any) -> str:
    """Requires ValueError or TypeError that names the learner, and an unchanged state; returns the message."""
    before = learner.__getstate__()
    try:
        act(*arguments, **options)
    except (ValueError, TypeError) as error:
        message = str(error)
    else:
        raise AssertionError(f"{what} was accepted")
    require(type(learner).__name__ in message, f"{what}: the message does not name the learner: {message}")
    require_same(before, learner.__getstate__(), f"{what} was refused and changed the state")
    return message


def require_finite(learner: Learner, what: str) -> None:
    """Raises AssertionError if the state holds NaN or infinity."""
    for name, array in leaves(learner.__getstate__().get("core", {})):
        require(np.isfinite(array).all(), f"{what}: {name} is not finite: {array}")
