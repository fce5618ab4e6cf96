"""Columns of numbers and of text as features, for files, frames and mappings alike.

A column encodes rows as one vector for each of its features, by key, and reports the row in which a feature is new. Its
state does not depend on how the rows were cut into blocks. It learns from some of the rows, by default from all; the others
are encoded but change nothing. A feature is 0 in the rows before it appears.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from driftline.tables.inputs import Array
from driftline.tables.kinds import NUMBER, TEXT
from driftline.tables.missing import FILLS, LAST, MEAN, ZERO

VALUE, ABSENT, OTHER = "value", "missing", "other"
LONGEST_CATEGORY = 256  # characters by which categories are told apart
CATEGORIES = 50  # texts of a column that get their own feature, by default
RECENT = 100  # rows over which shares of texts are taken, at least; always fewer than twice as many
_LARGEST = float(np.finfo(np.float64).max)

NewKeys = list[tuple[int, str]]  # (row, key) of each new feature
Vectors = dict[str, Array]
Writer = Callable[[Any, list[float], bool], bool]


class Texts(NamedTuple):
    """A column of text.

    Attributes:
        codes: the index of each row's text in ``values``, -1 where it is missing.
        values: distinct texts.
    """

    codes: Array
    values: list[str]


class Filled(NamedTuple):
    """The value that replaced a missing number when its row was predicted."""

    value: float


class Column(ABC):
    """What is known about a column from the rows so far."""

    kind: str
    changing: ClassVar[tuple[str, ...]] = ()  # the attributes that every learned row changes

    def __init__(self, name: str) -> None:
        self.name = name
        self.met = False  # a value has appeared
        self.missed = False  # a value was missing after one had appeared

    @abstractmethod
    def encode(self, values: Any, learned: Array | None = None) -> tuple[Vectors, NewKeys]:
        """The features of some rows, and which of them are new.

        Args:
            values: the rows' values.
            learned: which rows the column learns from; None for all.
        """

    @abstractmethod
    def known_keys(self) -> list[str]:
        """The keys of the features so far."""

    @abstractmethod
    def writer(self, places: Mapping[str, int]) -> Writer:
        """A function that writes the features of one value into a row of zeros, as :meth:`encode` would.

        It takes the value (None if it is missing), the row, and whether the row is learned. It returns False if the value is
        of another kind or would bring a feature. It is valid as long as the column has the same features.

        Args:
            places: the place of each feature in the row, by key.
        """

    @abstractmethod
    def is_settled(self, values: Any) -> bool:
        """Whether :meth:`encode` gives the same for these values whatever it learns from them."""

    def after(self, places: Mapping[str, int]) -> Callable[[list[float]], tuple[Any, ...]]:
        """A function from a row that the :meth:`writer` wrote to the values of :attr:`changing` once it is learned."""
        return lambda row: ()

    def feature(self, key: str) -> str:
        """A feature's name."""
        return self.name if key == VALUE else f"{self.name} is missing"

    def copy(self) -> Self:
        """A copy that learns independently."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)  # no value is changed in place
        return other

    def state(self) -> dict[str, Any]:
        """The state, as plain values."""
        return {"kind": self.kind, "met": self.met, "missed": self.missed}

    def restore(self, state: dict[str, Any]) -> None:
        """Restores what :meth:`state` returned."""
        self.met, self.missed = bool(state["met"]), bool(state["missed"])

    def _appear(self, counted: Array) -> tuple[int, NewKeys]:
        """The first row in which the column has a value (past the end if none), and its new feature."""
        if self.met:
            return 0, []
        if not counted.any():
            return len(counted), []
        self.met = True
        first = int(counted.argmax())
        return first, [(first, VALUE)]

    def _absence(self, known: Array, learned: Array | None, first: int) -> tuple[Vectors, NewKeys]:
        """The feature that marks missing values; it appears with the first of them."""
        absent = ~known
        absent[:first] = False
        new: NewKeys = []
        if not self.missed:
            counted = absent if learned is None else absent & learned
            if not counted.any():
                return {}, []
            self.missed = True
            begin = int(counted.argmax())
            absent[:begin] = False
            new = [(begin, ABSENT)]
        return {ABSENT: absent.astype(np.float64)}, new


class Unknown(Column):
    """A column without a value so far."""

    kind = "unknown"

    def encode(self, values: Any, learned: Array | None = None) -> tuple[Vectors, NewKeys]:
        """Nothing."""
        return {}, []

    def is_settled(self, values: Any) -> bool:
        """See :meth:`Column.is_settled`."""
        return True

    def known_keys(self) -> list[str]:
        """None."""
        return []

    def writer(self, places: Mapping[str, int]) -> Writer:
        """See :meth:`Column.writer`."""
        return lambda value, row, learned: value is None


class Numbers(Column):
    """A column of numbers, which is itself a feature. Missing values are filled in according to the policy.

    Args:
        name: the column's name.
        policy: what takes the place of a missing number: "last" for the last value, "mean" for the mean so far, "zero" for
            0. With any other word, the row is left out.
    """

    kind = NUMBER

    def __init__(self, name: str, policy: str = LAST) -> None:
        super().__init__(name)
        self.policy = policy
        self.last = self.total = 0.0
        self.count = 0

    def encode(self, values: Array, learned: Array | None = None) -> tuple[Vectors, NewKeys]:
        """The numbers, NaN where one is missing."""
        if all_finite(values) and (learned is None or learned.all()):
            return self._encode_whole(values)
        known = ~np.isnan(values)
        counted = known if learned is None else known & learned
        first, new = self._appear(counted)
        if not self.met:
            return {}, []
        filled = self._fill(values, known, counted)
        filled[:first] = 0.0
        if self.policy not in FILLS:
            return {VALUE: filled}, new
        absence, more = self._absence(known, learned, first)
        return {VALUE: filled} | absence, new + more

    def _encode_whole(self, values: Array) -> tuple[Vectors, NewKeys]:
        """The common case, in which no value is missing."""
        if not len(values):
            return {}, []
        total = float(running_totals(self.total, values)[-1]) if self.policy == MEAN else 0.0
        new = [(0, VALUE)] if self.learn_whole(float(values[-1]), total, len(values)) else []
        return {VALUE: values} | ({ABSENT: np.zeros(len(values))} if self.missed else {}), new

    def is_settled(self, values: Array) -> bool:
        """See :meth:`Column.is_settled`."""
        return self.met and all_finite(values)

    def learn_whole(self, last: float, total: float, count: int) -> bool:
        """Learns values of which none is missing: the last one, the total with them, their number. Returns if it is new."""
        new, self.met = not self.met, True
        if self.policy == MEAN:
            self.total, self.count = total, self.count + count
        elif self.policy == LAST:
            self.last = last
        return new

    def _fill(self, values: Array, known: Array, counted: Array) -> Array:
        """The values with gaps filled in; remembers those that count."""
        if self.policy not in FILLS:
            return values.copy()
        if self.policy == ZERO:
            return np.where(known, values, 0.0)
        if self.policy == MEAN:
            totals = running_totals(self.total, np.where(counted, values, 0.0))
            counts = self.count + np.cumsum(counted)
            filled = np.where(known, values, totals[:-1] / np.maximum(counts - counted, 1))
            self.total, self.count = float(totals[-1]), int(counts[-1])
            return filled
        place = np.maximum.accumulate(np.where(counted, np.arange(len(values)), -1))
        filled = np.where(known, values, np.where(place >= 0, values[place], self.last))
        if place[-1] >= 0:
            self.last = float(values[place[-1]])
        return filled

    def _next_filled(self) -> float:
        """What takes the place of the next missing number."""
        if self.policy == MEAN:
            return self.total / max(self.count, 1)
        return self.last if self.policy == LAST else 0.0

    @property
    def changing(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the next missing number is filled in from."""
        return {MEAN: ("total", "count"), LAST: ("last",)}.get(self.policy, ())

    def writer(self, places: Mapping[str, int]) -> Writer:
        """See :meth:`Column.writer`."""
        at, absent = places.get(VALUE), places.get(ABSENT)

        def write(value: Any, row: list[float], learned: bool) -> bool:
            if at is None:
                return False
            if type(value) is float:
                row[at] = value
                return True
            filled = isinstance(value, Filled)
            if (value is not None and not filled) or self.policy not in FILLS or (absent is None and learned):
                return False
            row[at] = value.value if filled else self._next_filled()
            if absent is not None:
                row[absent] = 1.0
            return True

        return write

    def after(self, places: Mapping[str, int]) -> Callable[[list[float]], tuple[Any, ...]]:
        """See :meth:`Column.after`."""
        at, absent = places[VALUE], places.get(ABSENT)

        def last(row: list[float]) -> tuple[float]:
            return (self.last if absent is not None and row[absent] else row[at],)

        def sums(row: list[float]) -> tuple[float, int]:
            if absent is not None and row[absent]:
                return self.total, self.count
            total = self.total + row[at]
            return total if -_LARGEST <= total <= _LARGEST else math.copysign(_LARGEST, total), self.count + 1

        return last if self.policy == LAST else sums

    def known_keys(self) -> list[str]:
        """The keys of the features so far."""
        return [VALUE] * self.met + [ABSENT] * self.missed

    def state(self) -> dict[str, Any]:
        """The state, as plain values."""
        return super().state() | {"policy": self.policy, "last": self.last, "total": self.total, "count": self.count}

    def restore(self, state: dict[str, Any]) -> None:
        """Restores what :meth:`state` returned."""
        super().restore(state)
        self.last, self.total, self.count = float(state["last"]), float(state["total"]), int(state["count"])


