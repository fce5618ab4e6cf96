"""From the keys of rows to the slots of a fleet."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from driftline.inputs import Array

Key = Hashable


class Numbers:
    """Keys that are the slots themselves, 0 to n - 1."""

    def __init__(self, n: int) -> None:
        self.n = n

    def learned(self, keys: Any, rows: int, where: str) -> tuple[Array, list[Key]]:
        """The slot of each row, and the keys that come for the first time: there are none."""
        numbers = self._as_numbers(keys, where)
        if numbers.shape != (rows,):
            raise ValueError(f"{where}: X has {rows} rows, keys has the shape {numbers.shape}")
        outside = (numbers < 0) | (numbers >= self.n)
        if outside.any():
            row = int(outside.argmax())
            raise ValueError(f"{where}: keys must be in [0, {self.n}), got {numbers[row]} in row {row}")
        return np.ascontiguousarray(numbers, dtype=np.int64), []

    def predicted(self, keys: Any, rows: int, where: str) -> Array:
        """The slot of each row."""
        return self.learned(keys, rows, where)[0]

    def find(self, key: Any, where: str) -> int:
        """The slot of one key."""
        return int(self.learned([key], 1, where)[0][0])

    def accept(self, fresh: list[Key]) -> None:
        """Remembers keys that came for the first time."""

    @property
    def listed(self) -> list[Key]:
        """Every key, in the order of the slots."""
        return list(range(self.n))

    def _as_numbers(self, keys: Any, where: str) -> Array:
        try:
            numbers = np.asarray(keys)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{where}: keys cannot be read as an array: {error}") from None
        if numbers.dtype.kind not in "iu":
            raise TypeError(
                f"{where}: keys must be whole numbers from 0 to {self.n - 1}, got {numbers.dtype}; "
                "make the fleet with named=True for keys of any other kind"
            )
        return numbers


class Names:
    """Keys of any kind, each of which gets the next free slot when it is first learned."""

    def __init__(self, n: int, known: Iterable[Key] = ()) -> None:
        self.n = n
        self._slots: dict[Key, int] = {}
        self.accept(list(known))

    def learned(self, keys: Any, rows: int, where: str) -> tuple[Array, list[Key]]:
        """The slot of each row, and the keys that come for the first time, in their order."""
        names = _as_list(keys, rows, where)
        slots, fresh = self._slots, dict[Key, int]()
        out = np.empty(rows, dtype=np.int64)
        for row, name in enumerate(names):
            slot = self._look_up(slots, name, row, where)
            if slot is None:
                slot = self._admit(fresh, name, row, where)
            out[row] = slot
        return out, list(fresh)

    def predicted(self, keys: Any, rows: int, where: str) -> Array:
        """The slot of each row; for an unknown key slot n, whose model is never taught."""
        names = _as_list(keys, rows, where)
        found = (self._look_up(self._slots, name, row, where) for row, name in enumerate(names))
        return np.array([self.n if slot is None else slot for slot in found], dtype=np.int64)

    def find(self, key: Any, where: str) -> int:
        """The slot of one key."""
        slot = self._look_up(self._slots, key, None, where)
        if slot is None:
            raise KeyError(f"{where}: no row of the key {key!r} was learned")
        return slot

    def accept(self, fresh: list[Key]) -> None:
        """Remembers keys that came for the first time."""
        for name in fresh:
            self._slots[name] = len(self._slots)
        if len(self._slots) > self.n:
            raise ValueError(f"there are {len(self._slots)} keys for {self.n} models")

    @property
    def listed(self) -> list[Key]:
        """Every key that was learned, in the order of the slots."""
        return list(self._slots)

    def _admit(self, fresh: dict[Key, int], name: Key, row: int, where: str) -> int:
        if name in fresh:
            return fresh[name]
        if _is_missing(name):
            raise ValueError(f"{where}: the key of row {row} is {name!r}, which stands for a missing value")
        slot = len(self._slots) + len(fresh)
        if slot >= self.n:
            raise ValueError(f"{where}: row {row} brings the key {name!r}, and all {self.n} models have another one")
        fresh[name] = slot
        return slot

    @staticmethod
    def _look_up(slots: dict[Key, int], name: Any, row: int | None, where: str) -> int | None:
        try:
            return slots.get(name)
        except TypeError as error:
            place = "" if row is None else f" in row {row}"
            raise TypeError(f"{where}: a key must be hashable, got {name!r}{place}: {error}") from None


def _is_missing(name: Key) -> bool:
    """None, NaN, and what frames have in their place: it differs from itself, or cannot say."""
    try:
        return name is None or bool(name != name)
    except TypeError:
        return True


def _as_list(keys: Any, rows: int, where: str) -> list[Any]:
    if isinstance(keys, (str, bytes)) or not isinstance(keys, Iterable):
        raise TypeError(f"{where}: keys must be one for each row, got {keys!r}")
    names = keys.tolist() if hasattr(keys, "tolist") else list(keys)
    if not isinstance(names, list) or len(names) != rows:
        raise ValueError(f"{where}: X has {rows} rows, keys has {len(names) if isinstance(names, list) else 'none'}")
    return names
