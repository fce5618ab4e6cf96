"""Turns user input (arrays, frames, lists, mappings) into rows of numbers; errors name the place."""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from driftline.errors import warn

Array = npt.NDArray[Any]
Name = Hashable

BLOCK_ROWS = 65_536
_NAMELESS = "; text and times need columns with names: give a frame, or a mapping for each row"
ONE_LABEL = "use one model for each label"
_CLASSES = "; Classifier takes labels that are not numbers"
BLOCK_ELEMENTS = 2**18
BLOCK_OPERATIONS = 2**30
LIBRARIES = ("pandas", "polars", "pyarrow")  # libraries whose frames can be made, not only read


def rows_between_signals(columns: int, operations: int, multiple: int) -> int:
    """Rows that the core learns at a time, a multiple of ``multiple``: few enough to respond to interrupts soon."""
    rows = min(max(1024, BLOCK_ELEMENTS // columns), max(1, BLOCK_OPERATIONS // operations))
    return max(rows // multiple, 1) * multiple


def spell(value: float) -> str:
    """A bad number, as messages spell it."""
    return "NaN" if math.isnan(value) else "infinity" if math.isinf(value) else f"{value:g}"


def named(x: Any) -> Any:
    """The row; as a mapping if it is a labelled vector, such as a row of a pandas frame."""
    if not hasattr(type(x), "to_dict") or not hasattr(type(x), "index"):
        return x
    index = x.index
    return x.to_dict() if hasattr(index, "__iter__") and all(isinstance(name, str) for name in index) else x


def is_null(value: Any) -> bool:
    """Whether a value is None or pandas' NA."""
    pandas = sys.modules.get("pandas")
    return value is None or (pandas is not None and value is pandas.NA)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or pandas' NA or NaT."""
    return is_null(value) or (isinstance(value, Hashable) and bool(value != value))


def as_array(values: Any, where: str, what: str) -> Array:
    """Converts whatever NumPy can read; masked values become missing."""
    try:
        if isinstance(values, np.ma.MaskedArray):
            return np.ma.filled(values.astype(np.float64), np.nan)
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{where}: {what} cannot be read as an array: {error}") from error


def as_numbers(values: Array, where: str, what: str) -> Array:
    """Values as float64 or float32; refuses text, objects and complex numbers, and names the place."""
    if values.dtype in (np.float64, np.float32) and values.dtype.isnative:
        return values if values.flags.aligned else values.copy()
    if values.dtype.kind == "c":
        raise ValueError(f"{where}: Complex data not supported, {what} has dtype {values.dtype}")
    if values.dtype.kind in "biuf":
        with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinity, and is refused
            return values.astype(np.float64)
    if values.dtype.kind != "O":
        hint = (_CLASSES if what == "y" else _NAMELESS if what in ("x", "X") else "") if values.dtype.kind in "UTSM" else ""
        raise ValueError(f"{where}: {what} must hold numbers, got dtype {values.dtype}{hint}")
    out = np.empty(values.shape)
    for place, value in np.ndenumerate(values):
        at = what + "".join(f"[{i}]" for i in place)
        if isinstance(value, str) and what in ("x", "X"):
            raise ValueError(f"{where}: {at} must be a number, got {value!r}{_NAMELESS}")
        out[place] = as_number(value, where, at)
    return out


def as_number(value: Any, where: str, what: str) -> float:
    """One number, NaN if it is missing; raises ValueError or TypeError if it is not a number."""
    if type(value) is float:
        return value
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if is_null(value):
        return math.nan
    if isinstance(value, (str, bytes)):
        raise ValueError(f"{where}: {what} must be a number, got {value!r}{_CLASSES if what[:1] == 'y' else ''}")
    if isinstance(value, numbers.Complex) and not isinstance(value, numbers.Real):
        raise ValueError(f"{where}: Complex data not supported, {what} is {value!r}")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise _kind(error)(f"{where}: {what} must be a number: {error}") from None


def _kind(error: Exception) -> type[Exception]:
    return TypeError if isinstance(error, TypeError) else ValueError


class Table:
    """Rows of numbers with their names, handed out in blocks of float64 or float32.

    ``library`` is the library of the frame that holds the rows, if driftline can make its frames too.
    """

    library: str | None = None

    def __init__(self, values: Any, rows: int, columns: int, names: list[Name] | None, where: str) -> None:
        self.rows, self.columns, self.names = rows, columns, names
        self._values, self._where = values, where
        if rows < 1:
            raise ValueError(f"{where}: X has 0 sample(s) (shape=({rows}, {columns})) while a minimum of 1 is required.")
        if columns < 1:
            raise ValueError(f"{where}: X has 0 feature(s) (shape=({rows}, 0)) while a minimum of 1 is required.")

    def block(self, start: int, stop: int) -> Array:
        """Rows ``start`` to ``stop`` as numbers."""
        return as_numbers(np.asarray(self._values[start:stop]), self._where, "X")

    def blocks(self, at_most: int | None = None) -> Iterator[tuple[int, Array]]:
        """All rows: an array of floats at once, anything that needs conversion in pieces."""
        whole = isinstance(self._values, np.ndarray) and self._values.dtype in (np.float64, np.float32)
        step = self.rows if whole and at_most is None else at_most or BLOCK_ROWS
        for start in range(0, self.rows, step):
            yield start, self.block(start, min(start + step, self.rows))


class FrameTable(Table):
    """A frame of any library that narwhals knows."""

    def __init__(self, frame: Any, names: list[Name] | None, where: str) -> None:
        super().__init__(frame, len(frame), len(frame.columns), names, where)
        self.library = library_of(frame)

    @property
    def frame(self) -> Any:
        """The frame, as narwhals sees it."""
        return self._values

    def block(self, start: int, stop: int) -> Array:
        """Rows ``start`` to ``stop`` as numbers."""
        columns = [
            as_numbers(values, self._where, f"column {name!r}")
            for name, values in zip(self._values.columns, self.columns_of(start, stop), strict=True)
        ]
        return np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)

    def columns_of(self, start: int, stop: int) -> list[Array]:
        """The same rows by column, not converted."""
        return [np.asarray(column.to_numpy()) for column in self._values[start:stop].iter_columns()]


def library_of(frame: Any) -> str | None:
    """The library of a narwhals frame, if driftline can make its frames; None otherwise."""
    name = str(frame.implementation.value)
    return name if name in LIBRARIES else None


def is_sparse(values: Any) -> bool:
    """Whether this is a matrix or array of scipy.sparse. Does not import SciPy."""
    return hasattr(type(values), "tocsr")


def as_table(X: Any, where: str) -> Table:
    """A two-dimensional table from an array, a frame, or anything that NumPy can read."""
    if isinstance(X, Table):
        return X
    if type(X) is not np.ndarray:
        if is_sparse(X):
            raise TypeError(f"{where}: X is a sparse matrix; this learner takes dense rows, e.g. X.toarray()")
        if hasattr(type(X), "columns") or hasattr(type(X), "column_names"):
            return _frame_table(X, where)
        X = as_array(X, where, "X")
    if X.ndim != 2:
        shape = ": X[None, :] for one row, X[:, None] for one feature" if X.ndim == 1 else " to one row for each label"
        hint = f" Reshape your data{shape}."
        raise ValueError(f"{where}: X must have two dimensions, got {X.ndim}.{hint}")
    return Table(X, X.shape[0], X.shape[1], None, where)


def _frame_table(X: Any, where: str) -> FrameTable:
    import narwhals

    try:
        frame = narwhals.from_native(X, eager_only=True)
        names: list[Name] | None = list(frame.columns)
    except Exception as error:  # an object that looks like a frame may raise anything
        raise _kind(error)(f"{where}: X cannot be read as a frame: {error}") from error
    if not all(isinstance(name, str) for name in frame.columns):
        names = None
    return FrameTable(frame, names, where)


def as_vector(values: Any, rows: int, where: str, what: str) -> Array:
    """A vector with one float64 for each row."""
    if values is None:
        raise ValueError(f"{where}: {what} is missing: it requires {what} to be passed, but the target {what} is None")
    vector = as_array(values, where, what)
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


def as_row(x: Any, where: str) -> Array:
    """One row from a one-dimensional array-like."""
    if is_sparse(x):
        raise TypeError(f"{where}: x is a sparse row; this learner takes dense rows, e.g. x.toarray().ravel()")
    row = as_array(x, where, "x")
    if row.ndim != 1:
        hint = "a row is a sequence of numbers, [x] for one" if row.ndim == 0 else "run, predict and fit take several rows"
        raise ValueError(f"{where}: x must have one dimension, got {row.ndim}; {hint}")
    if row.size == 0:
        raise ValueError(f"{where}: x is empty")
    return np.asarray(as_numbers(row, where, "x"), dtype=np.float64)


def as_items(x: Mapping[Name, Any], where: str) -> dict[Name, float]:
    """A mapping's numbers by name."""
    return {name: value if type(value) is float else as_number(value, where, f"x[{name!r}]") for name, value in x.items()}
