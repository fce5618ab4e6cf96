"""Times of rows as numbers: seconds since 1970 in UTC where they are dates, themselves where they are numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftline.inputs import Array

DATES, NUMBERS = "dates", "numbers"


def as_times(times: Any, rows: int, where: str) -> tuple[Array, str]:
    """One float64 a row, and what they are."""
    values = np.asarray(times)
    if values.ndim != 1 or len(values) != rows:
        raise ValueError(f"{where}: times must hold one value for each of {rows} rows, got shape {values.shape}")
    if values.dtype.kind in "biuf":
        return values.astype(np.float64), NUMBERS
    if values.dtype.kind == "O" and all(hasattr(value, "timestamp") for value in values):
        return np.array([value.timestamp() for value in values]), DATES
    if values.dtype.kind != "M":
        try:
            values = values.astype("datetime64[us]")
        except (TypeError, ValueError) as error:
            raise ValueError(f"{where}: times must be dates or numbers: {error}") from None
    seconds = values.astype("datetime64[us]").astype(np.int64) / 1e6
    seconds[np.isnat(values)] = np.nan
    return seconds, DATES
