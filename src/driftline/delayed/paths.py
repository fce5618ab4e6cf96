"""Paths of the next labels, drawn from the quantiles of every step and the correlations between the steps."""

from __future__ import annotations

import numpy as np

from driftline.base.levels import NORMAL
from driftline.tables.inputs import Array

LEVELS = np.array([0.005, 0.01, 0.025, 0.05, *np.arange(0.1, 0.95, 0.1), 0.95, 0.975, 0.99, 0.995])
_TAIL = 3  # the place of 0.05: a spread needs as many labels as an interval at level 0.9
_SCORES = np.array([NORMAL.inv_cdf(level) for level in LEVELS.tolist()])


class Paths:
    """A Gaussian copula: normal scores that follow an autoregression over the steps, mapped to the steps' quantiles.

    Args:
        quantiles: at ``LEVELS``, (steps, levels).
        links: the correlation of each step with the one before, (steps,).
        low, high: the range of the label.
    """

    def __init__(self, quantiles: Array, links: Array, low: float, high: float) -> None:
        self._quantiles, self._links, self._low, self._high = quantiles, links, low, high

    def draw(self, count: int, seed: int | None) -> Array:
        """Draws paths, (count, steps)."""
        finite = np.isfinite(self._quantiles)
        if not finite[:, [_TAIL, -1 - _TAIL]].all():
            raise ValueError("Forecast.samples: too few labels are known to say how they are spread")
        scores = np.random.default_rng(seed).standard_normal((count, len(self._links)))
        paths = np.empty_like(scores)
        for step, link in enumerate(self._links.tolist()):
            if step:
                scores[:, step] = link * scores[:, step - 1] + np.sqrt(1 - link**2) * scores[:, step]
            known = finite[step]
            paths[:, step] = _line(scores[:, step], _SCORES[known], self._quantiles[step, known])
        return np.clip(paths, self._low, self._high)


def _line(x: Array, at: Array, values: Array) -> Array:
    """Interpolates linearly, and goes on with the slope from the middle beyond the ends."""
    found: Array = np.interp(x, at, values)
    middle = len(at) // 2
    for end, outside in ((0, x < at[0]), (-1, x > at[-1])):
        slope = (values[end] - values[middle]) / (at[end] - at[middle])
        found[outside] = values[end] + slope * (x[outside] - at[end])
    return found
