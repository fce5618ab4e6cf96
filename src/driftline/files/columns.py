"""Columns of numbers and of text as features.

A column gives its features by a key of its own, one vector of values for each, and says in which row a feature is born. What
it keeps is the same however the rows were cut into blocks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import pyarrow as pa

from driftline.files.buffers import to_numpy
from driftline.files.options import LAST, MEAN, SKIP, ZERO
from driftline.tables.inputs import Array

VALUE, ABSENT, OTHER = "value", "missing", "other"
LONGEST_CATEGORY = 256  # letters that tell categories apart

Born = list[tuple[int, str]]  # the row and the key
Vectors = dict[str, Array]


class Column(ABC):
    """What is known of a column from the rows so far."""

    kind: str

    def __init__(self, name: str) -> None:
        self.name = name
        self.met = False  # there was a value
        self.missed = False  # there was none after there had been one

    @abstractmethod
    def encode(self, values: Any) -> tuple[Vectors, Born]:
        """The features of some rows, and those that are born in them."""

    def feature(self, key: str) -> str:
        """A feature's name."""
        return self.name if key == VALUE else f"{self.name} is missing"

    def state(self) -> dict[str, Any]:
        """What is known, as plain values."""
        return {"kind": self.kind, "met": self.met, "missed": self.missed}

    def restore(self, state: dict[str, Any]) -> None:
        """Back to what was known."""
        self.met, self.missed = bool(state["met"]), bool(state["missed"])

    def _appear(self, known: Array) -> tuple[int, Born]:
        """From which row on the column is there, and its birth; past the end where it has never been."""
        if self.met:
            return 0, []
        if not known.any():
            return len(known), []
        self.met = True
        first = int(known.argmax())
        return first, [(first, VALUE)]

    def _absence(self, known: Array, first: int) -> tuple[Vectors, Born]:
        """The feature that says that a value is missing; it is born with the first one that is."""
        absent = ~known
        absent[:first] = False
        if not absent.any():
            return ({ABSENT: np.zeros(len(known))} if self.missed else {}), []
        born = [] if self.missed else [(int(absent.argmax()), ABSENT)]
        self.missed = True
        return {ABSENT: absent.astype(np.float64)}, born


class Numbers(Column):
    """A column of numbers, itself a feature. What is missing is filled in by the policy.

    Args:
        name: the column's name.
        policy: "last" repeats the last value, "mean" takes the mean so far, "zero" is 0, "skip" leaves the row out.
    """

    kind = "number"

    def __init__(self, name: str, policy: str = LAST) -> None:
        super().__init__(name)
        self.policy = policy
        self.last = self.total = 0.0
        self.count = 0

    def encode(self, values: Array) -> tuple[Vectors, Born]:
        """The numbers, NaN where one is missing."""
        if all_finite(values):
            return self._encode_whole(values)
        known = ~np.isnan(values)
        first, born = self._appear(known)
        if not self.met:
            return {}, []
        filled = self._fill(values, known)
        filled[:first] = 0.0
        if self.policy == SKIP:
            return {VALUE: filled}, born
        absence, more = self._absence(known, first)
        return {VALUE: filled} | absence, born + more

    def _encode_whole(self, values: Array) -> tuple[Vectors, Born]:
        """Nothing is missing, as is most often so."""
        if not len(values):
            return {}, []
        born = [] if self.met else [(0, VALUE)]
        self.met = True
        if self.policy == MEAN:
            self._remember(values, np.ones(len(values), dtype=bool))
        self.last = float(values[-1])
        return {VALUE: values} | ({ABSENT: np.zeros(len(values))} if self.missed else {}), born

    def _remember(self, values: Array, known: Array) -> None:
        if self.policy == MEAN:
            self.total = float(np.cumsum(np.append(self.total, np.where(known, values, 0.0)))[-1])
            self.count += int(known.sum())
        if known.any():
            self.last = float(values[np.flatnonzero(known)[-1]])

    def _fill(self, values: Array, known: Array) -> Array:
        if self.policy == SKIP:
            filled = values.copy()
        elif self.policy == ZERO:
            filled = np.where(known, values, 0.0)
        elif self.policy == MEAN:
            sums = np.cumsum(np.append(self.total, np.where(known, values, 0.0)))[:-1]
            counts = np.cumsum(np.append(self.count, known))[:-1]
            filled = np.where(known, values, sums / np.maximum(counts, 1))
        else:
            place = np.maximum.accumulate(np.where(known, np.arange(len(values)), -1))
            filled = np.where(place >= 0, values[place], self.last)
        self._remember(values, known)
        return filled

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

    kind = "text"

    def __init__(self, name: str, limit: int) -> None:
        super().__init__(name)
        self.limit = limit
        self.values: dict[str, str] = {}  # those with a feature of their own, and its key
        self.shared = False  # there is a feature for the rest

    def feature(self, key: str) -> str:
        """A feature's name."""
        if key in (ABSENT, OTHER):
            return f"{self.name} is {key}"
        return f"{self.name}={key[1:]}"

    def encode(self, values: Any) -> tuple[Vectors, Born]:
        """The texts, as an array of Arrow."""
        coded = values.dictionary_encode()
        codes = to_numpy(coded.indices, np.int32, -1)
        known = codes >= 0
        met = self.met
        self.met = met or bool(known.any())
        keys, born = self._keys(coded.dictionary.to_pylist(), codes)
        groups: dict[str, list[int]] = {}
        for code, key in enumerate(keys):
            groups.setdefault(key, []).append(code)
        known_keys = [*self.values.values(), *([OTHER] if self.shared else [])]
        vectors = {key: np.zeros(len(codes)) for key in known_keys}
        for key, members in groups.items():
            hits = codes == members[0] if len(members) == 1 else np.isin(codes, members)
            vectors[key] = hits.astype(np.float64)
        absence, more = self._absence(known, 0 if met else int(known.argmax()) if known.any() else len(codes))
        return vectors | absence, born + more

    def _keys(self, values: list[str], codes: Array) -> tuple[list[str], Born]:
        """The key of each code. Codes are in the order in which they appear, so the births are, too."""
        keys: list[str] = []
        born: Born = []
        for code, value in enumerate(values):
            text = value[:LONGEST_CATEGORY]
            key = self.values.get(text)
            if key is None and len(self.values) < self.limit:
                key = self.values[text] = f"={text}"
                born.append((int((codes == code).argmax()), key))
            elif key is None:
                key = OTHER
                if not self.shared:
                    self.shared = True
                    born.append((int((codes == code).argmax()), key))
            keys.append(key)
        return keys, born

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


def as_numbers(values: Any) -> Array:
    """A column of numbers or truths as float64, NaN where one is missing."""
    values = joined(values)
    if pa.types.is_duration(values.type):
        return to_numpy(values.cast(pa.duration("us")).cast(pa.int64()).cast(pa.float64()), np.float64, np.nan) / 1e6
    if not pa.types.is_float64(values.type):
        values = values.cast(pa.float64(), safe=False)
    return to_numpy(values, np.float64, np.nan)


def as_texts(values: Any) -> Any:
    """A column of text, or of what is taken as text, as one array of strings."""
    values = joined(values)
    return values if pa.types.is_string(values.type) else values.cast(pa.string())


def joined(values: Any) -> Any:
    """One array, its dictionary resolved."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
