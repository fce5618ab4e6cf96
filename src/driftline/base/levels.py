"""Coverage levels, in the form that the core takes."""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import lru_cache
from statistics import NormalDist
from typing import Any

from driftline import _core
from driftline.base.rules import PROBABILITY

_LEVELS: list[float] = _core.levels


def _half_width(level: float) -> float:
    """Half the width of the interval that covers a share ``level`` of a standard Gaussian."""
    return -NormalDist().inv_cdf((1 - level) / 2)  # (1 + level) / 2 would round the highest levels to 1


_HALF_WIDTHS = [_half_width(level) for level in _LEVELS]


def as_level(level: Any, where: str) -> Any:
    """Locates a level among the levels that the core tracks.

    Quantiles between two tracked levels are interpolated, and beyond them extrapolated, exactly for a Gaussian.
    """
    return _place(PROBABILITY.require(where, "level", level))


@lru_cache(maxsize=64)
def _place(level: float) -> Any:
    enough = math.ceil(level / (1 - level) - 1e-9)  # labels: with fewer, the quantile exceeds the largest error
    at = bisect_right(_LEVELS, level) - 1
    half = _half_width(level)
    if 0 <= at < len(_LEVELS) - 1:
        below, above = _HALF_WIDTHS[at : at + 2]
        return _core.Level(at, math.log(half / below) / math.log(above / below), 1.0, enough)
    at = max(at, 0)
    return _core.Level(at, 0.0, (half / _HALF_WIDTHS[at]) ** 2, enough)
