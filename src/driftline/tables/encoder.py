"""What a model knows of the columns of its rows, and how it turns them into numbers; new features may appear on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, Self

import numpy as np

from driftline.errors import ModelFileError
from driftline.tables import cells, inputs, missing
from driftline.tables.calendar import Times
from driftline.tables.cells import Given, Row
from driftline.tables.columns import CATEGORIES, VALUE, Categories, Column, Filled, Numbers, Unknown
from driftline.tables.inputs import Array, Name
from driftline.tables.kinds import NUMBER, TEXT, TRUTH
from driftline.tables.missing import FILLS, Missing
from driftline.tables.row_plan import RowPlan
from driftline.tables.unseen import Averages

CACHED = 2**15  # numbers
Growth = list[tuple[int, int]]  # (row, features from this row on)
_UNKNOWN = Unknown("")


class Columns:
    """The columns of a model's rows. Their state depends on the learned rows alone, not on how they were cut into blocks.

    Args:
        missing: what a missing value means, see :mod:`driftline.tables.missing`.
        named: whether columns have names; array columns are named by their index.
        limit: how many texts of a column get their own feature.
    """

    def __init__(self, missing: Missing, named: bool = True, limit: int = CATEGORIES) -> None:
        self.missing, self.named, self.limit = missing, named, limit
        self.columns: dict[Any, Column] = {}  # by name: text in files, anything hashable in mappings
        self.features: list[tuple[Any, str]] = []  # (column, key)
        self.names: list[Any] = []
        self.averages: Averages = {}  # what stands for features that some model has not learned yet
        self._plan: RowPlan | None = None

    def copy(self) -> Self:
        """A copy that learns independently."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.columns = {name: column.copy() for name, column in self.columns.items()}
        other.averages = {**self.averages}
        other._plan = None  # whose columns are not the copy's
        return other

    def plan(self, largest: float) -> RowPlan:
        """The plan for single rows that bring nothing new."""
        if self._plan is None or self._plan.names is not self.names:
            gaps = {name for name in self.columns if self.word(name) in FILLS}
            self._plan = RowPlan(self.names, self.features, self.columns, gaps, float(largest))
        return self._plan

    # The columns.

    def word(self, name: Name) -> str:
        """What a missing value of a column means."""
        return missing.word(self.missing, name)

    def add(self, name: Any, kind: str) -> Column:
        """Adds a column."""
        kind = kind.partition(" ")[0]
        if kind == Unknown.kind:
            self.columns[name] = Unknown(name)
        elif kind == TEXT:
            self.columns[name] = Categories(name, self.limit)
        elif kind in (NUMBER, TRUTH):
            self.columns[name] = Numbers(name, self.word(name))
        else:
            self.columns[name] = Times(name, kind)
        return self.columns[name]

    def know_numbers(self, names: Iterable[Name]) -> None:
        """Adds columns of numbers whose features the model already has."""
        for name in names:
            self.add(name, NUMBER).met = True
            self.features.append((name, VALUE))
            self.names.append(name)

    def features_of(self, columns: Sequence[Name] | None) -> list[Name] | None:
        """The features of some columns; None for all."""
        if columns is None:
            return None
        return [name for (column, _), name in zip(self.features, self.names, strict=True) if column in columns]

    # Rows as numbers.

    def table(self, given: Mapping[Name, Given], where: str, learned: Array | None) -> tuple[Array, Growth]:
        """Rows as numbers, and the new features of the rows that are learned; ``learned=None`` learns nothing."""
        count = next(iter(given.values())).rows
        learned = np.zeros(count, dtype=bool) if learned is None else learned
        return self.rows(self.enter(given, where, "column {}", learned), count, learned)

    def row(self, given: Row, where: str, *, grow: bool) -> dict[Name, float]:
        """The features of one row; with ``grow`` the columns learn from it."""
        columns = cells.of_row(given)
        for name, column in self.columns.items():
            if name not in columns and isinstance(column, Numbers) and column.met:
                columns[name] = Given(NUMBER, [0.0])  # a missing key is 0
        learned = np.array([grow])
        X, _ = self.rows(self.enter(columns, where, "x[{}]", learned), 1, learned)
        found: dict[Name, float] = dict(zip(self.names, X[0].tolist(), strict=True))
        found |= {name: given[column].value for column, name in self._numbers() if isinstance(given.get(column), Filled)}
        for name in self._direct(columns):
            value = given[name]
            if not isinstance(value, float):
                raise ValueError(f"{where}: x[{name!r}] must be a number, got {value!r}")
            found[name] = value
        return found

    def enter(self, given: Mapping[Name, Given], where: str, what: str, learned: Array) -> dict[Name, Any]:
        """Values by column, in the form that each column takes.

        Args:
            given: the columns of some rows.
            where: the caller's name, for messages.
            what: how messages refer to a column: a format string that takes its name.
            learned: which rows are learned from; these may bring new columns.
        """
        direct = self._direct(given)
        for name in inputs.as_names(given, where) if learned.any() else ():
            values = given[name]
            if name not in direct and isinstance(self.columns.get(name, _UNKNOWN), Unknown):
                met = values.kind is not None and bool((learned & ~cells.missing_in(values)).any())
                self.add(name, values.kind if met and values.kind else Unknown.kind)
        known = [name for name in self.columns if name in given]
        return {name: cells.for_column(self.columns[name], given[name], where, what.format(repr(name))) for name in known}

    def _direct(self, given: Mapping[Name, Given]) -> set[Name]:
        """The names of features, rather than columns: their values are used as they are."""
        return (set(self.names) - set(self.columns)) & set(given)

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

    def _numbers(self) -> list[tuple[Name, Name]]:
        """The columns of numbers that have had a value, and their features."""
        return [(column, name) for (column, key), name in zip(self.features, self.names, strict=True) if key == VALUE]

    # Missing values.

    def keep_filled(self, given: Row, found: Mapping[Name, float]) -> Row:
        """A row with the values that replaced missing numbers, kept until its label arrives."""
        filled = {
            column: Filled(found[name])
            for column, name in self._numbers()
            if given.get(column, 0.0) is None and self.word(column) in FILLS
        }
        return Row({**given, **filled}, given.named)

    # Models that learn a row later than the columns.

    def note_averages(self) -> None:
        """Keeps what the categories of the last rows were the average of before, for models that learn these rows later."""
        for name, column in self.columns.items():
            if isinstance(column, Categories) and column.born:
                names = {key: known for (own, key), known in zip(self.features, self.names, strict=True) if own == name}
                for key, shares in column.born.items():
                    self.averages[names[key]] = {names[other]: share for other, share in shares.items()}

    def settle(self, names: set[Name]) -> None:
        """Drops the averages of features that all models have learned."""
        self.averages = {name: average for name, average in self.averages.items() if name not in names}

    # State.

    def state(self) -> dict[str, Any]:
        """The state, as plain values; lists in the place of mappings, which files sort."""
        return {
            "named": self.named,
            "columns": [[name, column.state()] for name, column in self.columns.items()],
            "features": [[*feature, name] for feature, name in zip(self.features, self.names, strict=True)],
            "averages": [[name, [*map(list, average.items())]] for name, average in self.averages.items()],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what :meth:`state` returned."""
        self.named, self.columns = bool(state["named"]), {}
        for name, kept in state["columns"]:
            self.add(name, str(kept["kind"])).restore(kept)
        self.features = [(column, str(key)) for column, key, _ in state["features"]]
        self.names = [name for *_, name in state["features"]]
        self.averages = {name: {other: float(share) for other, share in shares} for name, shares in state["averages"]}

    @classmethod
    def restored(cls, state: Mapping[str, Any], names: list[Name] | None, missing: Missing) -> Self:
        """The columns of an exported state; raises ValueError if they disagree with the model's features."""
        found = cls(missing)
        try:
            found.restore(state)
            sound = found.state() == {name: state[name] for name in found.state()}
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
            sound = False
        if not sound or found.names != names or not found._agrees():
            raise ModelFileError("the columns do not agree with the features")
        return found

    def _agrees(self) -> bool:
        owned = [(name, key) for name, column in self.columns.items() for key in column.known_keys()]
        sums = all(
            column.count >= 0 and np.isfinite([column.total, column.last]).all() and column.policy == self.word(name)
            for name, column in self.columns.items()
            if isinstance(column, Numbers)
        )
        bounded = all(len(each.values) <= each.limit for each in self.columns.values() if isinstance(each, Categories))
        return sums and bounded and len(owned) == len(self.features) and set(owned) == set(self.features)


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
