"""Scales inputs and labels, for trees whose leaves are linear models trained by gradient steps."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.auto_peers import before
from benchmarks.data import Array
from benchmarks.hindsight import online


def scaled(run: Callable[[Array, Array], Array], X: Array, y: Array) -> Array:
    """Predictions of a regressor that gets rows and labels scaled by the mean and deviation so far.

    A prediction is scaled back by the statistics of the labels before it.
    """
    offset, unit = before(y)
    return offset + unit * run(online(X), online(y[:, None])[:, 0])
