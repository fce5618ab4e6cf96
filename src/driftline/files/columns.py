"""Converts Arrow columns to the form that column encoders take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.files.buffers import to_numpy
from driftline.tables import kinds
from driftline.tables.calendar import MISSING
from driftline.tables.categories import Texts
from driftline.tables.cells import Given
from driftline.tables.inputs import Array

_FLOAT64 = pa.float64()
_IN_A_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e6}  # nanoseconds are cut to microseconds, as in times


def as_numbers(values: Any) -> Array:
    """A column of numbers or booleans as float64, NaN where one is missing."""
    values = joined(values)
    if values.type == _FLOAT64:
        return to_numpy(values, np.float64, np.nan)
    if pa.types.is_duration(values.type):
        unit = values.type.unit
        fine = unit == "ns"
        spans = _microseconds(values, pa.duration("us")) if fine else to_numpy(values.cast(pa.int64()), np.int64, MISSING)
        return np.where(spans == MISSING, np.nan, spans / _IN_A_SECOND[unit])
    return to_numpy(values.cast(_FLOAT64, safe=False), np.float64, np.nan)


def as_texts(values: Any) -> Any:
    """A column as one array of strings."""
    values = joined(values)
    return values if pa.types.is_string(values.type) else values.cast(pa.string())


def joined(values: Any) -> Any:
    """A chunked column as one array, without a dictionary."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def as_moments(values: Any, *, local: bool = True) -> Array:
    """A column of times as microseconds since 1970 (clocks: since midnight); the least int64 where one is missing.

    Args:
        values: the column.
        local: use the local time of a zone, which repeats an hour when summer time ends; otherwise UTC.
    """
    values = joined(values)
    if local and zone_of(values) is not None:
        values = pc.local_timestamp(values)
    kind = pa.time64("us") if pa.types.is_time(values.type) else pa.timestamp("us")
    return _microseconds(values, kind)


def _microseconds(values: Any, kind: Any) -> Array:
    """Times or durations in microseconds, rounded down, as NumPy and Python do."""
    if getattr(values.type, "unit", None) != "ns":
        return to_numpy(values.cast(kind, safe=False), np.int64, MISSING)
    numbers = to_numpy(values, np.int64, MISSING)
    return np.where(numbers == MISSING, MISSING, numbers // 1000)


def zone_of(values: Any) -> str | None:
    """The time zone of a column."""
    return values.type.tz if pa.types.is_timestamp(values.type) else None


def as_coded(values: Any) -> Texts:
    """A column of text as codes and distinct values."""
    coded = as_texts(values).dictionary_encode()
    return Texts(to_numpy(coded.indices, np.int32, -1), coded.dictionary.to_pylist())


def as_given(values: Any, kind: str | None) -> Given:
    """A column as learners take it; ``kind`` is None if it has had no value so far."""
    kind = None if kind is None else kind.partition(" ")[0]
    absent = pa.types.is_null(values.type)
    if kind is None:
        return Given(None, np.empty(len(values)))
    if kind == kinds.TEXT:
        return Given(kind, as_coded(pa.nulls(len(values), pa.string()) if absent else values))
    if kind in (kinds.NUMBER, kinds.TRUTH):
        return Given(kinds.NUMBER, np.full(len(values), np.nan) if absent else as_numbers(values))
    return Given(kind, np.full(len(values), MISSING) if absent else as_moments(values))
