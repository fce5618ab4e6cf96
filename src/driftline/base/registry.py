"""Every learner by the name of its file: what the checks, the docs and the benchmarks go through."""

from __future__ import annotations

import inspect
import re
from operator import methodcaller
from typing import TypeVar

from driftline import extensions
from driftline.base.learner import Learner
from driftline.storage import codec

_learners: dict[str, type[Learner]] = {}

L = TypeVar("L", bound=type[Learner])
_SUMMARY = re.compile(r"(?P<what>.*?)[,.] (?P<cost>O\([^)]*\)) a row(?P<more>[^.]*)\.")
_SYMBOLS = {
    ",": " ", "Lambda": "Λ", "cdot": "·", "eta": "η", "gamma": "γ", "lambda": "λ", "mu": "μ", "pm": "±", "rho": "ρ",
    "sqrt": "√", "varepsilon": "ε",
}  # fmt: skip
_ARGUMENTS = re.compile(r"^Args:\n(?P<body>(?:[ \t]+\S.*\n?|\n(?=[ \t]+\S))+)", re.MULTILINE)
_ARGUMENT = re.compile(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)


def learner(cls: L) -> L:
    """Class decorator: enters a learner under its file's stem."""
    name = cls.__module__.rpartition(".")[2]
    other = _learners.setdefault(name, cls)
    if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(
            f"{cls.__name__}: a learner is registered under its file's name, and {name!r} is {other.__name__}'s"
        )
    _learners[name] = cls
    return codec.register(cls, name, methodcaller("get_params", deep=False))


def learners() -> dict[str, type[Learner]]:
    """The registered learners, name -> class: driftline's own in a fixed order, then others as they were entered."""
    extensions.load("learners")
    ranks = {home: rank for rank, home in enumerate(extensions.homes("learners"))}

    def order(entry: tuple[str, type[Learner]]) -> tuple[int, str]:
        name, module = entry[0], entry[1].__module__
        rank = ranks.get(module, ranks.get(module.rpartition(".")[0]))
        return (len(ranks), "") if rank is None else (rank, name)

    return dict(sorted(_learners.items(), key=order))


def regressors() -> dict[str, type[Learner]]:
    """Those whose predictions are numbers, name -> class."""
    return {name: cls for name, cls in learners().items() if cls._estimator_type == "regressor"}


def name_of(cls: type[Learner]) -> str:
    """The name under which a class was registered."""
    for name, known in _learners.items():
        if known is cls:
            return name
    raise ValueError(f"{cls.__name__} is not registered: decorate it with driftline.base.registry.learner")


def summary_of(cls: type[Learner]) -> tuple[str, str]:
    """What the first paragraph of a learner's docstring says, and the cost of a row that it ends with.

    >>> from driftline import RLS
    >>> from driftline.base import registry
    >>> registry.summary_of(RLS)
    ('Recursive least squares with exponential forgetting', 'O(d²)')
    """
    paragraph = " ".join(inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0].split())
    found = _SUMMARY.fullmatch(paragraph)
    if found is None:
        raise ValueError(f"{cls.__name__}: the docstring must begin with a summary that ends in ', O(...) a row.'")
    return found["what"], found["cost"] + found["more"]


def meanings_of(cls: type[Learner]) -> dict[str, str]:
    """What each parameter means, by the docstrings of a learner and of the classes that it comes from.

    >>> from driftline import RLS
    >>> from driftline.base import registry
    >>> registry.meanings_of(RLS)["ridge"]
    'S starts at I / ridge.'
    """
    found: dict[str, str] = {}
    for each in cls.__mro__:
        section = _ARGUMENTS.search(inspect.cleandoc(each.__dict__.get("__doc__") or ""))
        for name, words in _ARGUMENT.findall(section["body"] if section else ""):
            found.setdefault(name, _plain(words))
    return {name: found[name] for name in cls._params if name in found}


def _plain(words: str) -> str:
    """Text without its markup."""
    words = re.sub(r":math:`([^`]*)`", r"\1", " ".join(words.split()))
    words = re.sub(r":\w+(?::\w+)?:`~?([^`<]*?)\s*(?:<[^`]*>)?`", r"\1", words).replace("``", "")
    words = re.sub(r"\\(pm|sqrt|,) ?", lambda found: _SYMBOLS[found[1]], words)
    return re.sub(r"\\(\w+)", lambda found: _SYMBOLS.get(found[1], found[1]), words)
