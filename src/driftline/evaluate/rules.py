"""Checks of the arguments that the verbs of this package share."""

from __future__ import annotations

import numbers
from typing import Any

from driftline.base.params import number


def whole(where: str, name: str, value: Any, least: int) -> int:
    """A whole number of at least ``least``.

    >>> whole("prequential", "window", 0, 1)
    Traceback (most recent call last):
    ...
    ValueError: prequential: window must be a whole number of at least 1, got 0
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
        raise ValueError(f"{where}: {name} must be a whole number of at least {least}, got {value!r}")
    return int(value)


def optional_whole(where: str, name: str, value: Any, least: int) -> int | None:
    """None, or a whole number of at least ``least``."""
    return None if value is None else whole(where, name, value, least)


def real(where: str, name: str, value: Any, **bounds: float) -> float:
    """A finite number within bounds."""
    check, words = number(**bounds)  # type: ignore[arg-type]
    if not check(value):
        raise ValueError(f"{where}: {name} must be {words}, got {value!r}")
    return float(value)


def one_of(where: str, name: str, value: Any, options: tuple[str, ...]) -> str:
    """One of several words."""
    if value not in options:
        raise ValueError(f"{where}: {name} must be one of {', '.join(map(repr, options))}, got {value!r}")
    return str(value)
