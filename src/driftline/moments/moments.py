"""Weighted sums of products of features and labels, stored as the triangular factor of a QR factorisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftline import _core
from driftline.base.door import Door
from driftline.base.learner import Learner
from driftline.base.rules import BOOLEAN, number
from driftline.errors import ModelFileError
from driftline.linear.ridge import Ridge
from driftline.linear.rls import RLS
from driftline.moments import state
from driftline.storage import codec
from driftline.storage.model_file import Saved
from driftline.tables import inputs
from driftline.tables.block import as_block
from driftline.tables.inputs import Array, Name

_BLOCK = 4096  # rows at a time
_FORGETTING, _RIDGE = number(gt=0, le=1), number(gt=0)


class Moments(Saved):
    r"""Sums over a stretch of rows that determine ridge regression or recursive least squares, in O(d²) memory.

    With z = (x, 1, y), R is the upper triangle with :math:`R^\top R = \sum_i \lambda^{t-i} z_i z_i^\top`, computed by
    Householder reflections, so that no digits are lost by squaring. ``a.then(b)`` represents the rows of ``a`` followed by
    those of ``b``: a history can be split across machines and merged in any order, as long as neighbours are merged.
    ``model`` returns the learner that would have learned the same rows one by one.

    Args:
        forgetting: :math:`\lambda` in (0, 1], as in :class:`driftline.RLS`; 1 for :class:`driftline.Ridge`.
        intercept: append a constant feature 1 as the last feature.

    >>> import numpy as np
    >>> import driftline as dl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 3))
    >>> y = X @ [1.0, 2.0, 3.0] + 0.1 * rng.standard_normal(1000)
    >>> first, second = dl.Moments(forgetting=0.99), dl.Moments(forgetting=0.99)
    >>> first.learn_many(X[:600], y[:600])
    >>> second.learn_many(X[600:], y[600:])
    >>> model = first.then(second).model(ridge=1.0)
    >>> bool(np.abs(model.coef_ - dl.RLS(forgetting=0.99, ridge=1.0).fit(X, y).coef_).max() < 1e-12)
    True
    """

    def __init__(self, *, forgetting: float = 1.0, intercept: bool = True) -> None:
        self.forgetting = float(_FORGETTING.require("Moments", "forgetting", forgetting))
        self.intercept = BOOLEAN.require("Moments", "intercept", intercept)
        self._rows = 0
        self._weighted = 0  # rows whose weight was not 1
        self._names: list[Name] | None = None
        self._triangle: Array | None = None
        self._largest: Array = np.zeros(0)  # largest absolute value of each column

    @property
    def n_seen_(self) -> int:
        """The number of rows."""
        return self._rows

    @property
    def n_features_in_(self) -> int | None:
        """The number of features, without the constant one; None before the first row."""
        return None if self._triangle is None else len(self._triangle) - 1 - self.intercept

    def learn_many(self, X: Any, y: Any, *, sample_weight: Any = None) -> None:
        """Adds rows in order, all or none. Rows of weight 0 are left out."""
        where = "Moments.learn_many"
        table = as_block(X, where)
        labels = inputs.as_vector(y, table.rows, where, "y")
        weight = inputs.as_weights(sample_weight, table.rows, where)
        door = Door("Moments", self.n_features_in_, self._names)
        door.check(table, where)
        made = self._empty(table.columns, table.names)
        for start, block in table.blocks(_BLOCK):
            rows = slice(start, start + len(block))
            good = door.whole_rows(block) & (np.abs(labels[rows]) <= door.largest)
            if not good.all():
                bad = int(good.argmin())
                door.refuse_row(block[bad], labels[start + bad], where, start + bad, table.names)
            made._add(block, labels[rows], None if weight is None else weight[rows])
        whole = self.then(made)
        self.__dict__.update(whole.__dict__)

    def then(self, later: Moments) -> Moments:
        """The moments of these rows followed by those of ``later``. Neither object changes."""
        if not isinstance(later, Moments):
            raise TypeError(f"Moments.then: later must be Moments, got {type(later).__name__}")
        for name in ("forgetting", "intercept"):
            if getattr(self, name) != getattr(later, name):
                raise ValueError(f"Moments.then: {name} is {getattr(self, name)!r}, but {getattr(later, name)!r} in later")
        if self._triangle is None or later._triangle is None:
            return (later if self._triangle is None else self)._copy()
        if self._triangle.shape != later._triangle.shape:
            raise ValueError(f"Moments.then: there are {self.n_features_in_} features, but {later.n_features_in_} in later")
        if self._names is not None and later._names is not None and self._names != later._names:
            raise ValueError("Moments.then: the features of later have other names, or another order")
        out = later._copy()
        out._fold(self._triangle * self.forgetting ** (0.5 * later._rows))
        out._names = self._names or later._names
        out._largest = np.maximum(self._largest, later._largest)
        out._rows, out._weighted = self._rows + later._rows, self._weighted + later._weighted
        return out

    def model(self, ridge: float = 1.0) -> Learner:
        """The learner that these rows determine, which can continue to learn: RLS, or Ridge without forgetting.

        Weights and covariance match the sequential learner up to rounding. Directions that no row covers have the same
        limits as there. Quantities that depend on the predictions along the way are not known: intervals start from scratch.
        The certificate has no bound: its condition "the rows were learned one by one, with these parameters" fails, and its
        loss is that of the best fixed weights, including their penalty, plus that of predictions made since.

        Args:
            ridge: S starts at I / ridge.
        """
        _RIDGE.require("Moments.model", "ridge", ridge)
        forgets = self.forgetting < 1
        options: dict[str, Any] = {"ridge": ridge, "intercept": self.intercept}
        learner: Learner = RLS(forgetting=self.forgetting, **options) if forgets else Ridge(**options)
        if self._triangle is None:
            return learner
        width = len(self._triangle) - 1
        triangle = self._triangle.copy()
        prior = np.zeros((width, width + 1))
        np.fill_diagonal(prior, np.sqrt(ridge) * self.forgetting ** (0.5 * self._rows))
        _core.fold_rows(triangle[None], prior[None])
        unit, diagonal, weights, held = state.factors(triangle, self._largest[:-1], 1 / ridge if forgets else None)
        sums = {
            "rows": self._rows,
            "loss": triangle[-1, -1] ** 2,
            "value": triangle[-1, -1] ** 2,
            "largest_label": self._largest[-1],
            "largest_norm2": float(self._largest[:-1] @ self._largest[:-1]),
            "weighted": self._weighted,
            "capped": int(held),
            "retuned": 1,  # the rows were not learned one by one, so no theorem bounds the loss
        }
        state.start(learner, self._names, unit, diagonal, weights, sums)
        return learner

    # Adding rows.

    def _empty(self, columns: int, names: list[Name] | None) -> Moments:
        made = Moments(forgetting=self.forgetting, intercept=self.intercept)
        width = columns + self.intercept + 1
        made._names, made._triangle, made._largest = names, np.zeros((width, width)), np.zeros(width)
        return made

    def _copy(self) -> Moments:
        out = Moments(forgetting=self.forgetting, intercept=self.intercept)
        out.__dict__.update(self.__dict__)
        if self._triangle is not None:
            out._triangle = self._triangle.copy()
        return out

    def _fold(self, rows: Array) -> None:
        assert self._triangle is not None
        _core.fold_rows(self._triangle[None], np.ascontiguousarray(rows)[None])

    def _add(self, block: Array, labels: Array, weight: Array | None) -> None:
        assert self._triangle is not None
        z = np.column_stack([block, *([np.ones(len(block))] if self.intercept else []), labels]).astype(np.float64)
        if weight is not None:
            z, weight = z[weight > 0], weight[weight > 0]
            self._weighted += int(np.count_nonzero(weight != 1))
        if not len(z):
            return
        self._largest = np.maximum(self._largest, np.abs(z).max(axis=0))
        scale = self.forgetting ** (0.5 * np.arange(len(z) - 1, -1, -1))
        self._triangle *= self.forgetting ** (0.5 * len(z))
        self._fold(z * (scale if weight is None else scale * np.sqrt(weight))[:, None])
        self._rows += len(z)

    # Keeping.

    def __getstate__(self) -> dict[str, Any]:
        state = {"forgetting": self.forgetting, "intercept": self.intercept, "rows": self._rows, "weighted": self._weighted}
        learned = {} if self._triangle is None else {"triangle": self._triangle, "largest": self._largest}
        return {**state, "names": self._names, **learned}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restores an exported state; raises ModelFileError if no rows can have led to it."""
        self.__init__(forgetting=state["forgetting"], intercept=state["intercept"])  # type: ignore[misc]
        if "triangle" not in state:
            return
        triangle, largest = np.ascontiguousarray(state["triangle"]), state["largest"]
        width = len(largest)
        sound = triangle.dtype == largest.dtype == np.float64 and triangle.shape == (width, width) and largest.ndim == 1
        if not (sound and width >= 2 + self.intercept and np.isfinite(triangle).all() and not np.tril(triangle, -1).any()):
            raise ModelFileError("the triangle cannot come from rows")
        if not (np.isfinite(largest).all() and (largest >= 0).all()):
            raise ModelFileError("the largest values are out of range")
        self._rows = codec.require_count(state["rows"], "the number of rows")
        self._weighted = codec.require_count(state.get("weighted", 0), "the number of weighted rows", self._rows + 1)
        names = state.get("names")
        if names is not None and len(names) != width - 1 - self.intercept:
            raise ModelFileError("the names do not agree with the triangle")
        self._names, self._triangle, self._largest = names, triangle, largest

    def _to_file(self) -> dict[str, Any]:
        codec.require_text("Moments", self._names)
        return self.__getstate__()

    def _from_file(self, state: dict[str, Any]) -> None:
        codec.require_names(state.get("names"))
        self.__setstate__(state)

    def __repr__(self) -> str:
        return f"Moments(forgetting={self.forgetting:g}, intercept={self.intercept})"


codec.register(Moments, "moments")
