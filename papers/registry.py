"""The registry of targets. A new target is a module here and a line below."""

import difflib
import importlib
from dataclasses import replace

from papers.target import Target

_NAMES = (
    *(
        "lecture-bounds",
        "arcor-fig2",
        "arcor-network",
        "arcor-rates",
        "wemm-fig3-1",
        "bounds-table4-1",
        "thesis-6-1",
        "laser-fig7-1",
    ),
    *("dfop-fig1", "dfop-fig2", "dfop-table1", "dfop-fig3", "dfop-fig4", "dfop-table3", "dfop-fig5", "dfop-table4"),
    *("dfop-fig6", "dfop-fig7", "dfop-table5", "dfop-coverage"),
)


class RequestError(ValueError):
    """A request that cannot be fulfilled: a name, a directory or a file is wrong."""


class UnknownTargetError(RequestError):
    """An unknown target name."""


def names() -> tuple[str, ...]:
    """The names of all targets, in the order of the sources."""
    return _NAMES


def find(name: str) -> Target:
    """A target by name.

    >>> find("lecture-bounds").source
    'Schapire, lecture 18 of COS 511 (2018), Theorems 1 and 2'
    """
    if name not in _NAMES:
        raise UnknownTargetError(f"there is no target {name!r}. {_closest(name)}")
    module = importlib.import_module(f"papers.{name.replace('-', '_')}")
    target: Target = module.TARGET
    return replace(target, name=name, compute=module.compute)


def _closest(name: str) -> str:
    tidy = str(name).lower().replace("_", "-")
    close = difflib.get_close_matches(tidy, _NAMES, n=3, cutoff=0.5)
    close += [known for known in _NAMES if tidy and known.startswith(tidy) and known not in close]
    return f"Did you mean {' or '.join(close)}?" if close else f"There are {', '.join(_NAMES)}."
