"""The best fixed linear model in hindsight, and its loss in every part of the stream, in one pass and bounded memory.

The loss of fixed weights on some rows depends only on the triangle R of a QR factorisation of [1 x p y], where p are the
predictions: it is |R (-w, 0, 1)|², without cancellation, however small. Two stretches of rows are merged by factorising one
triangle stacked on the other. A triangle is kept for each of up to a few hundred stretches. Together they determine the
weights, and each gives the loss of its stretch. :mod:`driftline.report.contributions` uses the predictions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from driftline import _core
from driftline.report.pyramid import Pyramid
from driftline.storage.resumable import Resumable
from driftline.tables.inputs import Array

STRETCHES = 256
NUMBERS = 2**21  # the largest number of values in all triangles
WIDEST = 256  # features; beyond that, a triangle costs far more than most learners


def stacked(above: Array, below: Array) -> Array:
    """Triangles for the rows of both, from triangles (n, k, k) and rows (n, m, k)."""
    triangles = np.array(above)
    _core.fold_rows(triangles, np.ascontiguousarray(below))
    return triangles


def _triangles(rows: Array) -> Array:
    """(n, k, k) triangles with the Gram matrices of (n, m, k) rows."""
    n, _, k = rows.shape
    return stacked(np.zeros((n, k, k)), rows)


BESIDE = 3  # columns in addition to the features: 1, p and y


def merged(triangles: Array, each: int) -> Array:
    """Triangles of stretches that are ``each`` times as long, a power of 2."""
    while each > 1:
        even = len(triangles) // 2 * 2
        pairs = stacked(triangles[0:even:2], triangles[1:even:2])
        triangles, each = np.concatenate([pairs, triangles[even:]]), each // 2
    return triangles


class Hindsight(Resumable):
    """Triangles of [1 x p y] for stretches of the stream; x may become wider on the right."""

    _fields = ("features", "rows", "waiting", "pyramid")

    def __init__(self, features: int = 0) -> None:
        self.features = features
        self.rows = 0
        self.waiting = np.empty((0, features + BESIDE))
        self.pyramid = Pyramid({"triangle": stacked}, self._capacity(features))

    @staticmethod
    def _capacity(features: int) -> int:
        most = min(STRETCHES, NUMBERS // (features + BESIDE) ** 2)
        return 1 << (most.bit_length() - 1)

    def add(self, X: Array, predictions: Array, y: Array) -> None:
        """Adds rows; a row with a value that is not finite counts as zeros."""
        if X.shape[1] > self.features:
            self._widen(X.shape[1])
        rows = np.zeros((len(X), self.features + BESIDE))
        rows[:, 0], rows[:, 1 : 1 + X.shape[1]], rows[:, -2], rows[:, -1] = 1.0, X, predictions, y
        rows[~np.isfinite(rows).all(axis=1)] = 0.0
        rows = np.concatenate([self.waiting, rows])
        start = 0
        while True:
            level, end = self._leaf(self.rows)
            count = min(len(rows) - start, end - self.rows) >> level
            if not count:
                break
            used = count << level
            leaves = rows[start : start + used].reshape(count, 1 << level, -1)
            self.pyramid.extend({"triangle": _triangles(leaves)}, level)
            start, self.rows = start + used, self.rows + used
        self.waiting = rows[start:].copy()

    def _leaf(self, row: int) -> tuple[int, int]:
        """The number of rows factorised at a time from this row on, as a power of 2, and the row at which it may change.

        It is the length of a stretch by then, but not much more than the number of columns. It depends only on the row's
        number, so it is the same however the stream is cut.
        """
        capacity, most = self.pyramid.capacity, max(8, (4 * self.features).bit_length())
        level = min(max(row // capacity, 1).bit_length() - 1, most)
        aligned = (row & -row).bit_length() - 1 if row else level
        if aligned < level:
            return aligned, row + (1 << aligned)
        return level, row + (1 << most) if level == most else capacity << (level + 1)

    def _widen(self, features: int) -> None:
        """Earlier rows have 0 in the new features."""
        wider = features - self.features
        self.waiting = np.insert(self.waiting, [-2] * wider, 0.0, axis=1)
        for rung in self.pyramid.rungs:
            if rung:
                triangles = np.insert(rung["triangle"], [-2] * wider, 0.0, axis=2)
                empty = np.zeros((len(triangles), wider, triangles.shape[2]))
                rung["triangle"] = np.concatenate([triangles, empty], axis=1)
        self.features = features
        self.pyramid.capacity = self._capacity(features)
        self.pyramid.extend({})

    @property
    def width(self) -> int:
        """The rows of a stretch."""
        return self.pyramid.width

    def triangles(self) -> Array:
        """One for each stretch, in order; the last one may be short."""
        buckets = self.pyramid.buckets().get("triangle", np.empty((0, self.features + BESIDE, self.features + BESIDE)))
        if not len(self.waiting):
            return buckets
        rest = _triangles(self.waiting[None])
        if len(buckets) and self.rows % self.width:
            return np.concatenate([buckets[:-1], stacked(buckets[-1:], rest)])
        return np.concatenate([buckets, rest])

    def resume(self, state: Mapping[str, Any]) -> Self:
        """Continues from a state."""
        super().resume(state)
        self.pyramid.capacity = self._capacity(self.features)
        return self


def best_fixed(triangles: Array) -> tuple[Array, Array, Array]:
    """The weights with the smallest squared error on all rows, constant first; losses by stretch; spreads of the features.

    If features depend on each other, the shortest such weights are used, in units of the features' sizes.
    """
    rows = triangles.reshape(-1, triangles.shape[2])
    whole = _triangles(rows[None])[0]
    inputs = whole[:, :-2]
    sizes = np.linalg.norm(inputs, axis=0)
    sizes[sizes == 0] = 1.0
    weights = np.linalg.lstsq(inputs / sizes, whole[:, -1], rcond=inputs.shape[1] * 1e-14)[0] / sizes
    with np.errstate(over="ignore"):
        losses = np.square(triangles @ np.concatenate([-weights, [0.0, 1.0]])).sum(axis=1)
        count = np.square(whole[0, 0])
        spreads = np.linalg.norm(whole[1:, 1:-2], axis=0) / np.sqrt(max(count, 1.0))
    return weights, losses, spreads
