"""The registry of targets. A new target is a module here and an entry in ``targets.toml``."""

import difflib
import importlib
import tomllib
from pathlib import Path

from papers.target import Target

_TEXTS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("targets.toml").read_text("utf-8"))


class RequestError(ValueError):
    """A request that cannot be fulfilled: a name, a directory or a file is wrong."""


class UnknownTargetError(RequestError):
    """An unknown target name."""


def names() -> tuple[str, ...]:
    """The names of all targets, in the order of the sources."""
    return tuple(_TEXTS)


def find(name: str) -> Target:
    """A target by name.

    >>> find("lecture-bounds").source
    'Schapire, lecture 18 of COS 511 (2018), Theorems 1 and 2'
    """
    if name not in _TEXTS:
        raise UnknownTargetError(f"there is no target {name!r}. {_closest(name)}")
    module = importlib.import_module(f"papers.{name.replace('-', '_')}")
    texts = {part: words.format_map(getattr(module, "TEXT", {})) for part, words in _TEXTS[name].items()}
    return Target(**texts, name=name, compute=module.compute)


def _closest(name: str) -> str:
    tidy = str(name).lower().replace("_", "-")
    close = difflib.get_close_matches(tidy, _TEXTS, n=3, cutoff=0.5)
    close += [known for known in _TEXTS if tidy and known.startswith(tidy) and known not in close]
    return f"Did you mean {' or '.join(close)}?" if close else f"There are {', '.join(_TEXTS)}."
