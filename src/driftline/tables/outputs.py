"""Turns columns of numbers into a frame of the user's library."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from driftline.tables.inputs import LIBRARIES, library_of


def library_of_series(values: Any) -> str | None:
    """The library of a series of pandas, polars or Arrow; None for anything else."""
    import narwhals

    series = narwhals.from_native(values, series_only=True, pass_through=True)
    return library_of(series) if isinstance(series, narwhals.Series) else None


def as_frame(columns: Mapping[str, Any], like: Any, held: str | None, where: str) -> Any:
    """A frame with these columns.

    Args:
        columns: columns by name, all of the same length: arrays, or series of any of these libraries.
        like: a library's name, or a frame of it; the index of a pandas frame is kept. None to choose.
        held: the library to use if ``like`` is None; None for the first that is imported, or installed.
        where: the caller's name, for messages.
    """
    import narwhals

    library: Any = _library(like, where) if like is not None else held or _available(where)
    fits = {
        name: part if library_of_series(part) in (None, library) else narwhals.from_native(part, series_only=True).to_list()
        for name, part in columns.items()
    }
    frame = narwhals.from_dict(fits, backend=library).to_native()
    index = getattr(like, "index", None)
    if library == "pandas" and index is not None and not isinstance(like, str):
        if len(index) != len(frame):
            raise ValueError(f"{where}: like has {len(index)} rows instead of {len(frame)}")
        frame.index = index
    return frame


def _library(like: Any, where: str) -> str:
    import narwhals

    name = like
    if not isinstance(like, str):
        try:
            name = library_of(narwhals.from_native(like, eager_only=True))
        except TypeError:
            name = None
    if name not in LIBRARIES:
        raise ValueError(f"{where}: like must be a frame of {', '.join(LIBRARIES)}, or one of these names, got {like!r}")
    if find_spec(name) is None:
        raise ImportError(f"{where}: {name} is not installed")
    return str(name)


def _available(where: str) -> str:
    """The first library that is imported, or else installed."""
    for there in (sys.modules.__contains__, find_spec):
        for name in LIBRARIES:
            if there(name):
                return name
    raise ImportError(f"{where}: a frame needs {', '.join(LIBRARIES[:-1])} or {LIBRARIES[-1]}; none of them is installed")