class Categories(Column):
    """A column of text: one 0/1 feature for each distinct text. New texts may appear at any time.

    A text without a feature is encoded as the average of the known ones: each of their features is its share of the recent
    rows. With a 1 in none of them, a row would ask for the level that the known texts deviate from, which no row determines.

    Args:
        name: the column's name.
        limit: how many texts get their own feature; later ones share one.
    """

    kind = TEXT
    changing = ("before", "counts")

    def __init__(self, name: str, limit: int = CATEGORIES) -> None:
        super().__init__(name)
        self.limit = limit
        self.values: dict[str, str] = {}  # texts with their own feature, and its key
        self.shared = False  # the remaining texts have a common feature
        self.before: dict[str, int] = {}  # the last RECENT rows that are counted together, by key
        self.counts: dict[str, int] = {}  # the rows since then
        self.born: dict[str, dict[str, float]] = {}  # for each new feature of the last rows, the shares at its first row

    def feature(self, key: str) -> str:
        """A feature's name."""
        if key in (ABSENT, OTHER):
            return f"{self.name} is {key}"
        return f"{self.name}={key[1:]}"

    def encode(self, values: Texts, learned: Array | None = None) -> tuple[Vectors, NewKeys]:
        """The texts."""
        codes = values.codes
        known = codes >= 0
        counted = known if learned is None else known & learned
        first = 0 if self.met else int(counted.argmax()) if counted.any() else len(codes)
        self.met = self.met or bool(counted.any())
        texts = [value[:LONGEST_CATEGORY] for value in values.values]
        new = self._meet(texts, codes, counted)
        _, more = self._absence(known, learned, first)
        keys = self.known_keys()
        places = {key: place for place, key in enumerate(keys)}
        of_code = [places.get(self._key(text) or "", -1) for text in texts]
        found = np.array([*of_code, places.get(ABSENT, -1)])[codes]  # a missing text has code -1, the last one
        since = np.zeros(len(keys) + 1, dtype=np.int64)  # the row in which each feature appears; the last is no feature
        for row, key in new + more:
            since[places[key]] = row
        if since.any():
            found[np.arange(len(codes)) < since[found]] = -1
        vectors = {key: (found == place).astype(np.float64) for place, key in enumerate(keys)}
        rows = np.arange(first, len(codes)) if learned is None else first + np.flatnonzero(learned[first:])
        self._average(vectors, found, first, rows, dict(new + more))
        return vectors, new + more

    def is_settled(self, values: Texts) -> bool:
        """See :meth:`Column.is_settled`."""
        known = all(self._key(text[:LONGEST_CATEGORY]) is not None for text in values.values)
        return known and (self.missed or values.codes.min(initial=0) == 0)

    def _average(self, vectors: Vectors, found: Array, first: int, learned: Array, new: dict[int, str]) -> None:
        """Counts the learned rows; writes the shares of the features into the rows that have none.

        Args:
            vectors: the features.
            found: the place of each row's feature among them; -1 for rows that have none.
            first: the first row that counts.
            learned: the rows that are learned.
            new: the new features, by row.
        """
        keys, counted, done = [*vectors], found[learned], 0
        self.born = {}
        if not new and found[first:].min(initial=0) == 0:  # the common case
            self._count(keys, counted)
            return
        unknown = first + np.flatnonzero(found[first:] < 0)
        before = np.searchsorted(learned, unknown)
        births = {int(np.searchsorted(learned, row)): key for row, key in new.items()}
        for stop in sorted({*before.tolist(), *births}):
            self._count(keys, counted[done:stop])
            done, shares = stop, self.shares()
            if stop in births:
                self.born[births[stop]] = shares
            for key, share in shares.items():
                vectors[key][unknown[before == stop]] = share
        self._count(keys, counted[done:])

    def _count(self, keys: list[str], places: Array) -> None:
        """Counts rows by the places of their features among the keys. Only the last ones are looked at."""
        whole, rest = divmod(sum(self.counts.values()) + len(places), RECENT)
        end = len(places) - rest if whole else 0
        if whole:
            start = max(end - RECENT, 0)
            self.before = _counted(keys, places[start:end], self.counts if whole == 1 else {})
            self.counts = {}
        self.counts = _counted(keys, places[end:], self.counts)

    def shares(self) -> dict[str, float]:
        """The share of each feature in the recent rows, by key."""
        recent = {key: self.before.get(key, 0) + self.counts.get(key, 0) for key in self.known_keys()}
        total = sum(recent.values())
        return {key: count / total for key, count in recent.items() if count}

    def _key(self, text: str) -> str | None:
        """The feature of a text; None if it would be new."""
        return self.values.get(text, OTHER if self.shared else None)

    def _meet(self, texts: list[str], codes: Array, counted: Array) -> NewKeys:
        """Adds features for new texts, in the order in which they appear in the rows that count."""
        new: NewKeys = []
        if all(self._key(text) is not None for text in texts):
            return new
        appeared, rows = np.unique(codes[counted], return_index=True)
        places = np.flatnonzero(counted)[rows]
        for code, row in sorted(zip(appeared.tolist(), places.tolist(), strict=True), key=lambda item: item[1]):
            text = texts[code]
            if self._key(text) is not None:
                continue
            if len(self.values) < self.limit:
                self.values = {**self.values, text: f"={text}"}
                new.append((row, self.values[text]))
            else:
                self.shared = True
                new.append((row, OTHER))
        return new

    def writer(self, places: Mapping[str, int]) -> Writer:
        """See :meth:`Column.writer`."""
        own = {text: places[key] for text, key in self.values.items()}
        other, absent = places.get(OTHER), places.get(ABSENT)

        def write(value: Any, row: list[float], learned: bool) -> bool:
            if value is not None and not isinstance(value, str):
                return False
            at = absent if value is None else own.get(value[:LONGEST_CATEGORY], other)
            if at is not None:
                row[at] = 1.0
            elif not learned:
                for key, share in self.shares().items():
                    row[places[key]] = share
            return at is not None or not learned

        return write

    def after(self, places: Mapping[str, int]) -> Callable[[list[float]], tuple[Any, ...]]:
        """See :meth:`Column.after`."""
        keys, ones = list(places), itemgetter(*places.values(), *places.values())  # twice, for a tuple even of one

        def counted(row: list[float]) -> tuple[dict[str, int], dict[str, int]]:
            flags = ones(row)
            if 1.0 not in flags:  # a row without this column
                return self.before, self.counts
            key = keys[flags.index(1.0)]
            counts = {**self.counts, key: self.counts.get(key, 0) + 1}
            return (counts, {}) if sum(counts.values()) == RECENT else (self.before, counts)

        return counted

    def known_keys(self) -> list[str]:
        """The keys of the features so far."""
        return [*self.values.values(), *[OTHER] * self.shared, *[ABSENT] * self.missed]

    def state(self) -> dict[str, Any]:
        """The state, as plain values."""
        counts = [[rows.get(key, 0) for key in self.known_keys()] for rows in (self.before, self.counts)]
        return super().state() | {"values": list(self.values), "shared": self.shared, "counts": counts}

    def restore(self, state: dict[str, Any]) -> None:
        """Restores what :meth:`state` returned."""
        super().restore(state)
        self.values = {str(value): f"={value}" for value in state["values"]}
        self.shared = bool(state["shared"])
        self.before, self.counts = (dict(zip(self.known_keys(), rows, strict=True)) for rows in state["counts"])
        numbers = [*self.before.values(), *self.counts.values()]
        whole = all(type(number) is int and number >= 0 for number in numbers)
        if not whole or sum(self.before.values()) not in (0, RECENT) or sum(self.counts.values()) >= RECENT:
            raise ValueError(f"the counts of column {self.name!r} are out of range")


