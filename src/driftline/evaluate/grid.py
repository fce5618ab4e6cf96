"""Grids of parameters."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

Params = dict[str, Any]
Grid = Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]]


def settings_of(grid: Any, where: str) -> list[Params]:
    """Every combination of the values in a mapping, or the settings in a list.

    Args:
        grid: lists of values by parameter, or the settings themselves.
        where: the caller, for messages.

    >>> settings_of({"a": [1, 2], "b": [3]}, "sweep")
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    >>> settings_of([{"a": 1}, {"b": 3}], "sweep")
    [{'a': 1}, {'b': 3}]
    """
    if isinstance(grid, Mapping):
        for name, values in grid.items():
            if not _is_several(values):
                raise ValueError(f"{where}: the grid needs a list of values for {name}, got {values!r}")
        found = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    else:
        settings = list(grid) if _is_several(grid) else [grid]
        for setting in settings:
            if not isinstance(setting, Mapping):
                raise TypeError(f"{where}: grid must hold lists of values by parameter, or settings, got {setting!r}")
        found = [dict(setting) for setting in settings]
    if not found:
        raise ValueError(f"{where}: the grid is empty")
    return found


def _is_several(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes))
