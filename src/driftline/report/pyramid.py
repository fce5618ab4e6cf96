"""Sums of a stream of any length in a bounded number of buckets, independent of how it was cut into blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from driftline.storage.resumable import Resumable
from driftline.tables.inputs import Array

Merge = Callable[[Array, Array], Array]
Items = dict[str, Array]


def sampled(left: Array, right: Array) -> Array:
    """From each pair of rows, the one whose first number is smaller."""
    chosen: Array = np.where(left[:, :1] <= right[:, :1], left, right)
    return chosen


MERGES: dict[str, Merge] = {
    "sum": np.add,
    "low": np.fmin,
    "high": np.fmax,
    "first": lambda left, right: left,
    "last": lambda left, right: right,
    "sample": sampled,
}


class Pyramid(Resumable):
    """Buckets of 2^k rows, at most ``capacity`` of them; k grows with the stream.

    A bucket of 2^k rows is always merged from its two halves, so its value, including rounding, does not depend on how many
    rows came at a time. Rows that fill no bucket yet wait in at most one bucket of each smaller size, like the digits of a
    binary counter. A stream of T rows thus takes ``capacity`` + log2(T) buckets.

    Args:
        fields: the fields of a bucket, each with the function that merges two halves.
        capacity: a power of 2.
    """

    def __init__(self, fields: Mapping[str, Merge], capacity: int) -> None:
        self.fields, self.capacity = dict(fields), capacity
        self.rungs: list[Items] = [{}]  # rung k holds buckets of 2^k rows: many on top, at most one on the others

    @property
    def width(self) -> int:
        """The rows of a bucket."""
        return 1 << (len(self.rungs) - 1)

    def extend(self, items: Items, level: int = 0) -> None:
        """Adds buckets of 2^level rows, in order; the rows before them must fill such buckets exactly."""
        with np.errstate(over="ignore", invalid="ignore"):
            for rung in range(level, len(self.rungs) - 1):
                items = self._lift(rung, items)
            self.rungs[-1] = _join(self.rungs[-1], items)
            while _count(self.rungs[-1]) > self.capacity:
                self.rungs.append(self._lift(len(self.rungs) - 1, {}))

    def _lift(self, rung: int, items: Items) -> Items:
        """Adds to a rung, leaves a bucket without a partner there, and returns pairs as buckets of twice the size."""
        joined = _join(self.rungs[rung], items)
        pairs = _count(joined) // 2
        self.rungs[rung] = {name: values[2 * pairs :] for name, values in joined.items()}
        if not pairs:
            return {}
        left, right = slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)
        return {name: merge(joined[name][left], joined[name][right]) for name, merge in self.fields.items()}

    def buckets(self) -> Items:
        """All buckets in order; the last one may not be full."""
        parts = [rung for rung in self.rungs[:-1] if _count(rung)]
        if not parts:
            return dict(self.rungs[-1])
        rest = parts.pop()  # the largest came first
        with np.errstate(over="ignore", invalid="ignore"):
            while parts:
                later = parts.pop()
                rest = {name: merge(rest[name], later[name]) for name, merge in self.fields.items()}
        return _join(self.rungs[-1], rest)

    def state(self) -> dict[str, Any]:
        """Every rung's arrays, by ``rung/field``."""
        return {f"{rung}/{name}": values for rung, items in enumerate(self.rungs) for name, values in items.items()}

    def resume(self, state: Mapping[str, Any]) -> Self:
        """Restores the result of :meth:`state`."""
        rungs: dict[int, Items] = {0: {}}
        for key, values in state.items():
            rung, name = key.split("/", 1)
            rungs.setdefault(int(rung), {})[name] = np.array(values)
        self.rungs = [rungs.get(rung, {}) for rung in range(max(rungs) + 1)]
        return self


def _count(items: Items) -> int:
    return len(next(iter(items.values()))) if items else 0


def _join(left: Items, right: Items) -> Items:
    if not _count(left) or not _count(right):
        return right if _count(right) else left
    return {name: np.concatenate([left[name], right[name]]) for name in left}
