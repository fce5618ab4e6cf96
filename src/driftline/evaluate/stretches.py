"""Tests whether one learner's losses along a stream are lower than another's, for dependent rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from driftline.evaluate.statistics import PairedTest, paired_t_test
from driftline.tables.inputs import Array

FEWEST = 10  # stretches at least; at twice as many, neighbours are merged


class LossesByStretch:
    """The losses of several learners on the same rows; any two learners can be compared at any time.

    The question is that of Diebold and Mariano :cite:`diebold1995`: is the mean difference of two learners' losses 0? Losses
    of neighbouring rows are dependent, since one change of the target affects many rows, and their variance changes along
    the stream. A test that assumes independent rows finds differences that do not exist. So the rows are cut into 10 to 19
    stretches of equal length, and Student's test is applied to the mean differences of the stretches. Long stretches are
    nearly independent, and the test keeps its level of 5 % even if their variances differ :cite:`ibragimov2010`. Memory
    does not grow with the rows; up to one stretch of rows at the end is not counted yet.

    Args:
        count: number of learners.

    >>> rng = np.random.default_rng(0)
    >>> losses = LossesByStretch(2)
    >>> losses.add(np.column_stack([rng.normal(1.0, 1.0, 500), rng.normal(1.3, 1.0, 500)]))
    >>> losses.test(0, 1).p_value < 0.01
    True
    """

    def __init__(self, count: int) -> None:
        self.length = 1  # rows of a stretch
        self._sums: list[Array] = []
        self._open, self._rows = np.zeros(count), 0  # sums and rows of the incomplete stretch

    def add(self, losses: Array) -> None:
        """Adds the losses of more rows, (rows, learners). Rows that are not finite for all learners are left out."""
        losses = losses[np.isfinite(losses).all(axis=1)]
        while len(losses):
            taken = losses[: self.length - self._rows]
            self._open, self._rows = self._open + taken.sum(axis=0), self._rows + len(taken)
            losses = losses[len(taken) :]
            if self._rows == self.length:
                self._close()

    def _close(self) -> None:
        self._sums.append(self._open)
        self._open, self._rows = np.zeros_like(self._open), 0
        if len(self._sums) == 2 * FEWEST:
            self._sums = [one + other for one, other in zip(self._sums[::2], self._sums[1::2], strict=True)]
            self.length *= 2

    def test(self, one: int, other: int) -> PairedTest:
        """The two-sided test: the statistic, negative if ``one`` has lower losses, and the p-value."""
        means = np.array(self._sums).reshape(-1, len(self._open)) / self.length
        return paired_t_test(means[:, one], means[:, other])


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjustment for several tests, which bounds the probability that any of them is wrong :cite:`holm1979`.

    >>> [round(p, 4) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted, largest = [math.nan] * len(p_values), 0.0
    for place, number in enumerate(np.argsort(p_values, kind="stable").tolist()):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[number]))
        adjusted[number] = largest
    return adjusted
