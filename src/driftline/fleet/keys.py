"""Maps the keys of rows to the slots of a fleet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from driftline.base.batch import numbered
from driftline.fleet.names import Key, as_key, as_keys, is_missing
from driftline.tables.inputs import Array

_NAMED = "create the fleet with named=True for"
_MOST = 2**62  # beyond what any memory could hold


def are_numbers(keys: Any) -> bool:
    """Whether the keys form one column of numbers; :class:`Numbers` then refuses all but whole ones."""
    try:
        array = np.asarray(keys)
    except (TypeError, ValueError):
        return False
    return array.ndim < 2 and array.dtype.kind in "iufcb"  # tuples of numbers would make two dimensions


class Numbers:
    """Numbered keys, which are their own slots: 0 to n - 1, or without limit if n is None."""

    def __init__(self, n: int | None, met: int = 0) -> None:
        self._grows = n is None
        self._end = _MOST if n is None else n
        self.count = met if n is None else n  # of models

    def learned(self, keys: Any, rows: int, where: str, one: bool = False) -> tuple[Array, dict[Key, int]]:
        """The slot of each row, and no new keys: numbers need not be remembered."""
        try:
            numbers = np.asarray(keys)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{where}: keys cannot be read as an array: {error}") from None
        if numbers.dtype.kind not in "iu":
            raise TypeError(f"{where}: keys must be whole numbers, got {numbers.dtype}; {_NAMED} keys of any other kind")
        if numbers.shape != (rows,):
            raise ValueError(
                f"{where}: keys must be one whole number for each of {rows} rows, got the shape {numbers.shape}"
            )
        outside = (numbers < 0) | (numbers >= self._end)
        if outside.any():
            row = int(outside.argmax())
            raise ValueError(
                f"{where}: keys must be in [0, {self._end}), got {numbers[row]}{_in_row(row, one)}; "
                f"{_NAMED} numbers of any size"
            )
        return np.ascontiguousarray(numbers, dtype=np.int64), {}

    def predicted(self, keys: Any, rows: int, where: str, one: bool = False) -> Array:
        """The slot of each row; in a growing fleet, unknown keys get the slot after the last, which is untrained."""
        slots = self.learned(keys, rows, where, one)[0]
        return np.minimum(slots, self.count) if self._grows else slots

    def find(self, key: Any) -> int | None:
        """The slot of one key; None if it has none."""
        whole = isinstance(key, (int, np.integer)) and not isinstance(key, bool)
        return int(key) if whole and 0 <= key < self.count else None

    def key(self, slot: int, fresh: dict[Key, int]) -> Key:
        """The key of a slot."""
        return slot

    def unknown(self, key: Any) -> str:
        """Why a key is not found."""
        return f"keys must be whole numbers in [0, {self.count}), got {key!r}; {_NAMED} keys of any other kind"

    def accept(self, fresh: dict[Key, int], slots: Array, count: int) -> None:
        """Remembers the keys of the first ``count`` rows passed to ``learned``."""
        if self._grows:
            self.count = max(self.count, int(slots[:count].max()) + 1)

    @property
    def listed(self) -> list[Key]:
        """Every key, in the order of the slots."""
        return list(range(self.count))


class Names:
    """Keys of any kind, each of which gets the next free slot when it is first learned."""

    def __init__(self, n: int | None, known: Iterable[Key] = ()) -> None:
        self._n = n
        self._slots: dict[Key, int] = {name: slot for slot, name in enumerate(known)}
        if n is not None and len(self._slots) > n:
            raise ValueError(f"there are {len(self._slots)} keys for {n} models")

    @property
    def count(self) -> int:
        """The number of models."""
        return len(self._slots)

    def learned(self, keys: Any, rows: int, where: str, one: bool = False) -> tuple[Array, dict[Key, int]]:
        """The slot of each row, and the new keys with their slots, in order of appearance."""
        names = as_keys(keys, rows, where)
        slots: list[Any] = self._look_up(names, where, one)
        fresh: dict[Key, int] = {}
        if None in slots:
            for row, slot in enumerate(slots):
                if slot is None:
                    slots[row] = self._admit(fresh, names[row], row, where, one)
        return np.array(slots, dtype=np.int64), fresh

    def predicted(self, keys: Any, rows: int, where: str, one: bool = False) -> Array:
        """The slot of each row; for an unknown key the next free one, whose model is untrained."""
        names = as_keys(keys, rows, where)
        slots = self._look_up(names, where, one)
        if None in slots:
            for row, slot in enumerate(slots):
                if slot is None:
                    _refuse_missing(names[row], row, where, one)
        return np.array([self.count if slot is None else slot for slot in slots], dtype=np.int64)

    def find(self, key: Any) -> int | None:
        """The slot of one key; None if it has none."""
        try:
            return self._slots.get(as_key(key))
        except TypeError as error:
            raise TypeError(f"Fleet: a key must be hashable, got {key!r}: {error}") from None

    def key(self, slot: int, fresh: dict[Key, int]) -> Key:
        """The key of a slot, which may be among the ``fresh`` ones."""
        return [*self._slots, *fresh][slot]

    def unknown(self, key: Any) -> str:
        """Why a key is not found."""
        return f"no row of the key {key!r} was learned"

    def accept(self, fresh: dict[Key, int], slots: Array, count: int) -> None:
        """Remembers the keys of the first ``count`` rows passed to ``learned``."""
        last = int(slots[:count].max())
        self._slots.update({name: slot for name, slot in fresh.items() if slot <= last})

    def drop(self, slots: Array) -> None:
        """Forgets the keys of these slots; those that follow move up."""
        gone = set(slots.tolist())
        left = [name for name, slot in self._slots.items() if slot not in gone]
        self._slots = {name: slot for slot, name in enumerate(left)}

    @property
    def listed(self) -> list[Key]:
        """Every key that was learned, in the order of the slots."""
        return list(self._slots)

    def _admit(self, fresh: dict[Key, int], name: Key, row: int, where: str, one: bool) -> int:
        if name in fresh:
            return fresh[name]
        _refuse_missing(name, row, where, one)
        slot = len(self._slots) + len(fresh)
        if self._n is not None and slot >= self._n:
            which = numbered(None if one else row) or "the row"
            raise ValueError(
                f"{where}: {which} has the new key {name!r}, but all {self._n} models are taken; "
                "leave out n to let the fleet grow"
            )
        fresh[name] = slot
        return slot

    def _look_up(self, names: list[Key], where: str, one: bool) -> list[int | None]:
        try:
            return list(map(self._slots.get, names))
        except TypeError:
            for row, name in enumerate(names):
                try:
                    hash(name)
                except TypeError as error:
                    raise TypeError(f"{where}: a key must be hashable, got {name!r}{_in_row(row, one)}: {error}") from None
            raise


def _refuse_missing(name: Key, row: int, where: str, one: bool) -> None:
    if is_missing(name):
        which = numbered(None if one else row, " of ")
        raise ValueError(f"{where}: the key{which} is {name!r}, which stands for a missing value")


def _in_row(row: int, one: bool) -> str:
    """The words for a row; empty for a single row."""
    return numbered(None if one else row, " in ")
