"""Checks and converts rows, labels and comparators; replays a learner from its start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.base.rules import NOT_NEGATIVE
from driftline.base.run import Run
from driftline.regret.bound import Bound
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


@dataclass(frozen=True, eq=False)
class Played:
    """The rows of a theorem, with the constant feature last, their labels, and the run of a learner over them."""

    rows: Array
    labels: Array
    run: Run

    @property
    def loss(self) -> float:
        """The loss of the learner."""
        return float(self.run.losses.sum())

    def bound(self, statement: str, u: Array, terms: Mapping[str, float], conditions: Mapping[str, bool]) -> Bound:
        """A bound on the loss, by that of a comparator and further terms."""
        loss = float(losses_of(u, self.rows, self.labels).sum())
        return Bound(statement, {"loss of u": loss, **terms}, conditions, self.loss)


def played(learner: Any, kind: type[Learner], X: Any, y: Any, where: str) -> Played:
    """The rows, and the run of a new learner with the same parameters; raises TypeError for one of another kind."""
    return Played(*rows_for(learner, kind, X, y, where), replay(learner, X, y))


def rows_for(learner: Any, kind: type[Learner], X: Any, y: Any, where: str) -> tuple[Array, Array]:
    """The rows and labels of a theorem about a kind of learner; raises TypeError for one of another kind."""
    if not isinstance(learner, kind):
        raise TypeError(f"{where}: the theorem is about {kind.__name__}, got {type(learner).__name__}")
    return as_rows(X, y, where, bool(learner.intercept))


def replay(learner: Learner, X: Any, y: Any, weights_every: int | None = None) -> Run:
    """The run of a new learner with the same parameters."""
    return type(learner)(**learner.get_params(deep=False)).run(X, y, weights_every=weights_every)


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


def label_limit(labels: Array, label: float | None, where: str, clip: float | None = None) -> tuple[float, dict[str, bool]]:
    """The bound Y on the labels, and the conditions that it holds and that the clip of the predictions does."""
    largest = largest_label(labels)
    limit = given(label, where, "label", largest)
    limits = ({} if label is None else {f"{limit:g}": limit}) | ({} if clip is None else {f"clip = {clip:g}": clip})
    return limit, {f"every label lies within {words}": largest <= most for words, most in limits.items()}


def norm_limit(rows: Array, norm: float | None, where: str) -> tuple[float, dict[str, bool]]:
    """The bound X on the norms of the inputs, and the condition that it holds if the caller gave it."""
    largest = largest_norm(rows)
    limit = given(norm, where, "norm", largest)
    return limit, {} if norm is None else {f"every input's norm is at most {limit:g}": at_most(largest, limit)}


def log_det(rows: Array, ridge: float) -> float:
    """The value of log det(I + sum x x' / ridge), from an orthogonal factor."""
    d = rows.shape[1]
    factor = np.linalg.qr(np.vstack([rows / np.sqrt(ridge), np.eye(d)]), mode="r")
    return float(2 * np.sum(np.log(np.abs(np.diag(factor)))))
