"""The registry of streams by name, for the docs' table and comparisons."""

from __future__ import annotations

import inspect
import re
from typing import Any, TypeVar

from driftline.base.rules import choice
from driftline.streams.source import Source

_sources: dict[str, type[Source]] = {}

S = TypeVar("S", bound=type[Source])


def source(cls: S) -> S:
    """Class decorator that registers a stream under its name in snake case, such as ``moving_gaussians``."""
    _sources[re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()] = cls
    return cls


def names() -> tuple[str, ...]:
    """The names of the streams, in alphabetical order.

    >>> names()
    ('hyperplane', 'moving_gaussians', 'rotating', 'sea', 'state_space', 'switching')
    """
    return tuple(sorted(_sources))


def make(name: str, **parameters: Any) -> Source:
    """A stream by its name.

    >>> make("sea", seed=3)
    SEA(seed=3)
    """
    return _sources[choice(names()).require("make", "name", name)](**parameters)


def table() -> str:
    """The streams with their default parameters, as a table in Markdown; ``python -m driftline.streams`` prints it."""
    lines = ["| stream | name | what it is | inputs | rows | task |", "| --- | --- | --- | --- | --- | --- |"]
    for name in names():
        stream = make(name)
        what = " ".join(inspect.cleandoc(type(stream).__doc__ or "").split("\n\n")[0].split()).removesuffix(".")
        rows = "endless" if stream.length is None else f"{stream.length:,}"
        lines.append(f"| `{type(stream).__name__}` | `{name}` | {what} | {stream.d} | {rows} | {stream.task} |")
    return "\n".join(lines)
