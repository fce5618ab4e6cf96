"""Figures and tables of the papers, computed again: numbers, a picture, and whether the source's claim holds.

``driftline reproduce NAME`` on the command line, :func:`run` from Python. Each target is a module of its own here.
"""

from driftline.reproduce.context import Context
from driftline.reproduce.registry import RequestError, UnknownTargetError, find, names
from driftline.reproduce.runner import Result, run
from driftline.reproduce.target import Check, Findings, Target

__all__ = ["Check", "Context", "Findings", "RequestError", "Result", "Target", "UnknownTargetError", "find", "names", "run"]
