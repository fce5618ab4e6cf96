"""Digests of rows: they show whether a source or an output still begins with the rows that it held before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zlib import crc32

import numpy as np

from driftline.files.columns import as_coded, as_moments, as_numbers
from driftline.tables.calendar import MISSING
from driftline.tables.inputs import Array
from driftline.tables.kinds import NUMBER, TEXT, TRUTH

MOST = 65_536  # digests kept, 4 bytes each
_STRIDE, _FIRST, _SECOND = (np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_HALF = np.uint64(32)


class Digests:
    """Digests of a growing sequence of items, in bounded memory: one for each ``step`` items.

    The step is 1 at first, and doubles whenever there would be more than ``MOST`` digests.

    >>> kept, now = Digests(), Digests()
    >>> kept.add(np.array([5, 6, 7], dtype=np.uint64))
    >>> now.add(np.array([5, 8, 7, 9], dtype=np.uint64))
    >>> now.difference(kept)
    range(1, 2)
    """

    def __init__(self, step: int = 1) -> None:
        self.step, self.count = step, 0
        self.sums = np.zeros(0, dtype=np.uint32)

    def add(self, items: Array) -> None:
        """Adds items, each a hash of 64 bits: sums of small numbers would not tell them apart."""
        if not len(items):
            return
        places = np.arange(self.count, self.count + len(items))
        mixed = items + places.astype(np.uint64) * _STRIDE  # the same items in another order differ
        mixed ^= mixed >> _HALF
        mixed = ((mixed * _SECOND) >> _HALF).astype(np.uint32)
        slots = places // self.step
        begins = np.flatnonzero(np.diff(slots, prepend=-1))
        more = np.zeros(int(slots[-1]) + 1 - len(self.sums), dtype=np.uint32)
        self.sums = np.concatenate([self.sums, more])
        self.sums[slots[0] :] += np.add.reduceat(mixed, begins, dtype=np.uint32)
        self.count += len(items)
        while len(self.sums) > MOST:
            even = np.append(self.sums, np.zeros(len(self.sums) % 2, dtype=np.uint32))
            self.sums, self.step = even[::2] + even[1::2], 2 * self.step

    def difference(self, kept: Digests) -> range | None:
        """The items of the first step in which this sequence differs from another with the same step.

        None if the shorter one is the beginning of the other, as far as whole steps show.
        """
        fewer = min(self.count, kept.count)
        whole = -(-fewer // self.step) if self.count == kept.count else fewer // self.step
        wrong = np.flatnonzero(self.sums[:whole] != kept.sums[:whole])
        first = int(wrong[0]) * self.step if len(wrong) else fewer
        return range(first, min(first + self.step, fewer)) if first < fewer else None

    def state(self) -> dict[str, Any]:
        """The state, as an array and plain values."""
        return {"step": self.step, "count": self.count, "sums": self.sums}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Digests:
        """Restores what :meth:`state` returned."""
        digests = cls(int(state["step"]))
        digests.count, digests.sums = int(state["count"]), np.array(state["sums"], dtype=np.uint32)
        if digests.step < 1 or digests.sums.shape != (-(-digests.count // digests.step),):
            raise ValueError(f"Digests: the state must have a digest for each {digests.step} of {digests.count} items")
        return digests


def in_words(items: range, unit: str) -> str:
    """Names the items of a difference.

    >>> in_words(range(5, 6), "row"), in_words(range(2_000, 2_004), "row")
    ('row 5 is', 'one of the rows 2,000 to 2,003 is')
    """
    first, last = items[0], items[-1]
    return f"{unit} {first:,} is" if first == last else f"one of the {unit}s {first:,} to {last:,} is"


def of_rows(table: Any, kinds: Mapping[str, str]) -> Array:
    """A digest of each row of an Arrow table, from its values, whatever the file's format and the order of its columns.

    Missing values count as absent columns, so that a column may appear later. ``kinds`` says what the columns hold; others,
    which have no value so far, are left out.
    """
    total = np.zeros(len(table), dtype=np.uint64)
    for name, values in zip(table.schema.names, table.columns, strict=True):
        if name in kinds:
            bits, known = _bits(values, kinds[name].partition(" ")[0])
            mixed = (bits ^ np.uint64(crc32(name.encode()) << 31)) * _FIRST
            mixed ^= mixed >> _HALF
            mixed *= _SECOND
            total += mixed if known is None else np.where(known, mixed, np.uint64(0))
    return total


def _bits(values: Any, kind: str) -> tuple[Array, Array | None]:
    """A column as 64 bits a row, and which rows have a value; None if all have."""
    if kind == TEXT:
        codes, texts = as_coded(values)
        known = codes >= 0
        bits = np.array([*(crc32(text.encode()) for text in texts), 0], dtype=np.uint64)[codes]
    elif kind in (NUMBER, TRUTH):
        numbers = as_numbers(values)
        known, bits = ~np.isnan(numbers), numbers.view(np.uint64)
    else:
        moments = as_moments(values, local=False)
        known, bits = moments != MISSING, moments.view(np.uint64)
    return bits, None if known.all() else known


def of_lines(data: bytes) -> Array:
    """A digest of each line of a text, which ends with a line break."""
    lines = data.split(b"\n")
    return np.fromiter(map(crc32, lines[:-1]), dtype=np.uint64, count=len(lines) - 1)
