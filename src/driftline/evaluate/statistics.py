"""Significance tests for comparisons. They import SciPy when called."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from driftline.tables.inputs import Array

Verdict = Literal["win", "tie", "loss"]


class PairedTest(NamedTuple):
    """A paired t-test: the statistic of the mean difference, and the probability of one as large by chance."""

    statistic: float
    p_value: float


def paired_t_test(first: Sequence[float] | Array, second: Sequence[float] | Array) -> PairedTest:
    """Student's paired t-test, two-sided.

    If all differences are equal, the p-value is 0 if they are not 0, and 1 if they are.

    >>> statistic, p_value = paired_t_test([1.0, 2.0, 3.0], [0.0, 1.5, 1.0])
    >>> round(statistic, 4), round(p_value, 4)
    (2.6458, 0.1181)
    """
    difference = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    count = len(difference)
    if count < 2:
        return PairedTest(math.nan, math.nan)
    mean, spread = float(difference.mean()), float(difference.std(ddof=1))
    if spread <= 1e-15 * abs(mean):
        return PairedTest(0.0, 1.0) if mean == 0 else PairedTest(math.copysign(math.inf, mean), 0.0)
    from scipy.special import stdtr

    statistic = mean / (spread / math.sqrt(count))
    return PairedTest(statistic, float(2.0 * stdtr(count - 1, -abs(statistic))))


def verdict(own: Array, other: Array, lower_is_better: bool, level: float = 0.95) -> tuple[Verdict, PairedTest]:
    """Whether one learner is significantly better than another over the same repetitions.

    A learner that failed in a repetition loses to one that never did. If both failed, or there is only one repetition,
    nothing is significant.

    >>> verdict(np.array([1.0, 1.1, 0.9]), np.array([2.0, 2.3, 1.9]), lower_is_better=True)[0]
    'win'
    """
    sound, other_sound = bool(np.isfinite(own).all()), bool(np.isfinite(other).all())
    if not (sound and other_sound):
        nothing = PairedTest(math.nan, math.nan)
        return ("tie" if sound == other_sound else "win" if sound else "loss"), nothing
    test = paired_t_test(own, other)
    if not test.p_value < 1.0 - level:
        return "tie", test
    return ("win" if (test.statistic < 0) == lower_is_better else "loss"), test


def robustness(scores: Array, lower_is_better: bool) -> Array:
    """Each learner's sum over the streams of its score relative to the worst learner's; scores are (streams, learners).

    For accuracies the ratio is score / worst. For errors it is worst / score. The worst learner has 1 on every stream. A
    learner that failed, whose score is not finite, has 0 there, and the worst is taken from the others.

    >>> robustness(np.array([[0.8, 0.4], [0.9, 0.9]]), lower_is_better=False).tolist()
    [3.0, 2.0]
    """
    scores = np.asarray(scores, dtype=np.float64)
    sound = np.isfinite(scores)
    if (scores[sound] < 0).any():
        raise ValueError("robustness: a ratio of scores needs scores of at least 0")
    if lower_is_better:
        worst = scores.max(axis=1, keepdims=True, initial=-np.inf, where=sound)
    else:
        worst = scores.min(axis=1, keepdims=True, initial=np.inf, where=sound)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        ratio = worst / scores if lower_is_better else scores / worst
    ratio = np.where(sound, np.where(scores == worst, 1.0, ratio), 0.0)
    total: Array = ratio.sum(axis=0)
    return total


def rank_rows(scores: Array, lower_is_better: bool) -> Array:
    """Ranks within each row, 1 for the best; equal scores share the mean of their ranks.

    >>> rank_rows(np.array([[0.1, 0.3, 0.1]]), lower_is_better=True).tolist()
    [[1.5, 3.0, 1.5]]
    """
    ordered = scores if lower_is_better else -scores
    better = (ordered[:, None, :] < ordered[:, :, None]).sum(axis=2)
    equal = (ordered[:, None, :] == ordered[:, :, None]).sum(axis=2)
    ranks: Array = better + (equal + 1) / 2
    return ranks


@dataclass(frozen=True)
class Ranks:
    """Mean ranks, Friedman's test of whether they differ at all, and Nemenyi's critical difference.

    Attributes:
        mean: learner -> mean rank; 1 is the best.
        statistic, p_value: Friedman's chi-square, with its correction for ties.
        critical_difference: learners whose mean ranks differ by more than this differ significantly.
        blocks: the number of rankings.
        level: the significance level, such as 0.95.
    """

    mean: dict[str, float]
    statistic: float
    p_value: float
    critical_difference: float
    blocks: int
    level: float

    def differ(self, first: str, second: str) -> bool:
        """Whether two learners differ significantly."""
        return abs(self.mean[first] - self.mean[second]) > self.critical_difference


def friedman(ranks: Array) -> PairedTest:
    """Friedman's chi-square over rankings, (blocks, learners), corrected for ties.

    >>> round(friedman(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 3.0, 2.0]])).statistic, 4)
    4.6667
    """
    from scipy.special import chdtrc

    blocks, learners = ranks.shape
    expected = (learners + 1) / 2
    between = blocks * float(((ranks.mean(axis=0) - expected) ** 2).sum())
    within = float(((ranks - expected) ** 2).sum()) / (blocks * (learners - 1))
    if within == 0:
        return PairedTest(0.0, 1.0)  # all tied in every block
    statistic = between / within
    return PairedTest(statistic, float(chdtrc(learners - 1, statistic)))


def critical_difference(learners: int, blocks: int, level: float = 0.95) -> float:
    """Nemenyi's critical difference of mean ranks.

    >>> round(critical_difference(5, 30), 3)
    1.114
    """
    from scipy.stats import studentized_range

    quantile = float(studentized_range.ppf(level, learners, np.inf)) / math.sqrt(2)
    return quantile * math.sqrt(learners * (learners + 1) / (6 * blocks))


def compare_ranks(names: Sequence[str], scores: Array, lower_is_better: bool, level: float = 0.95) -> Ranks:
    """Ranks of learners over the rows of ``scores``, (blocks, learners)."""
    ranks = rank_rows(scores, lower_is_better)
    test = friedman(ranks) if len(names) > 1 else PairedTest(math.nan, math.nan)
    difference = critical_difference(len(names), len(ranks), level) if len(names) > 1 else math.nan
    mean = dict(zip(names, ranks.mean(axis=0).tolist(), strict=True))
    return Ranks(mean, test.statistic, test.p_value, difference, len(ranks), level)
