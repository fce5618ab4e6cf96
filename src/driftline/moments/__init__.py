"""Mergeable sums over rows, and the models that they determine."""

from driftline.moments.moments import Moments

__all__ = ["Moments"]
