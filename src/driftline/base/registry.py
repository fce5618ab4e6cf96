"""The registry of learners, by file name, for the checks, the docs and the benchmarks."""

from __future__ import annotations

import re
from operator import methodcaller
from typing import TypeVar

from driftline import extensions
from driftline.base.docstrings import written
from driftline.base.learner import Learner
from driftline.storage import codec

_learners: dict[str, type[Learner]] = {}

L = TypeVar("L", bound=type[Learner])
_SUMMARY = re.compile(r"(?P<what>.*?)[,.] (?P<cost>O\([^)]*\)) a row(?P<more>[^.]*)\.")


def learner(cls: L) -> L:
    """Class decorator: registers a learner under its file's stem."""
    name = cls.__module__.rpartition(".")[2]
    other = _learners.setdefault(name, cls)
    if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(
            f"{cls.__name__}: a learner is registered under its file's name, and {name!r} belongs to {other.__name__}"
        )
    _learners[name] = cls
    return codec.register(cls, name, methodcaller("get_params", deep=False))


def learners() -> dict[str, type[Learner]]:
    """The registered learners, name -> class: driftline's own in a fixed order, then others as registered."""
    extensions.load("learners")
    found: dict[str, type[Learner]] = {}
    for home in extensions.homes("learners"):
        for name, cls in sorted(_learners.items()):
            if cls.__module__ in (home, f"{home}.{name}"):
                found.setdefault(name, cls)
    return found | _learners


def of_numbers() -> dict[str, type[Learner]]:
    """The learners whose predictions are numbers, name -> class."""
    return {name: cls for name, cls in learners().items() if cls._river_kind == "Regressor"}


def regressors() -> dict[str, type[Learner]]:
    """Those of them that take any number as a label by default, name -> class."""
    return {name: cls for name, cls in of_numbers().items() if cls()._traits.labels is None}


def name_of(cls: type[Learner]) -> str:
    """The name under which a class is registered."""
    for name, known in _learners.items():
        if known is cls:
            return name
    raise ValueError(f"{cls.__name__} is not registered: decorate it with driftline.base.registry.learner")


def summary_of(cls: type[Learner]) -> tuple[str, str]:
    """The summary of a learner's docstring, and the cost per row that ends it.

    >>> from driftline import RLS
    >>> from driftline.base import registry
    >>> registry.summary_of(RLS)
    ('Recursive least squares with exponential forgetting', 'O(d²)')
    """
    paragraph = " ".join(written(cls).split("\n\n")[0].split())
    found = _SUMMARY.fullmatch(paragraph)
    if found is None:
        raise ValueError(f"{cls.__name__}: the docstring must begin with a summary that ends in ', O(...) a row.'")
    return found["what"], found["cost"] + found["more"]
