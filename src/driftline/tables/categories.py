"""Columns of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from driftline.tables.columns import ABSENT, Column, NewKeys, Vectors, Writer
from driftline.tables.inputs import Array
from driftline.tables.kinds import TEXT

OTHER = "other"
LONGEST_CATEGORY = 256  # characters by which categories are told apart
CATEGORIES = 50  # texts of a column that get their own feature, by default
RECENT = 100  # rows over which shares of texts are taken, at least; always fewer than twice as many


class Texts(NamedTuple):
    """A column of text.

    Attributes:
        codes: the index of each row's text in ``values``, -1 where it is missing.
        values: distinct texts.
    """

    codes: Array
    values: list[str]


class Categories(Column):
    """A column of text: one 0/1 feature for each distinct text. New texts may appear at any time.

    A text without a feature is encoded as the average of the known ones: each of their features is its share of the recent
    rows. With a 1 in none of them, a row would ask for the level that the known texts deviate from, which no row determines.
    Products and other functions of shares are as undetermined; models that form them take the most frequent text instead.

    Args:
        name: the column's name.
        limit: how many texts get their own feature; later ones share one.
        average: whether the average stands for a new text; otherwise the most frequent one.
    """

    kind = TEXT
    changing = ("before", "counts")

    def __init__(self, name: str, limit: int = CATEGORIES, average: bool = True) -> None:
        super().__init__(name)
        self.limit, self.average = limit, average
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
        """What stands for a new text, by key: the share of each feature in the recent rows, or 1 for the most frequent."""
        recent = {key: self.before.get(key, 0) + self.counts.get(key, 0) for key in self.known_keys()}
        if not self.average and any(recent.values()):
            return {max(recent, key=recent.__getitem__): 1.0}
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


def crowded(columns: Mapping[Any, Column | None]) -> dict[str, int]:
    """Columns with more distinct texts than the limit for features of their own, and that limit."""
    texts = {name: column for name, column in columns.items() if isinstance(column, Categories)}
    return {name: column.limit for name, column in texts.items() if column.shared and column.limit}


def _counted(keys: list[str], places: Array, known: Mapping[str, int]) -> dict[str, int]:
    """How often each key has been counted, after more rows."""
    numbers = np.bincount(places, minlength=len(keys)).tolist()
    return {key: known.get(key, 0) + number for key, number in zip(keys, numbers, strict=True)}
