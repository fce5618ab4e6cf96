"""Columns as features, for files, frames and mappings alike: what all kinds of columns share. Each kind has a file.

A column encodes rows as one vector for each of its features, by key, and reports the row in which a feature is new. Its
state does not depend on how the rows were cut into blocks. It learns from some of the rows, by default from all; the others
are encoded but change nothing. A feature is 0 in the rows before it appears.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from driftline.tables.inputs import Array

VALUE, ABSENT = "value", "missing"

NewKeys = list[tuple[int, str]]  # (row, key) of each new feature
Vectors = dict[str, Array]
Writer = Callable[[Any, list[float], bool], bool]


class Filled(NamedTuple):
    """The value that replaced a missing number when its row was predicted."""

    value: float


class Column(ABC):
    """What is known about a column from the rows so far."""

    kind: str
    is_zero_if_absent: ClassVar[bool] = False  # rather than missing, in a mapping without the column
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
