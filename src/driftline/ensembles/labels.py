"""Maps labels of any type to numbers 0, 1, 2, ... in order of first appearance."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np

from driftline.base.model import as_objects
from driftline.base.rules import Rule
from driftline.tables.inputs import ONE_LABEL, Array, warn_of_column
from driftline.tables.kinds import is_missing


def of_one(label: Any) -> Any:
    """Converts a label to a plain Python object; None if it is missing."""
    if isinstance(label, np.generic) or (isinstance(label, np.ndarray) and label.size == 1):
        label = label.item()
    return None if is_missing(label) else label


def as_label(label: Any, where: str) -> Any:
    """Reads one label; None if it is missing."""
    found = of_one(label)
    try:
        hash(found)
    except TypeError:
        raise TypeError(f"{where}: y must be a label that can be hashed, got {label!r}") from None
    if _is_infinite(found):
        raise ValueError(f"{where}: Input y contains infinity or a value too large for a label")
    return found


def _is_infinite(label: Any) -> bool:
    return isinstance(label, numbers.Number) and bool(abs(label) == math.inf)  # type: ignore[arg-type]


def _are_classes(value: Any) -> bool:
    if not isinstance(value, (list, tuple, np.ndarray)):
        return False
    labels = [of_one(label) for label in value]
    return len(labels) >= 2 and None not in labels and not any(map(_is_infinite, labels)) and len(set(labels)) == len(labels)


CLASSES = Rule(_are_classes, "a list of two or more distinct labels")


def as_labels(y: Any, rows: int, where: str) -> list[Any]:
    """Reads one label per row; None for missing ones."""
    if y is None:
        raise ValueError(f"{where}: y is missing: it requires y to be passed, but the target y is None")
    array = y if isinstance(y, np.ndarray) else np.asarray(y, dtype=None if hasattr(y, "__array__") else object)
    if array.ndim == 2 and array.shape[1] == 1:
        warn_of_column(where, "y")
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{where}: y must have one dimension, got {array.ndim}; {ONE_LABEL}")
    if len(array) != rows:
        raise ValueError(f"{where}: X has {rows} rows, y has {len(array)}")
    if array.dtype.kind == "c":
        raise ValueError(f"{where}: Complex data not supported, y has dtype {array.dtype}")
    labels = array.tolist()
    found = [as_label(label, where) for label in labels] if array.dtype.kind in "fO" else labels
    fractions = {label for label in found if isinstance(label, float) and not label.is_integer()}
    if len(fractions) > 2:
        raise ValueError(f"{where}: Unknown label type: continuous. {len(fractions)} values of y are not whole numbers")
    return found


class Labels:
    """The labels seen so far, each with its number.

    >>> labels = Labels(["b"])
    >>> labels.codes(["a", None, "b"], [True, True, True]).tolist(), labels.known
    ([1.0, nan, 0.0], ['b', 'a'])
    """

    def __init__(self, known: Iterable[Any] = ()) -> None:
        self.known: list[Any] = list(known)
        self._code = {label: code for code, label in enumerate(self.known)}

    def __len__(self) -> int:
        return len(self.known)

    def code(self, label: Any) -> int | None:
        """The number of a label, or None if it is unknown."""
        return self._code.get(label)

    def add(self, label: Any) -> None:
        """Gives the next number to this label."""
        self._code[label] = len(self.known)
        self.known.append(label)

    def codes(self, labels: list[Any], counted: Any) -> Array:
        """The numbers of labels. A new one is added if its row counts, else its number is 0; a missing one is NaN."""
        for label, counts in zip(labels, counted, strict=True):
            if counts and label is not None and label not in self._code:
                self.add(label)
        return np.array([np.nan if label is None else self._code.get(label, 0) for label in labels], dtype=np.float64)

    def order(self) -> list[int]:
        """The numbers in the sort order of the labels, if they can be sorted."""
        numbers = range(len(self.known))
        try:
            return sorted(numbers, key=self.known.__getitem__)
        except TypeError:
            return list(numbers)

    def of(self, codes: Array) -> Array:
        """The labels for these numbers; None for NaN and for -1 (no class)."""
        missing = ~(codes >= 0)
        if missing.any():
            return as_objects([None if gone else self.known[int(code)] for code, gone in zip(codes, missing, strict=True)])
        return self.array(self.known)[codes.astype(np.intp)]

    @staticmethod
    def array(labels: list[Any]) -> Array:
        """Labels of a single type as an array of that type, others as an object array."""
        if len({type(label) for label in labels}) == 1 and isinstance(labels[0], (bool, int, float, str)):
            return np.array(labels)
        return as_objects(labels)
