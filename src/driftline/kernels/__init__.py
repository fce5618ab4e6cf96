"""Kernel learners."""

from driftline.kernels.kernel import Kernel

__all__ = ["Kernel"]
