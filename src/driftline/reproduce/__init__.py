"""Recomputes figures and tables of the papers: numbers, a picture, and whether the source's claim holds.

``driftline reproduce NAME`` on the command line, :func:`run` from Python. Each target is a module here. Names are imported
on first use, because the command line needs only this package's command.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftline.reproduce.context import Context
    from driftline.reproduce.registry import RequestError, UnknownTargetError, find, names
    from driftline.reproduce.runner import Result, run
    from driftline.reproduce.target import Check, Findings, Target

__all__ = ["Check", "Context", "Findings", "RequestError", "Result", "Target", "UnknownTargetError", "find", "names", "run"]
_HOMES = {
    "context": ("Context",),
    "registry": ("RequestError", "UnknownTargetError", "find", "names"),
    "runner": ("Result", "run"),
    "target": ("Check", "Findings", "Target"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
