"""Columns of numbers and of text as features, for files, frames and mappings alike.

A column gives its features by a key of its own, one vector of values for each, and says in which row a feature is born. What
it keeps is the same however the rows were cut into blocks. It learns from some of the rows, by default from all: the others
are encoded, and leave no trace. A feature that is born after a row counts for nothing in that row.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np

from driftline.tables.inputs import Array
from driftline.tables.kinds import NUMBER, TEXT

LAST, MEAN, ZERO, SKIP = "last", "mean", "zero", "skip"
POLICIES = (LAST, MEAN, ZERO, SKIP)
VALUE, ABSENT, OTHER = "value", "missing", "other"
LONGEST_CATEGORY = 256  # letters that tell categories apart
CATEGORIES = 50  # texts of a column that get a feature of their own, unless told otherwise
_LARGEST = float(np.finfo(np.float64).max)

Born = list[tuple[int, str]]  # the row and the key
Vectors = dict[str, Array]


class Texts(NamedTuple):
    """A column of text.

    Attributes:
        codes: for each row the place of its text in ``values``, -1 where it is missing.
        values: distinct texts.
    """

    codes: Array
    values: list[str]


class Column(ABC):
    """What is known of a column from the rows so far."""

    kind: str

    def __init__(self, name: str) -> None:
        self.name = name
        self.met = False  # there was a value
        self.missed = False  # there was none after there had been one

    @abstractmethod
    def encode(self, values: Any, learned: Array | None = None) -> tuple[Vectors, Born]:
        """The features of some rows, and those that are born in them.

        Args:
            values: of the rows.
            learned: which rows the column learns from; None for all.
        """

    @abstractmethod
    def known_keys(self) -> list[str]:
        """The keys of the features so far."""

    def feature(self, key: str) -> str:
        """A feature's name."""
        return self.name if key == VALUE else f"{self.name} is missing"

    def copy(self) -> Self:
        """A copy that learns on its own."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)  # nothing in it is changed in place
        return other

    def state(self) -> dict[str, Any]:
        """What is known, as plain values."""
        return {"kind": self.kind, "met": self.met, "missed": self.missed}

    def restore(self, state: dict[str, Any]) -> None:
        """Back to what was known."""
        self.met, self.missed = bool(state["met"]), bool(state["missed"])

    def _appear(self, counted: Array) -> tuple[int, Born]:
        """From which row on the column is there, and its birth; past the end where it has never been."""
        if self.met:
            return 0, []
        if not counted.any():
            return len(counted), []
        self.met = True
        first = int(counted.argmax())
        return first, [(first, VALUE)]

    def _absence(self, known: Array, learned: Array | None, first: int) -> tuple[Vectors, Born]:
        """The feature that says that a value is missing; it is born with the first one that is."""
        absent = ~known
        absent[:first] = False
        born: Born = []
        if not self.missed:
            counted = absent if learned is None else absent & learned
            if not counted.any():
                return {}, []
            self.missed = True
            born = [(int(counted.argmax()), ABSENT)]
        return {ABSENT: absent.astype(np.float64)}, born


class Unknown(Column):
    """A column that has held nothing so far."""

    kind = "unknown"

    def encode(self, values: Any, learned: Array | None = None) -> tuple[Vectors, Born]:
        """Nothing."""
        return {}, []

    def known_keys(self) -> list[str]:
        """None."""
        return []


class Numbers(Column):
    """A column of numbers, itself a feature. What is missing is filled in by the policy.

    Args:
        name: the column's name.
        policy: "last" repeats the last value, "mean" takes the mean so far, "zero" is 0, "skip" leaves the row out.
    """

    kind = NUMBER

    def __init__(self, name: str, policy: str = LAST) -> None:
        super().__init__(name)
        self.policy = policy
        self.last = self.total = 0.0
        self.count = 0

    def encode(self, values: Array, learned: Array | None = None) -> tuple[Vectors, Born]:
        """The numbers, NaN where one is missing."""
        if all_finite(values) and (learned is None or learned.all()):
            return self._encode_whole(values)
        known = ~np.isnan(values)
        counted = known if learned is None else known & learned
        first, born = self._appear(counted)
        if not self.met:
            return {}, []
        filled = self._fill(values, known, counted)
        filled[:first] = 0.0
        if self.policy == SKIP:
            return {VALUE: filled}, born
        absence, more = self._absence(known, learned, first)
        return {VALUE: filled} | absence, born + more

    def _encode_whole(self, values: Array) -> tuple[Vectors, Born]:
        """Nothing is missing, as is most often so."""
        if not len(values):
            return {}, []
        born = [] if self.met else [(0, VALUE)]
        self.met = True
        if self.policy == MEAN:
            self.total = float(running_totals(self.total, values)[-1])
            self.count += len(values)
        elif self.policy == LAST:
            self.last = float(values[-1])
        return {VALUE: values} | ({ABSENT: np.zeros(len(values))} if self.missed else {}), born

    def _fill(self, values: Array, known: Array, counted: Array) -> Array:
        """What stands in each row; what counts is remembered."""
        if self.policy == SKIP:
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

    def known_keys(self) -> list[str]:
        """The keys of the features so far."""
        return [VALUE] * self.met + [ABSENT] * self.missed

    def state(self) -> dict[str, Any]:
        """What is known, as plain values."""
        return super().state() | {"policy": self.policy, "last": self.last, "total": self.total, "count": self.count}

    def restore(self, state: dict[str, Any]) -> None:
        """Back to what was known."""
        super().restore(state)
        self.last, self.total, self.count = float(state["last"]), float(state["total"]), int(state["count"])


class Categories(Column):
    """A column of text: one feature for each value, 1 where it is there. New values may come at any time.

    Args:
        name: the column's name.
        limit: values that get a feature of their own; those that come later share one.
    """

    kind = TEXT

    def __init__(self, name: str, limit: int = CATEGORIES) -> None:
        super().__init__(name)
        self.limit = limit
        self.values: dict[str, str] = {}  # those with a feature of their own, and its key
        self.shared = False  # there is a feature for the rest

    def feature(self, key: str) -> str:
        """A feature's name."""
        if key in (ABSENT, OTHER):
            return f"{self.name} is {key}"
        return f"{self.name}={key[1:]}"

    def encode(self, values: Texts, learned: Array | None = None) -> tuple[Vectors, Born]:
        """The texts."""
        codes = values.codes
        known = codes >= 0
        counted = known if learned is None else known & learned
        first = 0 if self.met else int(counted.argmax()) if counted.any() else len(codes)
        self.met = self.met or bool(counted.any())
        texts = [value[:LONGEST_CATEGORY] for value in values.values]
        born = self._meet(texts, codes, counted)
        groups: dict[str, list[int]] = {}
        for code, text in enumerate(texts):
            if (key := self._key(text)) is not None:
                groups.setdefault(key, []).append(code)
        vectors = {key: np.zeros(len(codes)) for key in self.known_keys() if key != ABSENT}
        for key, members in groups.items():
            hits = codes == members[0] if len(members) == 1 else np.isin(codes, members)
            vectors[key] = hits.astype(np.float64)
        absence, more = self._absence(known, learned, first)
        return vectors | absence, born + more

    def _key(self, text: str) -> str | None:
        """The feature of a text; None where it would be a new one."""
        return self.values.get(text, OTHER if self.shared else None)

    def _meet(self, texts: list[str], codes: Array, counted: Array) -> Born:
        """Gives features to new texts, in the order in which they appear in rows that count."""
        born: Born = []
        if all(self._key(text) is not None for text in texts):
            return born
        appeared, rows = np.unique(codes[counted], return_index=True)
        places = np.flatnonzero(counted)[rows]
        for code, row in sorted(zip(appeared.tolist(), places.tolist(), strict=True), key=lambda item: item[1]):
            text = texts[code]
            if self._key(text) is not None:
                continue
            if len(self.values) < self.limit:
                self.values = {**self.values, text: f"={text}"}
                born.append((row, self.values[text]))
            else:
                self.shared = True
                born.append((row, OTHER))
        return born

    def known_keys(self) -> list[str]:
        """The keys of the features so far."""
        return [*self.values.values(), *[OTHER] * self.shared, *[ABSENT] * self.missed]

    def state(self) -> dict[str, Any]:
        """What is known, as plain values."""
        return super().state() | {"values": list(self.values), "shared": self.shared}

    def restore(self, state: dict[str, Any]) -> None:
        """Back to what was known."""
        super().restore(state)
        self.values = {str(value): f"={value}" for value in state["values"]}
        self.shared = bool(state["shared"])


def all_finite(values: Array) -> bool:
    """Whether no value is missing or infinite: a quick look that is right when it says so."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def running_totals(total: float, values: Array) -> Array:
    """The total before each row, and last that of all rows; it stays in the range of float64."""
    with np.errstate(over="ignore", invalid="ignore"):
        totals = np.cumsum(np.concatenate([[total], values]))
    if math.isfinite(totals[-1]):
        return totals
    for row, value in enumerate(values.tolist()):  # each sum is held in range before the next, as where rows come singly
        totals[row + 1] = min(max(float(totals[row]) + value, -_LARGEST), _LARGEST)
    return totals
