"""The columns of frames of any library, as narwhals sees them."""

from __future__ import annotations

from typing import Any

from driftline.tables import kinds


def columns(frame: Any) -> list[Any]:
    """The columns of a frame; Arrow columns of a pandas frame as Arrow has them.

    Before version 3, pandas drops the zone of times in an Arrow column where it should convert them to local time.
    """
    return [_column(column) for column in frame.iter_columns()]


def _column(column: Any) -> Any:
    import narwhals

    native = column.to_native()
    if hasattr(getattr(native, "dtype", None), "pyarrow_dtype"):
        import pyarrow

        return _column(narwhals.from_native(pyarrow.table({"": native.array}))[""])
    if str(getattr(native, "type", None)) == "time64[ns]":  # which Python's times cannot hold
        return narwhals.from_native(native.cast("time64[us]", safe=False), series_only=True)
    return column


def series(values: Any) -> Any:
    """Values of any library as a narwhals series; None if they are none."""
    import narwhals

    if type(values).__module__.startswith("pandas") and hasattr(values, "to_series"):  # an index
        values = values.to_series()
    elif type(values).__module__.startswith("pyarrow") and not hasattr(values, "combine_chunks"):
        import pyarrow

        values = pyarrow.chunked_array([values])
    found = narwhals.from_native(values, series_only=True, pass_through=True)
    return _column(found) if isinstance(found, narwhals.Series) else None


def kind_of(column: Any) -> str | None:
    """The kind of a column, from its type or, if that is ambiguous, from its first value; None if there is none."""
    import narwhals as nw

    kind = column.dtype
    if kind.is_numeric() or kind in (nw.Boolean, nw.Duration):
        return kinds.NUMBER
    for declared, name in {
        nw.String: kinds.TEXT, nw.Date: kinds.DATE, nw.Time: kinds.CLOCK, nw.Datetime: kinds.TIMESTAMP,
    }.items():  # fmt: skip
        if kind == declared:
            return name
    first = next((value for value in column.to_list() if not kinds.is_missing(value)), None)
    return None if first is None else kinds.of_value(first)
