"""Quantiles of scores that are followed step by step, written plainly: one level at a time, in logarithms."""

import math
from statistics import NormalDist


def step_of(level):
    """Larger where scores above the quantile are rare: 0.12 up to the level 0.95, three times as much from 0.99 on."""
    return 0.12 * (1 + 2 * min(max((level - 0.95) / 0.04, 0), 1))


def squared_half_width(level):
    """Of a standard Gaussian's interval, over that of the level 0.5."""
    quantile = NormalDist().inv_cdf
    return (quantile((1 + level) / 2) / quantile(0.75)) ** 2


def follow(scores, level):
    """The bound on each score that was known before it; all scores are positive."""
    log_quantile, log_scale, streak = math.log(squared_half_width(level)), None, 0
    bounds = []
    for count, score in enumerate(scores):
        bounds.append(math.nan if log_scale is None else math.exp(log_quantile + log_scale))
        if log_scale is None:
            log_scale = math.log(score)
        relative = math.log(score) - log_scale
        step = step_of(level)
        log_quantile += step * level if relative > log_quantile else -step * (1 - level)
        side = 1 if relative > 0 else -1
        streak = streak + side if streak * side > 0 else side
        move = math.log(1.04)
        if abs(streak) > 5 or count < 125:
            move += math.log(1 + min(0.01 * max(0, abs(streak) - 5) ** 2, 3))
            if count < 125:
                move += math.log(1 + min(0.5, 5 / (count + 1)))
        log_scale += side * move
    return bounds
