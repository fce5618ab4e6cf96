"""Converts keys to plain Python objects, so that equal keys from different libraries are one key."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Set
from typing import Any

import numpy as np

from driftline.tables import frames
from driftline.tables.inputs import Array

Key = Hashable

_PLAIN = {str, int, float, bool, bytes, tuple, frozenset, type(None)}
_LISTING = ("to_pylist", "tolist", "to_list")  # of Arrow, NumPy and pandas, polars


def as_keys(keys: Any, rows: int, where: str) -> list[Key]:
    """One key for each row; a tuple for each row of a frame with several columns."""
    if hasattr(type(keys), "columns"):
        return _of_frame(keys, rows, where)
    if isinstance(keys, (str, bytes)) or not isinstance(keys, Iterable):
        raise TypeError(f"{where}: keys must hold one key for each row, got {keys!r}")
    if isinstance(keys, (Set, Mapping)):
        raise TypeError(
            f"{where}: keys must be a sequence or a column, in the order of the rows, got a {type(keys).__name__}"
        )
    found = _listed(keys)
    if not isinstance(found, list) or len(found) != rows:
        raise ValueError(f"{where}: X has {rows} rows, keys has {len(found) if isinstance(found, list) else 'none'}")
    return found


def _of_frame(frame: Any, rows: int, where: str) -> list[Key]:
    import narwhals

    columns = frames.columns(narwhals.from_native(frame, eager_only=True))
    if not columns:
        raise ValueError(f"{where}: keys is a frame without columns")
    found = [as_keys(column.to_native(), rows, where) for column in columns]
    return found[0] if len(found) == 1 else list(zip(*found, strict=True))


def as_key(key: Any) -> Key:
    """One key; a scalar of NumPy, Arrow or pandas becomes a plain Python object, a row of a frame a tuple."""
    if type(key) in _PLAIN:
        return key  # type: ignore[no-any-return]
    if isinstance(key, np.generic):
        return _time(key) if key.dtype.kind in "mM" else key.item()  # type: ignore[no-any-return]
    if hasattr(key, "as_py"):
        return as_key(key.as_py())
    if getattr(key, "nanoseconds", getattr(key, "nanosecond", 0)) and getattr(key, "tzinfo", None) is None:
        return key.to_numpy()  # type: ignore[no-any-return]
    return key  # type: ignore[no-any-return]


def is_missing(key: Key) -> bool:
    """Whether a key is or holds None, NaN or a frame's missing value, which is not equal to itself or cannot be compared."""
    if type(key) is tuple:
        return any(map(is_missing, key))
    try:
        return key is None or bool(key != key)
    except TypeError:
        return True


def _listed(keys: Any) -> Any:
    if isinstance(keys, np.ndarray) and keys.dtype.kind in "mM":
        return _times(keys)
    way = next((way for way in _LISTING if hasattr(keys, way)), None)
    found = list(keys) if way is None else getattr(keys, way)()
    return found if not isinstance(found, list) or _PLAIN.issuperset(map(type, found)) else [as_key(key) for key in found]


def _times(keys: Array) -> Any:
    """Dates, datetimes or timedeltas, which equal pandas' types; times finer than a microsecond stay NumPy's."""
    coarse = _coarse(keys)
    exact = coarse == keys
    return coarse.tolist() if (exact | np.isnat(keys)).all() else [_time(key) for key in keys]


def _time(key: Any) -> Any:
    coarse = _coarse(key)
    return coarse.item() if coarse == key or np.isnat(key) else key.astype(f"{key.dtype.kind}8[ns]")


def _coarse(times: Any) -> Any:
    unit = np.datetime_data(times.dtype)[0]
    return times.astype(f"{times.dtype.kind}8[us]") if unit in ("ns", "ps", "fs", "as") else times
