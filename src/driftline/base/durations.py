"""Durations among the parameters: numbers in the unit of the rows' times, or text such as "6h"."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from driftline.base.rules import POSITIVE, Rule

PARAMETERS = ("half_life", "per", "period")
NUMBER, CLOCK = "number", "clock"  # what times are: numbers, or dates and times of day
MICROSECONDS = {"us": 1, "ms": 10**3, "s": 10**6, "min": 60 * 10**6, "h": 3600 * 10**6, "d": 86_400 * 10**6}
MICROSECONDS["w"] = 7 * MICROSECONDS["d"]
_PLAIN = (bool, int, float, str, type(None))
_TEXT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)?\s*(us|ms|s|min|h|d|w)\s*")
_WORDS = 'such as "6h", "90min" or "7d" (us, ms, s, min, h, d, w)'


class Span(NamedTuple):
    """A duration.

    Attributes:
        kind: of the times that it is measured in.
        length: in microseconds, or in the unit of the times if these are numbers.
        unit: one of the unit that it is written in.
    """

    kind: str
    length: float
    unit: float


def span_of(value: Any) -> Span:
    """A duration that passed :data:`DURATION`.

    >>> span_of("6h"), span_of(90)
    (Span(kind='clock', length=21600000000.0, unit=3600000000), Span(kind='number', length=90.0, unit=1.0))
    """
    if not isinstance(value, str):
        return Span(NUMBER, float(value), 1.0)
    found = _TEXT.fullmatch(value)
    if found is None:
        raise ValueError(f"{value!r} is not a duration {_WORDS}")
    unit = MICROSECONDS[found[2]]
    return Span(CLOCK, float(found[1] or 1) * unit, unit)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and span_of(value).length > 0


TIME = Rule(_is_text, f"a duration {_WORDS}")
DURATION = Rule(POSITIVE.check, f"a positive number in the unit of the times, or a duration {_WORDS}", (_is_text,))


def named_spans(**durations: Any) -> list[tuple[str, Any, str]]:
    """Name, value and kind of the durations that are not None."""
    return [(name, value, span_of(value).kind) for name, value in durations.items() if value is not None]


def measured_in(model: Any) -> list[tuple[str, Any, str]]:
    """The durations among the parameters of a model, and of the models within: name, value, and kind of times."""
    found: list[tuple[str, Any, str]] = []
    for name, value in model._given.items():
        if name in PARAMETERS and value is not None and (isinstance(value, str) or name != "period"):
            found.append((name, value, span_of(value).kind))
        elif type(value) not in _PLAIN:
            for item in value if isinstance(value, (list, tuple)) else (value,):
                found += measured_in(item) if hasattr(item, "_given") else getattr(item, "durations", [])
    return found


def one_kind(owner: str, **durations: Any) -> str | None:
    """The kind of the times that durations are measured in; None if all are None. Raises ValueError if they differ."""
    given = named_spans(**durations)
    kinds = {kind for *_, kind in given}
    if len(kinds) > 1:
        words = " and ".join(f"{name}={value!r}" for name, value, _ in given)
        raise ValueError(f"{owner}: {words} must be numbers, all of them, or durations like '6h'")
    return kinds.pop() if kinds else None
