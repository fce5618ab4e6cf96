"""Converts between Arrow and NumPy arrays through their buffers; pyarrow's own conversions import pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from driftline.tables.inputs import Array


def to_numpy(values: Any, dtype: Any, missing: Any) -> Array:
    """The numbers of an Arrow array whose type has the same layout; nulls become ``missing``.

    >>> to_numpy(pa.array([1.5, None, 2.5])[1:], np.float64, np.nan).tolist()
    [nan, 2.5]
    """
    validity, data = values.buffers()
    begin, end = values.offset, values.offset + len(values)
    if data is None or not len(values):
        return np.full(len(values), missing, dtype=dtype)
    numbers = np.frombuffer(data, dtype=dtype, count=end)[begin:]
    if values.null_count == 0:
        return numbers
    bits = np.unpackbits(np.frombuffer(validity, dtype=np.uint8), count=end, bitorder="little")[begin:]
    return np.where(bits.astype(bool), numbers, np.asarray(missing, dtype=dtype))


def from_numpy(values: Array, zone: str | None = None) -> Any:
    """Numbers, times or texts as an Arrow array; NaN and NaT become null. Times with a zone are in UTC.

    >>> from_numpy(np.array([1.5, np.nan])).to_pylist()
    [1.5, None]
    """
    if values.dtype.kind == "O":
        return pa.array(values.tolist(), pa.string())
    if values.dtype.kind == "M":
        unit = np.datetime_data(values.dtype)[0]
        kind, known, plain = pa.timestamp(unit, tz=zone), ~np.isnat(values), values.astype(np.int64)
    elif values.dtype.kind == "i":
        kind, known, plain = pa.int64(), None, values.astype(np.int64, copy=False)
    else:
        kind, known, plain = pa.float64(), ~np.isnan(values), np.asarray(values, dtype=np.float64)
    data = pa.py_buffer(np.ascontiguousarray(plain))
    if known is None or known.all():
        return pa.Array.from_buffers(kind, len(values), [None, data], 0)
    bits = pa.py_buffer(np.packbits(known, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [bits, data])
