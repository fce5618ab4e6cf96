"""Numbers, dates and findings in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

DAY = 86_400.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MINUS = "\N{MINUS SIGN}"
FIXED_SPACE = "\N{NO-BREAK SPACE}"  # where a line must not end
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LARGE = ((1e15, "quadrillion"), (1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_UNITS = ((365.25 * DAY, "year"), (30.44 * DAY, "month"), (DAY, "day"), (3600.0, "hour"), (60.0, "minute"), (1.0, "second"))


def number(value: float | None, digits: int = 4) -> str:
    """A number rounded to significant digits, as people write it."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    if value == 0:
        return "0"
    size = abs(value)
    large = next(((unit, name) for unit, name in _LARGE if size >= unit), None) if 1e7 <= size < 1e18 else None
    if large is not None:
        text = f"{_plain(size / large[0], digits)} {large[1]}"
    elif 1e-4 <= size < 1e7:
        text = _plain(size, digits)
    else:
        mantissa, exponent = f"{size:.{digits - 1}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        text = f"{mantissa} × 10{raised}"
    return f"{MINUS}{text}" if value < 0 else text


def _plain(size: float, digits: int) -> str:
    places = max(0, digits - 1 - math.floor(math.log10(size)))
    text = f"{size:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


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
    """A level as a percentage: "90 %", "99.5 %"."""
    return f"{100 * value:.6g} %"


def date(seconds: float, span: float) -> str:
    """A day, with the hour if the whole stream lasts for days rather than years."""
    try:
        moment = _EPOCH + timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        return number(seconds)
    day = f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}"
    if span > 120 * DAY:
        return day
    return f"{day}, {moment:%H:%M}" if span > 600 else f"{day}, {moment:%H:%M:%S}"


def duration(seconds: float) -> str:
    """A stretch of time to one unit: "3 days", "12 hours"."""
    for length, unit in _UNITS:
        if seconds >= 1.5 * length or length == 1.0:
            return count(max(round(seconds / length), 1), unit)
    raise AssertionError


def factor(value: float) -> str:
    """How many times something: "1.0 times", "0.04 times", "12 times"."""
    return f"{value:.1f} times" if 0.1 <= value < 10 else f"{number(value, 2)} times"


def ratio(value: float) -> str:
    """How many times as large: "6.4 times", "30 % more", "as before"."""
    if not math.isfinite(value):
        return "far more"
    if value >= 2:
        return f"{value:,.1f} times" if value < 100 else f"{value:,.0f} times"
    percent = round(100 * (value - 1))
    return "about the same" if percent == 0 else f"{abs(percent)} % {'more' if percent > 0 else 'less'}"


def compared(error: float, other: float) -> str:
    """An error relative to another one: "12 % below", "3 times", "equal to"."""
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
