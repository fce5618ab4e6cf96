"""The bound on a network's loss, ARCOR's Theorem 2: its terms, and its condition on the learner on top."""

from __future__ import annotations

from driftline.base.learner import Learner
from driftline.linear.arcor import ARCOR
from driftline.linear.arowr import AROWR

NETWORK_CONDITION = "the learner on top starts at S = I, never resets and has a radius of at least 1"


def network_terms(best: float, noise: float, largest: float, growth: float) -> dict[str, float]:
    """The terms of the bound, from the best copy's loss, the top's noise, its largest loss and its log det."""
    return {"loss of the best copy": best, "noise": noise, "A log det": largest * growth}


def is_network_top(top: Learner, noise: float) -> bool:
    """Whether the theorem covers this learner on top."""
    if isinstance(top, ARCOR):
        ball = top.radius is None or top.radius >= 1
        return top.schedule is None and ball and top.noise == noise and not top.intercept
    return isinstance(top, AROWR) and top.ridge == 1 and top.noise == noise and not top.intercept
