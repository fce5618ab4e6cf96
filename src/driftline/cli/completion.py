"""Shell completion."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import typer


def models(incomplete: str) -> Iterator[tuple[str, str]]:
    """Learners, with their summaries."""
    from driftline.base import registry

    for name, cls in registry.of_numbers().items():
        if name.startswith(incomplete):
            yield name, registry.summary_of(cls)[0]


def several_models(incomplete: str) -> Iterator[tuple[str, str]]:
    """Learners, after those typed before the last comma."""
    before, comma, last = incomplete.rpartition(",")
    for name, words in models(last):
        yield before + comma + name, words


def tasks(incomplete: str) -> Iterator[tuple[str, str]]:
    """The tasks."""
    words = {"regress": "the target holds numbers", "classify": "the target holds classes"}
    return (item for item in words.items() if item[0].startswith(incomplete))


def transformations(incomplete: str) -> Iterator[str]:
    """Transformations of the target."""
    from driftline.base.scale import NAMES

    return (name for name in NAMES if name.startswith(incomplete))


def settings(context: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Parameters of the given learner."""
    from driftline.base import registry

    cls = registry.of_numbers().get(context.params.get("model") or "auto")
    for name, param in (cls._params if cls else {}).items():
        if f"{name}=".startswith(incomplete):
            yield f"{name}=", param.rule.words


def columns(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Columns of the given source, after those typed before the last comma."""
    before, comma, last = incomplete.rpartition(",")
    for name in _columns_of(context.params.get("source") or next(iter(context.args), None)):
        if name.startswith(last):
            yield before + comma + name


def _columns_of(source: Any) -> list[str]:
    from driftline.files import DataError, open_rows

    if not source or source == "-":
        return []
    with contextlib.suppress(DataError, OSError, ImportError), open_rows(source) as rows:
        return rows.columns()
    return []
