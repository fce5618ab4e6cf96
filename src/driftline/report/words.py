"""Numbers, dates and findings in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

DAY = 86_400.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MINUS = "\N{MINUS SIGN}"


def number(value: float | None, digits: int = 4) -> str:
    """A number with so many significant digits, as people write it."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    if value == 0:
        return "0"
    size = abs(value)
    if 1e-4 <= size < 1e7:
        places = max(0, digits - 1 - math.floor(math.log10(size)))
        text = f"{size:,.{places}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        mantissa, exponent = f"{size:.{digits - 1}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        text = f"{mantissa} × 10{raised}"
    return f"{MINUS}{text}" if value < 0 else text


def count(value: float, one: str, many: str | None = None) -> str:
    """A number of things: "1 row", "1,200 rows"."""
    return f"{value:,.0f} {one if value == 1 else many or one + 's'}"


def about(value: float) -> float:
    """A number of things to two significant digits, and at least 1."""
    return float(f"{max(value, 1):.2g}") if value >= 10 else max(round(value), 1)


def times(value: int) -> str:
    """How often: "once", "twice", "12 times"."""
    return {1: "once", 2: "twice"}.get(value, f"{value:,} times")


def share(value: float) -> str:
    """A share as a percentage."""
    percent = 100 * value
    return f"{percent:.1f} %"


def level(value: float) -> str:
    """A level as it was asked for: "90 %", "99.5 %"."""
    return f"{100 * value:.6g} %"


def date(seconds: float, span: float) -> str:
    """A day, with the hour where the whole stream lasts for days rather than years."""
    try:
        moment = _EPOCH + timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        return number(seconds)
    day = f"{moment.day} {moment:%B} {moment.year}"
    if span > 120 * DAY:
        return day
    return f"{day}, {moment:%H:%M}" if span > 600 else f"{day}, {moment:%H:%M:%S}"


def compared(error: float, other: float) -> str:
    """How an error stands to another one: "12 % below", "3 times", "equal to"."""
    if not (math.isfinite(error) and math.isfinite(other)):
        return "not comparable with"
    if error == other:
        return "equal to"
    if other == 0:
        return "above"
    ratio = error / other
    if ratio >= 2:
        return f"{ratio:,.1f} times" if ratio < 1e4 else "far above"
    percent = 100 * abs(1 - ratio)
    way = "below" if ratio < 1 else "above"
    return f"less than 1 % {way}" if percent < 1 else f"{min(round(percent), 99) if ratio > 0 else 100} % {way}"


def listed(items: Sequence[str], most: int = 3) -> str:
    """Several things in a row: "a, b and c", or "a, b, c and 5 more"."""
    shown = [*items[:most], f"{len(items) - most:,} more"] if len(items) > most else list(items)
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
