"""Turns columns of any kind into rows of numbers; new features may appear on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from operator import itemgetter
from typing import Any, Self

import numpy as np

from driftline.tables.calendar import Times
from driftline.tables.columns import CATEGORIES, LAST, Categories, Column, Numbers, Unknown
from driftline.tables.inputs import Array
from driftline.tables.kinds import NUMBER, TEXT, TRUTH
from driftline.tables.unseen import Averages

CACHED = 2**15  # numbers
Growth = list[tuple[int, int]]  # (row, features from this row on)


class ColumnEncoder:
    """Turns columns into rows of numbers. Its state depends on the rows alone, not on how they were cut into blocks.

    Args:
        limit: how many texts of a column get their own feature.
        policy: maps a column's name to its policy for missing numbers; see :class:`Numbers`.
    """

    def __init__(self, limit: int = CATEGORIES, policy: Callable[[str], str] = lambda name: LAST) -> None:
        self.limit, self.policy = limit, policy
        self.columns: dict[Any, Column] = {}  # by name: text in files, anything hashable in mappings
        self.features: list[tuple[Any, str]] = []  # (column, key)
        self.names: list[Any] = []

    def copy(self) -> Self:
        """A copy that learns independently."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.columns = {name: column.copy() for name, column in self.columns.items()}
        return other

    def add(self, name: Any, kind: str) -> Column:
        """Adds a column."""
        kind = kind.partition(" ")[0]
        if kind == Unknown.kind:
            self.columns[name] = Unknown(name)
        elif kind == TEXT:
            self.columns[name] = Categories(name, self.limit)
        elif kind in (NUMBER, TRUTH):
            self.columns[name] = Numbers(name, self.policy(name))
        else:
            self.columns[name] = Times(name, kind)
        return self.columns[name]

    def rows(self, values: Mapping[Any, Any], count: int, learned: Array | None = None) -> tuple[Array, Growth]:
        """Rows as numbers, and for each row with new features, the number of features from there on.

        Args:
            values: the rows' values by column, in the form that the column takes.
            count: the number of rows.
            learned: which rows are learned from; None for all.
        """
        vectors: dict[tuple[str, str], Array] = {}
        new: list[tuple[int, int, Any, str]] = []
        for place, (name, given) in enumerate(values.items()):
            found, keys = self.columns[name].encode(given, learned)
            for key, vector in found.items():
                vectors[name, key] = vector
            for row, key in keys:
                new.append((row, place, name, key))
        growth = self._add_features(new) if new else []
        return _side_by_side([vectors.get(feature) for feature in self.features], count), growth

    def _add_features(self, new: list[tuple[int, int, Any, str]]) -> Growth:
        """Adds new features in the order of their rows and columns."""
        self.features, self.names = [*self.features], [*self.names]  # copies share the lists
        taken = set(self.names)
        widths: dict[int, int] = {}
        for row, _, name, key in sorted(new, key=itemgetter(0, 1)):
            feature = self.columns[name].feature(key)
            while feature in taken:
                feature += "'"
            taken.add(feature)
            self.features.append((name, key))
            self.names.append(feature)
            widths[row] = len(self.names)
        return list(widths.items())

    def new_averages(self) -> Averages:
        """What the categories that the last rows brought were the average of, before they were learned."""
        found: Averages = {}
        for name, column in self.columns.items():
            if isinstance(column, Categories) and column.born:
                names = {key: known for (own, key), known in zip(self.features, self.names, strict=True) if own == name}
                for key, shares in column.born.items():
                    found[names[key]] = {names[other]: share for other, share in shares.items()}
        return found

    def state(self) -> dict[str, Any]:
        """The state, as plain values."""
        return {
            "columns": [
                [name, column.state()] for name, column in self.columns.items()
            ],  # a list, since files sort mappings
            "features": [[*feature, name] for feature, name in zip(self.features, self.names, strict=True)],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restores what :meth:`state` returned."""
        self.columns = {}
        for name, kept in state["columns"]:
            self.add(name, str(kept["kind"])).restore(kept)
        self.features = [(column, str(key)) for column, key, _ in state["features"]]
        self.names = [name for *_, name in state["features"]]


def spans(growth: Growth, width: int, count: int) -> list[tuple[int, int, int]]:
    """Spans of rows with the same features: (first row, end, number of features).

    >>> spans([(0, 2), (3, 4)], width=0, count=5)
    [(0, 3, 2), (3, 5, 4)]
    """
    edges = [(0, width), *growth, (count, 0)]
    return [(first, last, width) for (first, width), (last, _) in pairwise(edges) if first < last]


def _side_by_side(vectors: list[Array | None], rows: int) -> Array:
    """Columns side by side, 0 where a vector is None. Writes a few rows at a time, to stay in the cache."""
    X = np.empty((rows, len(vectors)))
    step = max(256, CACHED // (len(vectors) or 1))
    for begin in range(0, rows, step):
        end = min(begin + step, rows)
        piece = X[begin:end]
        for place, vector in enumerate(vectors):
            piece[:, place] = 0.0 if vector is None else vector[begin:end]
    return X
