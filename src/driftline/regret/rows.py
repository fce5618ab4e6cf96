"""Checks and converts rows, labels and comparators; replays a learner from its start."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.base.rules import NOT_NEGATIVE
from driftline.base.run import Run
from driftline.tables import inputs
from driftline.tables.block import as_block
from driftline.tables.inputs import Array


def as_rows(X: Any, y: Any, where: str, intercept: bool = False) -> tuple[Array, Array]:
    """Rows, (T, d), with a constant feature last if there is an intercept, and labels, (T,)."""
    table = as_block(X, where)
    labels = inputs.as_vector(y, table.rows, where, "y")
    rows = np.asarray(table.block(0, table.rows), dtype=np.float64)
    for name, values in (("X", rows), ("y", labels)):
        bad = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
        if bad.size:
            raise ValueError(f"{where}: {name} has a value that is not finite in row {bad[0]}")
    if intercept:
        rows = np.column_stack([rows, np.ones(len(rows))])
    return rows, labels


def row_weights(values: Any, T: int, where: str) -> Array:
    """Row weights, finite and not negative."""
    weights = inputs.as_weights(values, T, where)
    assert weights is not None
    return weights


def as_path(u: Any, rows: Array, where: str) -> Array:
    """A comparator as a sequence (T, d): fixed weights, a sequence, or a result of best_fixed or best_sequence."""
    T, d = rows.shape
    return np.broadcast_to(_weights(u, where, (d,), (T, d)), (T, d))


def as_fixed(u: Any, rows: Array, where: str) -> Array:
    """A comparator as fixed weights (d,)."""
    return _weights(u, where, (rows.shape[1],))


def _weights(u: Any, where: str, *shapes: tuple[int, ...]) -> Array:
    """Weights, finite and of one of these shapes, from an array or a result that has them."""
    weights = np.asarray(getattr(u, "weights", u), dtype=np.float64)
    if weights.shape not in shapes:
        raise ValueError(f"{where}: u must have the shape {' or '.join(map(str, shapes))}, got {weights.shape}")
    if not np.isfinite(weights).all():
        raise ValueError(f"{where}: u has a value that is not finite")
    return weights


def losses_of(path: Array, rows: Array, labels: Array) -> Array:
    """Squared errors, (T,), of a sequence of weights or of fixed weights."""
    predictions = rows @ path if path.ndim == 1 else np.einsum("td,td->t", rows, path)
    squares: Array = np.square(labels - predictions)
    return squares


def expect(learner: Any, kind: type[Learner], where: str) -> None:
    """Raises TypeError unless the learner is of the theorem's kind."""
    if not isinstance(learner, kind):
        raise TypeError(f"{where}: the theorem is about {kind.__name__}, got {type(learner).__name__}")


def replay(learner: Learner, X: Any, y: Any, weights_every: int | None = None) -> tuple[Learner, Run]:
    """A new learner with the same parameters, and its run over the rows."""
    model = type(learner)(**learner.get_params(deep=False))
    return model, model.run(X, y, weights_every=weights_every)


def largest_norm(rows: Array) -> float:
    """The largest norm of a row."""
    return float(np.linalg.norm(rows, axis=1).max())


def at_most(value: float, limit: float) -> bool:
    """Whether a norm is within its limit, up to rounding."""
    return value <= limit * (1 + 1e-12)


def largest_label(labels: Array) -> float:
    """The largest absolute label."""
    return float(np.abs(labels).max())


def given(value: float | None, where: str, name: str, largest: float) -> float:
    """A quantity's bound that the caller may give, or the largest that was found."""
    return largest if value is None else float(NOT_NEGATIVE.require(where, name, value))


def log_det(rows: Array, ridge: float) -> float:
    """The value of log det(I + sum x x' / ridge), from an orthogonal factor."""
    d = rows.shape[1]
    factor = np.linalg.qr(np.vstack([rows / np.sqrt(ridge), np.eye(d)]), mode="r")
    return float(2 * np.sum(np.log(np.abs(np.diag(factor)))))
