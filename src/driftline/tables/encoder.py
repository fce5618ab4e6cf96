"""What a model knows of the columns of its rows, and how it turns them into numbers; new features may appear on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any, NamedTuple, Self

import numpy as np

from driftline.errors import ModelFileError
from driftline.tables import cells, inputs, missing
from driftline.tables.calendar import CIRCLES, TimeFeatures, Times
from driftline.tables.categories import CATEGORIES, Categories, Texts
from driftline.tables.cells import Given, Row
from driftline.tables.columns import VALUE, Column, Filled, NewKeys, Unknown, Vectors
from driftline.tables.inputs import Array, Name
from driftline.tables.kinds import NUMBER, TEXT, TRUTH
from driftline.tables.missing import FILLS, Missing
from driftline.tables.numbers import Numbers, encode_whole
from driftline.tables.row_plan import RowPlan

CACHED = 2**15  # numbers
FEW = 1024  # rows; for fewer, most of the time is the calls for each column
Growth = list[tuple[int, int]]  # (row, features from this row on)
_UNKNOWN = Unknown("")


class Late(NamedTuple):
    """Rows that are learned later than they are predicted.

    Attributes:
        asked: the rows that are predicted, as numbers.
        told: the rows that are learned.
        growth: (row, features from this row on) for rows that are learned and bring new features, in order.
    """

    asked: Array
    told: Array
    growth: Growth


class Columns:
    """The columns of a model's rows. Their state depends on the learned rows alone, not on how they were cut into blocks.

    Args:
        missing: what a missing value means, see :mod:`driftline.tables.missing`.
        named: whether columns have names; array columns are named by their index.
        limit: how many texts of a column get their own feature.
        average: whether the average of the known texts stands for a new one, see :class:`Categories`.
        times: the features of times.
    """

    def __init__(
        self,
        missing: Missing,
        named: bool = True,
        limit: int = CATEGORIES,
        average: bool = True,
        times: TimeFeatures = CIRCLES,
    ) -> None:
        self.missing, self.named, self.limit, self.average, self.times = missing, named, limit, average, times
        self.columns: dict[Any, Column] = {}  # by name: text in files, anything hashable in mappings
        self.features: list[tuple[Any, str]] = []  # (column, key)
        self.names: list[Any] = []
        self.shared = False  # with other learners, which must not see it change
        self._plan: RowPlan | None = None

    def copy(self) -> Self:
        """A copy that learns independently."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.columns = {name: column.copy() for name, column in self.columns.items()}
        other._plan, other.shared = None, False  # a plan's columns are not the copy's
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
            self.columns[name] = Categories(name, self.limit, self.average)
        elif kind in (NUMBER, TRUTH):
            self.columns[name] = Numbers(name, self.word(name))
        else:
            self.columns[name] = Times(name, kind, self.times)
        return self.columns[name]

    def know_numbers(self, names: Iterable[Name]) -> None:
        """Adds columns of numbers whose features the model already has."""
        for name in names:
            self.add(name, NUMBER).met = True
            self.features.append((name, VALUE))
            self.names.append(name)

    # Rows as numbers.

    def table(self, given: Mapping[Name, Given], where: str, learned: Array | None) -> tuple[Array, Growth]:
        """Rows as numbers, and the new features of the rows that are learned; ``learned=None`` learns nothing."""
        count = next((each.rows for each in given.values()), 0 if learned is None else len(learned))
        learned = np.zeros(count, dtype=bool) if learned is None else learned
        return self.rows(self.enter(given, where, "column {}", learned), count, learned)

    def before(self, row: Array, width: int) -> Array:
        """A row of the last call whose features from ``width`` on are new, as it is without them.

        The average of the known categories stands for a new one.
        """
        found = row[:width].copy()
        places: dict[tuple[Any, str], int] = {}
        for (name, key), value in zip(self.features[width : len(row)], row[width:].tolist(), strict=True):
            column = self.columns[name]
            if value and isinstance(column, Categories):
                places = places or {feature: place for place, feature in enumerate(self.features)}
                for other, share in column.born[key].items():
                    found[places[name, other]] += share * value
        return found

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
            if isinstance(self.columns.get(name, _UNKNOWN), Unknown) and name not in direct:
                values = given[name]
                met = values.kind is not None and _has_value(values, learned)
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
        at_once = self._at_once(values) if 0 < count < FEW and (learned is None or learned.all()) else {}
        for place, (name, given) in enumerate(values.items()):
            found, keys = at_once.get(name) or self.columns[name].encode(given, learned)
            for key, vector in found.items():
                vectors[name, key] = vector
            for row, key in keys:
                new.append((row, place, name, key))
        growth = self._add_features(new) if new else []
        return _side_by_side([vectors.get(feature) for feature in self.features], count), growth

    def late(self, values: Mapping[Any, Any], waiting: int, asked: int, delay: int, learned: Array) -> Late:
        """Rows as numbers, both when they are predicted and when they are learned, ``delay`` rows later.

        Args:
            values: the rows by column, in the form that the column takes. First come those that wait.
            waiting: the number of rows that wait, which were predicted before.
            asked: the number of rows that are predicted now.
            delay: how many rows wait after each prediction.
            learned: which of the first rows are learned from; all of them are told their labels now.
        """
        told = len(learned)
        turns = np.argsort(np.concatenate([2 * np.arange(asked), 2 * (np.arange(told) + delay - waiting) + 1]))
        order = np.where(turns < asked, turns + waiting, turns - asked)  # rows, in the order of predicting and learning
        is_told = turns >= asked
        in_turn = np.zeros(len(order), dtype=bool)
        in_turn[is_told] = learned
        asks: dict[tuple[Any, str], Array] = {}
        tells: dict[tuple[Any, str], Array] = {}
        new: list[tuple[int, int, Any, str]] = []
        filled: list[tuple[Any, Array]] = []
        for place, (name, given) in enumerate(values.items()):
            column = self.columns[name]
            if column.is_settled(given):
                found, _ = column.encode(given, np.zeros(waiting + asked, dtype=bool))
                column.encode(_taken(given, np.flatnonzero(learned)))
                asks |= {(name, key): vector[waiting:] for key, vector in found.items()}
                tells |= {(name, key): vector[:told] for key, vector in found.items()}
                continue
            found, keys = column.encode(_taken(given, order), in_turn)
            asks |= {(name, key): vector[~is_told] for key, vector in found.items()}
            tells |= {(name, key): vector[is_told] for key, vector in found.items()}
            new += [(int(order[turn]), place, name, key) for turn, key in keys]
            if isinstance(column, Numbers):
                filled.append((name, np.flatnonzero(np.isnan(given[:told]))))
        for name, rows in filled:  # a missing number keeps the value that was filled in when its row was predicted
            if (name, VALUE) in asks:
                own = rows[rows >= waiting]
                tells[name, VALUE] = tells[name, VALUE].copy()
                tells[name, VALUE][own] = asks[name, VALUE][own - waiting]
        growth = self._add_features(new) if new else []
        X = _side_by_side([asks.get(each) for each in self.features], asked)
        return Late(X, _side_by_side([tells.get(each) for each in self.features], told), growth)

    def _at_once(self, values: Mapping[Any, Any]) -> dict[Any, tuple[Vectors, NewKeys]]:
        """The columns of numbers that are encoded together, because nothing is missing."""
        numbers = [name for name in values if type(self.columns[name]) is Numbers]
        found: dict[Any, tuple[Vectors, NewKeys]] = {}
        for begin in range(0, len(numbers), FEW):
            names = numbers[begin : begin + FEW]
            encoded = encode_whole([self.columns[name] for name in names], [values[name] for name in names])  # type: ignore[misc]
            found |= {} if encoded is None else dict(zip(names, encoded, strict=True))
        return found

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

    # State.

    def state(self) -> dict[str, Any]:
        """The state, as plain values; lists in the place of mappings, which files sort."""
        return {
            "named": self.named,
            "limit": self.limit,
            "columns": [[name, column.state()] for name, column in self.columns.items()],
            "features": [[*feature, name] for feature, name in zip(self.features, self.names, strict=True)],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what :meth:`state` returned."""
        self.named, self.limit, self.columns = bool(state["named"]), state["limit"], {}
        for name, kept in state["columns"]:
            self.add(name, str(kept["kind"])).restore(kept)
        self.features = [(column, str(key)) for column, key, _ in state["features"]]
        self.names = [name for *_, name in state["features"]]

    @classmethod
    def restored(
        cls, state: Mapping[str, Any], names: list[Name] | None, missing: Missing, average: bool, times: TimeFeatures
    ) -> Self:
        """The columns of an exported state; raises ValueError if they disagree with the model's features."""
        found = cls(missing, average=average, times=times)
        try:
            found.restore(state)
            sound = _holds(found.state(), state)
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
        texts = [column for column in self.columns.values() if isinstance(column, Categories)]
        bounded = type(self.limit) is int and all(len(column.values) <= column.limit for column in texts)
        return sums and bounded and len(owned) == len(self.features) and set(owned) == set(self.features)


def _holds(found: Any, given: Any) -> bool:
    """Whether a restored state has all that was given; fields that an older file lacks have their defaults."""
    if isinstance(given, Mapping):
        return all(name in found and _holds(found[name], value) for name, value in given.items())
    if isinstance(given, (list, tuple)):
        return isinstance(found, (list, tuple)) and len(found) == len(given) and all(map(_holds, found, given))
    return bool(found == given)


def _has_value(values: Given, learned: Array) -> bool:
    """Whether a column has a value in a row that is learned."""
    if values.kind == NUMBER and not isinstance(values.values, list) and learned[0] and values.values[0] == values.values[0]:
        return True  # a quick answer, for files of many columns
    return bool((learned & ~cells.missing_in(values)).any())


def _taken(values: Any, rows: Array) -> Any:
    """Some of the values of a column."""
    if isinstance(values, Texts):
        return Texts(values.codes[rows], values.values)
    return None if values is None else values[rows]


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
