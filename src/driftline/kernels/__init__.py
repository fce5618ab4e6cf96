"""Learners in a space of functions."""

from driftline.kernels.kernel import Kernel

__all__ = ["Kernel"]
