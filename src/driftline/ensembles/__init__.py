"""Learners that are made of other learners."""

from driftline.ensembles.auto import Auto

__all__ = ["Auto"]
