"""Learners that are made of other learners."""

from driftline.ensembles.auto import Auto
from driftline.ensembles.network import Network

__all__ = ["Auto", "Network"]
