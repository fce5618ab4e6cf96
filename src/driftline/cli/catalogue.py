"""``driftline models``: every registered learner with a summary and its parameters."""

from __future__ import annotations

import json
import textwrap
from typing import Any

import typer

from driftline.base import docstrings, registry
from driftline.base.learner import Learner
from driftline.errors import closest


def show(name: str | None, as_json: bool) -> None:
    """Prints the list, or one learner in full."""
    known = registry.learners()
    if name is not None and name not in known:
        raise typer.BadParameter(f"there is no model {name!r}.{closest(name, known)}")
    chosen = known if name is None else {name: known[name]}
    if as_json:
        typer.echo(json.dumps([_as_plain(name, cls) for name, cls in chosen.items()], indent=2))
    elif name is not None:
        typer.echo("\n".join(_in_words(name, known[name], full=True)))
    else:
        width = max(map(len, chosen))
        for each, cls in chosen.items():
            typer.echo("\n".join(_in_words(each, cls, full=False, width=width)))


def _in_words(name: str, cls: type[Learner], full: bool, width: int = 0) -> list[str]:
    what, cost = registry.summary_of(cls)
    own = {key: param for key, param in cls._params.items() if full or key not in Learner._params}
    lines = [f"{name:{width}} {cls.__name__}: {what}. Cost of a row: {cost}."]
    if not full:
        shown = ", ".join(f"{key}={param.default!r}" for key, param in own.items())
        return [*lines, *([f"{'':{width}} {shown}"] if shown else [])]
    meanings = docstrings.meanings_of(cls)
    for key, param in own.items():
        lines += ["", f"  {key:14} default {param.default!r}; {param.rule.words}"]
        lines += textwrap.wrap(meanings.get(key, ""), 100, initial_indent=" " * 17, subsequent_indent=" " * 17)
    return lines


def _as_plain(name: str, cls: type[Learner]) -> dict[str, Any]:
    what, cost = registry.summary_of(cls)
    meanings = docstrings.meanings_of(cls)
    params = [
        {"name": key, "default": repr(param.default), "rule": param.rule.words, "meaning": meanings.get(key, "")}
        for key, param in cls._params.items()
    ]
    return {"name": name, "class": cls.__name__, "summary": what, "cost": cost, "parameters": params}