def encode_whole(columns: Sequence[Numbers], values: Sequence[Array]) -> list[tuple[Vectors, NewKeys]] | None:
    """Encodes many columns of numbers at once; None, with nothing learned, if a value is missing or a total too large."""
    stacked = np.empty((len(columns), len(values[0]) + 1))
    stacked[:, 0] = [column.total for column in columns]
    for place, vector in enumerate(values):
        stacked[place, 1:] = vector
    last = stacked[:, -1].copy()
    with np.errstate(over="ignore", invalid="ignore"):
        totals = np.cumsum(stacked, axis=1, out=stacked)[:, -1]
    if not np.isfinite(totals).all():
        return None
    found: list[tuple[Vectors, NewKeys]] = []
    gap = np.zeros(len(values[0]))
    for column, vector, end, total in zip(columns, values, last.tolist(), totals.tolist(), strict=True):
        new = column.learn_whole(end, total, len(vector))
        found.append(({VALUE: vector, ABSENT: gap} if column.missed else {VALUE: vector}, [(0, VALUE)] if new else []))
    return found


def crowded(columns: Mapping[Any, Column | None]) -> dict[str, int]:
    """Columns with more distinct texts than the limit for features of their own, and that limit."""
    texts = {name: column for name, column in columns.items() if isinstance(column, Categories)}
    return {name: column.limit for name, column in texts.items() if column.shared and column.limit}


def _counted(keys: list[str], places: Array, known: Mapping[str, int]) -> dict[str, int]:
    """How often each key has been counted, after more rows."""
    numbers = np.bincount(places, minlength=len(keys)).tolist()
    return {key: known.get(key, 0) + number for key, number in zip(keys, numbers, strict=True)}


def all_finite(values: Array) -> bool:
    """Quick check that no value is missing or infinite; False may be wrong."""
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(np.add.reduce(values))


def running_totals(total: float, values: Array) -> Array:
    """The total before each row, then the total of all rows, kept in the range of float64."""
    with np.errstate(over="ignore", invalid="ignore"):
        totals = np.cumsum(np.concatenate([[total], values]))
    if math.isfinite(totals[-1]):
        return totals
    for row, value in enumerate(values.tolist()):  # clipped after each row, as when rows come singly
        totals[row + 1] = min(max(float(totals[row]) + value, -_LARGEST), _LARGEST)
    return totals
