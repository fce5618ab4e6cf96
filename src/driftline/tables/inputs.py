"""Turns user input (arrays, frames, lists, mappings) into rows of numbers; errors name the place."""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Hashable, Iterable, Mapping
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from driftline.errors import warn
from driftline.tables import kinds

Array = npt.NDArray[Any]
Name = Hashable

BLOCK_ROWS = 65_536
_NAMELESS = "; text and times need columns with names: give a frame, or a mapping for each row"
ONE_LABEL = "use one model for each label"
_CLASSES = "; Classifier takes labels that are not numbers"
BLOCK_ELEMENTS = 2**18
BLOCK_OPERATIONS = 2**30
CONVERTED = 2**22  # numbers, about as many as are converted at a time
WIDEST_DENSE = 4096  # columns of a sparse matrix that is made dense
_MICROSECOND = timedelta(microseconds=1)
LIBRARIES = ("pandas", "polars", "pyarrow")  # libraries whose frames can be made, not only read


def rows_between_signals(columns: int, operations: int, multiple: int) -> int:
    """Rows that the core learns at a time, a multiple of ``multiple``: few enough to respond to interrupts soon."""
    rows = min(max(1024, BLOCK_ELEMENTS // columns), max(1, BLOCK_OPERATIONS // operations))
    return max(rows // multiple, 1) * multiple


def rows_to_convert(columns: int) -> int:
    """Rows that are converted at a time."""
    return min(BLOCK_ROWS, max(1, CONVERTED // max(columns, 1)))


def spell(value: float) -> str:
    """A bad number, as messages spell it."""
    return "NaN" if math.isnan(value) else "infinity" if math.isinf(value) else f"{value:g}"


def named(x: Any) -> Any:
    """The row; as a mapping if it is a labelled vector, such as a row of a pandas frame.

    Labels are names if all of them are text, or if a value is text or a time: such columns need names.
    """
    if is_sparse(x):
        return x if x.format != "dok" else x.tocsr()  # which is a dict too
    if not hasattr(type(x), "to_dict") or not hasattr(x, "index") or not hasattr(x.index, "__iter__") or x.ndim != 1:
        return x
    return x.to_dict() if all(isinstance(name, str) for name in x.index) or any(map(kinds.is_special, x)) else x


def as_array(values: Any, where: str, what: str) -> Array:
    """Converts whatever NumPy can read; masked values become missing."""
    if is_sparse(values):
        raise ValueError(f"{where}: {what} is a sparse matrix; give {what}.toarray().ravel()")
    try:
        if isinstance(values, np.ma.MaskedArray):
            return np.ma.filled(values.astype(np.float64), np.nan)
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{where}: {what} cannot be read as an array: {error}") from error


def as_numbers(values: Array, where: str, what: str, start: int = 0) -> Array:
    """Values as float64 or float32, durations in seconds; refuses text, objects and complex numbers, and names the place.

    Args:
        values: the values.
        where: the caller's name, for messages.
        what: how messages refer to the values.
        start: the number of the first one, for messages.
    """
    if values.dtype in (np.float64, np.float32) and values.dtype.isnative:
        return values if values.flags.aligned else values.copy()
    if values.dtype.kind == "c":
        raise ValueError(f"{where}: Complex data not supported, {what} has dtype {values.dtype}")
    if values.dtype.kind in "biuf":
        with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinity, and is refused
            return values.astype(np.float64)
    if values.dtype.kind == "m":
        if np.datetime_data(values.dtype)[0] == "generic" and not np.isnat(values).all():
            raise ValueError(f"{where}: {what} has a duration without a unit; give one, as in np.timedelta64(5, 's')")
        return np.where(np.isnat(values), np.nan, values.astype("timedelta64[us]").astype(np.int64) / 1e6)
    if values.dtype.kind != "O":
        hint = (_CLASSES if what == "y" else _NAMELESS if what in ("x", "X") else "") if values.dtype.kind in "UTSM" else ""
        raise ValueError(f"{where}: {what} must hold numbers, got dtype {values.dtype}{hint}")
    out = np.empty(values.shape)
    for place, value in np.ndenumerate(values):
        at = what + "".join(f"[{i}]" for i in (place[0] + start, *place[1:]))
        if what in ("x", "X") and kinds.is_special(value):
            raise ValueError(f"{where}: {at} must be a number, got {value!r}{_NAMELESS}")
        out[place] = as_number(value, where, at)
    return out


def as_number(value: Any, where: str, what: str) -> float:
    """One number, NaN if it is missing, a duration in seconds; raises ValueError or TypeError if it is not a number."""
    if type(value) is float:
        return value
    if isinstance(value, np.timedelta64):
        return float(as_numbers(np.asarray(value), where, what))
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if kinds.is_missing(value):
        return math.nan
    if isinstance(value, timedelta):
        return float(value // _MICROSECOND) / 1e6
    if isinstance(value, (str, bytes)):
        raise ValueError(f"{where}: {what} must be a number, got {value!r}{_CLASSES if what[:1] == 'y' else ''}")
    if isinstance(value, numbers.Complex) and not isinstance(value, numbers.Real):
        raise ValueError(f"{where}: Complex data not supported, {what} is {value!r}")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise kind_of_error(error)(f"{where}: {what} must be a number: {error}") from None


def kind_of_error(error: Exception) -> type[Exception]:
    """The kind of error to raise instead of one from a conversion."""
    return TypeError if isinstance(error, TypeError) else ValueError


def to_be_dense(X: Any, where: str, what: str) -> Any:
    """A sparse matrix as CSR; raises ValueError if it is too wide to be made dense, or invalid."""
    if X.shape[-1] > WIDEST_DENSE:
        raise ValueError(
            f"{where}: {what} is a sparse matrix with {X.shape[-1]:,} columns, and at most {WIDEST_DENSE:,} are made dense; "
            "use LMS, NLMS, GD, EG or SparseDFOP, which take sparse rows of any width, put features.Hashing in front, or "
            f"give {what}.toarray()"
        )
    rows = X.tocsr()
    try:
        rows.check_format(full_check=True)  # because toarray trusts the indices
    except ValueError as error:
        raise ValueError(f"{where}: {what} is not a valid sparse matrix: {error}") from None
    return rows


def library_of(frame: Any) -> str | None:
    """The library of a narwhals frame, if driftline can make its frames; None otherwise."""
    name = str(frame.implementation.value)
    return name if name in LIBRARIES else None


def is_sparse(values: Any) -> bool:
    """Whether this is a matrix or array of scipy.sparse. Does not import SciPy."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(values))


def as_vector(values: Any, rows: int, where: str, what: str) -> Array:
    """A vector with one float64 for each row."""
    if values is None:
        raise ValueError(f"{where}: {what} is missing: it requires {what} to be passed, but the target {what} is None")
    vector = values if type(values) is np.ndarray else as_array(values, where, what)
    if vector.ndim == 2 and vector.shape[1] == 1:
        warn_of_column(where, what)
        vector = vector[:, 0]
    if vector.ndim != 1:
        hint = f", {vector.shape[1]} in a row, where one is expected" if vector.ndim == 2 else ""
        hint += f"; {ONE_LABEL}" if vector.ndim == 2 and what == "y" else ""
        raise ValueError(f"{where}: {what} must have one dimension, got {vector.ndim}{hint}")
    if vector.shape[0] != rows:
        raise ValueError(f"{where}: X has {rows} rows, {what} has {vector.shape[0]}")
    return np.ascontiguousarray(as_numbers(vector, where, what), dtype=np.float64)


def as_labels(values: Any, rows: int, where: str) -> Array:
    """An array with several float64 for each row."""
    table = as_array(values, where, "y")
    if table.shape[0] != rows:
        raise ValueError(f"{where}: X has {rows} rows, y has {table.shape[0]}")
    return np.ascontiguousarray(as_numbers(table, where, "y"), dtype=np.float64)


def warn_of_column(where: str, what: str) -> None:
    """Warns, in scikit-learn's words, that a column was given instead of a vector."""
    exceptions = sys.modules.get("sklearn.exceptions")
    category = UserWarning if exceptions is None else exceptions.DataConversionWarning
    message = f"A column-vector {what} was passed when a 1d array was expected ({where})"
    warn(message, category)


def as_weights(values: Any, rows: int, where: str, number: bool = True) -> Array | None:
    """Sample weights, finite and not negative; a scalar applies to every row. Messages number rows if ``number``."""
    if values is None:
        return None
    if isinstance(values, numbers.Real):
        values = np.full(rows, as_number(values, where, "sample_weight"))
    weights = as_vector(values, rows, where, "sample_weight")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        place = f" in row {bad[0]}" if number else ""
        raise ValueError(f"{where}: sample_weight must be in [0, inf), got {weights[bad[0]]:g}{place}")
    return weights


def as_row(x: Any, where: str, *, empty: bool = False) -> Array:
    """One row from a one-dimensional array-like, which may have no values if ``empty``."""
    if type(x) is np.ndarray:
        row = x
    else:
        row = as_array(to_be_dense(refuse_rows(x, where), where, "x").toarray().ravel() if is_sparse(x) else x, where, "x")
    if row.ndim != 1:
        hint = "a row is a sequence of numbers, [x] for one" if row.ndim == 0 else "run, predict and fit take several rows"
        raise ValueError(f"{where}: x must have one dimension, got {row.ndim}; {hint}")
    if row.size == 0 and not empty:
        raise ValueError(f"{where}: x is empty")
    return np.asarray(as_numbers(row, where, "x"), dtype=np.float64)


def refuse_rows(x: Any, where: str) -> Any:
    """The sparse row; raises ValueError if it is not one row."""
    if x.ndim == 2 and x.shape[0] != 1:
        raise ValueError(f"{where}: x must be one row, got the shape {x.shape}")
    return x


def as_names(names: Iterable[Name], where: str) -> Iterable[Name]:
    """Names of features; raises ValueError for NaN and the like, which would be a new name in every row."""
    for name in names:
        if _equals_no_other(name):
            raise ValueError(f"{where}: x has the name {name!r}, which equals no other; give text, or leave the feature out")
    return names


def _equals_no_other(name: Any) -> bool:
    """Whether a name is NaN or the like, or holds one."""
    if isinstance(name, (tuple, frozenset)):
        return any(map(_equals_no_other, name))
    return name is not None and kinds.is_missing(name)


def as_items(x: Mapping[Name, Any], where: str) -> dict[Name, float]:
    """A mapping's numbers by name."""
    return {name: value if type(value) is float else as_number(value, where, f"x[{name!r}]") for name, value in x.items()}
