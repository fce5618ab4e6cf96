"""Labels that arrive late: row t is predicted when the labels up to row t - delay - 1 have arrived."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from driftline.tables.inputs import Array


class LateRows:
    """Rows that wait for their labels, one by one.

    Args:
        delay: rows by which labels are late.

    >>> rows = LateRows(1)
    >>> rows.arrived(np.array([1.0]), 10.0) is None
    True
    >>> rows.arrived(np.array([2.0]), 20.0)
    (array([1.]), 10.0)
    """

    def __init__(self, delay: int) -> None:
        self.delay = delay
        self.waiting: deque[tuple[Any, Any]] = deque()

    def arrived(self, x: Any, y: Any) -> tuple[Any, Any] | None:
        """The row and the label to learn once ``x``, whose own label is ``y``, is predicted; None while there is none."""
        if not self.delay:
            return x, y
        self.waiting.append((x.copy(), y))
        return self.waiting.popleft() if len(self.waiting) > self.delay else None

    def rest(self) -> Iterator[tuple[Any, Any]]:
        """The rows whose labels arrive after the last row."""
        while self.waiting:
            yield self.waiting.popleft()


class LateLabels:
    """Labels alone, block by block.

    Args:
        delay: rows by which labels are late.
    """

    def __init__(self, delay: int) -> None:
        self.delay = delay
        self.waiting = np.empty(0)

    def arrived(self, y: Array) -> tuple[Array, Array]:
        """The labels that arrive along a block whose own are ``y``, and how many of them have arrived before each row."""
        labels = np.concatenate([self.waiting, y])
        count = max(0, len(labels) - self.delay)
        before = np.maximum(len(self.waiting) - self.delay + np.arange(len(y)), 0)
        self.waiting = labels[count:].copy()
        return labels[:count], before
