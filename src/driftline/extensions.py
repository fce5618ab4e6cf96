"""Lets lower layers use higher ones: the package's ``__init__`` registers them here, so that imports only point down."""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType

_homes: dict[str, tuple[str, ...]] = {}


def provide(name: str, *modules: str) -> None:
    """Names the modules that an extension consists of. They are imported when it is first used."""
    _homes[name] = modules


@cache
def load(name: str) -> list[ModuleType]:
    """Imports the modules of an extension."""
    return [importlib.import_module(module) for module in _homes[name]]


def homes(name: str) -> tuple[str, ...]:
    """The names of an extension's modules."""
    return _homes[name]
