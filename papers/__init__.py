"""Recomputes figures and tables of the papers: numbers, a picture, and whether the source's claim holds.

``python -m papers NAME`` in a clone of the repository, or :func:`run` from Python. Each target is a module here.
"""

from papers.registry import RequestError, UnknownTargetError, find, names
from papers.runner import Result, run
from papers.target import Check, Context, Findings, Target

__all__ = ["Check", "Context", "Findings", "RequestError", "Result", "Target", "UnknownTargetError", "find", "names", "run"]
