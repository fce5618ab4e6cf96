"""Times of rows as numbers: seconds since 1970 for dates; numbers stay as they are.

Dates without a zone are local times; those with a zone are converted to UTC.
"""

from __future__ import annotations

from datetime import UTC
from typing import Any, NamedTuple

import numpy as np

from driftline.tables.inputs import Array

DATES, ZONED, NUMBERS = "dates", "dates with a zone", "numbers"


class InUTC(NamedTuple):
    """Times with a zone, as datetime64 in UTC."""

    values: Array


def as_times(times: Any, rows: int, where: str) -> tuple[Array, str]:
    """The times as one float64 a row, and their kind."""
    zoned = isinstance(times, InUTC) or _has_zone(times)
    values = np.asarray(times.values if isinstance(times, InUTC) else times)
    if values.ndim != 1 or len(values) != rows:
        raise ValueError(f"{where}: times must hold one value for each of {rows} rows, got shape {values.shape}")
    if values.dtype.kind in "biuf":
        return values.astype(np.float64), NUMBERS
    if values.dtype.kind == "O" and all(hasattr(value, "timestamp") for value in values):
        return _seconds(values, where)
    if values.dtype.kind != "M":
        try:
            values = values.astype("datetime64[us]")
        except (TypeError, ValueError) as error:
            raise ValueError(f"{where}: times must be dates or numbers: {error}") from None
    seconds = values.astype("datetime64[us]").astype(np.int64) / 1e6
    seconds[np.isnat(values)] = np.nan
    return seconds, ZONED if zoned else DATES


def _has_zone(times: Any) -> bool:
    """Whether a column of Arrow, pandas or polars has a zone: as arrays of NumPy such times are in UTC."""
    kinds = (getattr(times, "type", None), getattr(times, "dtype", None))
    return any(getattr(kind, name, None) is not None for kind in kinds for name in ("tz", "time_zone"))


def _seconds(moments: Array, where: str) -> tuple[Array, str]:
    """Seconds since 1970 of datetimes or similar objects."""
    zoned = {moment.tzinfo is not None for moment in moments if moment == moment}  # NaT is unequal to itself
    if len(zoned) > 1:
        raise ValueError(f"{where}: times must all have a zone, or none of them")
    if True in zoned:
        return np.array([moment.timestamp() for moment in moments]), ZONED
    return np.array([moment.replace(tzinfo=UTC).timestamp() for moment in moments]), DATES
