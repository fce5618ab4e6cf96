"""The kinds of columns: numbers, booleans, text and times."""

from __future__ import annotations

import sys
from collections.abc import Hashable
from datetime import date, datetime, time
from typing import Any

import numpy as np

NUMBER, TRUTH, TEXT, DATE, CLOCK, TIMESTAMP = "number", "truth", "text", "date", "clock", "timestamp"


def of_value(value: Any) -> str:
    """The kind of a value that is not missing. Whatever is neither text nor a time should be a number."""
    if isinstance(value, str):
        return TEXT
    if isinstance(value, np.datetime64):
        return DATE if np.datetime_data(value)[0] in "DWMY" else TIMESTAMP
    if isinstance(value, date):
        return TIMESTAMP if isinstance(value, datetime) else DATE
    return CLOCK if isinstance(value, time) else NUMBER


def is_special(value: Any) -> bool:
    """Whether a value is text or a time."""
    return of_value(value) != NUMBER and not is_missing(value)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or pandas' NA or NaT."""
    if value is None:
        return True
    pandas = sys.modules.get("pandas")
    return (pandas is not None and value is pandas.NA) or (isinstance(value, Hashable) and bool(value != value))
