"""Reads user data (arrays, frames, streams, any iterable) as blocks of rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from driftline.base.rules import COUNT
from driftline.tables import inputs, kinds
from driftline.tables.block import RowBlock, as_block
from driftline.tables.inputs import ONE_LABEL, Array, Name

ARRAY_ROWS = 65_536  # rows of an array to replay at once
STREAM_ROWS = 16_384  # rows to draw from a stream at once
GATHERED = 1_024  # single rows to combine into a block

Pair = tuple[Any, Any]


@dataclass(frozen=True, eq=False)
class Block:
    """A block of rows: X is a table or a list of mappings; ``start`` is the index of the first row."""

    X: Any
    y: Array
    start: int

    def __len__(self) -> int:
        return len(self.y)

    @property
    def mappings(self) -> bool:
        """Whether the rows are mappings from names to numbers, not a table."""
        return isinstance(self.X, list)

    @cached_property
    def table(self) -> tuple[Array, list[Name]]:
        """The rows as one array, and the feature names, or their indices."""
        table = as_block(self.X, "evaluate")
        values = np.concatenate([block for _, block in table.blocks()])
        return values, table.names or list(range(table.columns))

    @cached_property
    def _special(self) -> Any:
        """The table, if it has columns of text or times."""
        table = as_block(self.X, "evaluate") if is_frame(self.X) or isinstance(self.X, RowBlock) else None
        return table if table is not None and table.special else None

    def rows(self, as_mappings: bool) -> list[Any]:
        """The rows one by one, as mappings if requested or if they are mappings."""
        if self.mappings:
            return list(self.X)
        if self._special is not None:
            found: list[Any] = self._special.mappings()
            return found
        if inputs.is_sparse(self.X) and not as_mappings:
            return [self.X[row] for row in range(len(self))]
        values, names = self.table
        if not as_mappings:
            return list(values)
        return [dict(zip(names, row, strict=True)) for row in values.tolist()]

    def lost(self) -> Array:
        """Which rows lack a feature or have a non-finite one."""
        if self.mappings or self._special is not None:
            return np.array([not all(map(_is_there, x.values())) for x in self.rows(as_mappings=True)])
        return np.asarray(~np.isfinite(self.table[0]).all(axis=1))


def _is_there(value: Any) -> bool:
    """Whether a feature has a value: a finite number, text or a time."""
    try:
        return kinds.is_special(value) or math.isfinite(inputs.as_number(value, "", ""))
    except (TypeError, ValueError):
        return False


class Source:
    """Any data as blocks of rows.

    Args:
        data: (X, y); a stream with ``blocks`` or ``take``; a dataset of River; or an iterable of (X, y) blocks or
            of (x, y) rows.
        rows: how many rows to read at most; needed for endless streams.
        where: the caller's name, for messages.
    """

    def __init__(self, data: Any, rows: int | None, where: str) -> None:
        self.data, self.where = data, where
        limit = COUNT.or_none().require(where, "rows", rows)
        self.pairs, known = self._open(limit)
        self.rows = known if limit is None else limit if known is None else min(known, limit)
        self.limit = limit

    def _open(self, limit: int | None) -> tuple[Iterable[Pair], int | None]:
        data = self.data
        if isinstance(data, tuple) and len(data) == 2:
            X, y = as_arrays(data, self.where)
            return [(X, y)], len(y)
        if is_dataset(data):
            if limit is None and data.n_samples is None:
                raise ValueError(f"{self.where}: give rows: {type(data).__name__} is endless")
            return gathered(data, self.where), data.n_samples
        if hasattr(data, "take"):
            length = getattr(data, "length", None)
            if limit is None and length is None:
                raise ValueError(f"{self.where}: give rows: {type(data).__name__} is endless")
            if not hasattr(data, "blocks"):
                return [data.take(limit or length)], None
            return data.blocks(STREAM_ROWS), length
        if hasattr(data, "blocks"):
            return data.blocks(STREAM_ROWS), getattr(data, "length", None)
        if isinstance(data, Iterable) and not isinstance(data, (str, bytes, Mapping)):
            return gathered(data, self.where), None
        raise TypeError(f"{self.where}: data must be (X, y), a stream, or an iterable of blocks or rows, got {type(data)}")

    def blocks(self, every: int | None = None, most: int = ARRAY_ROWS) -> Iterator[Block]:
        """The rows in blocks of at most ``most``; no block crosses a multiple of ``every``."""
        start = 0
        for pair in self.pairs:
            X, y = as_arrays(pair, self.where)
            done = 0
            while done < len(y):
                size = min(len(y) - done, most)
                if every is not None:
                    size = min(size, every - start % every)
                if self.limit is not None:
                    size = min(size, self.limit - start)
                    if size == 0:
                        return
                yield Block(cut(X, done, done + size), y[done : done + size], start)
                done, start = done + size, start + size
            if self.limit is not None and start >= self.limit:
                return  # without drawing more from an endless stream


def is_dataset(data: Any) -> bool:
    """Whether this is a River dataset: (mapping, label) pairs and their number, None if endless."""
    return hasattr(data, "n_samples") and hasattr(data, "task") and isinstance(data, Iterable)


def has_labels(data: Any) -> bool:
    """Whether a stream or a dataset says that its labels are classes."""
    return str(getattr(data, "task", "")).lower().endswith("classification")


def as_arrays(pair: Any, where: str) -> Pair:
    """A table or a list of mappings, with one label per row."""
    X, y = pair
    if isinstance(X, (list, tuple)) and len(X) and isinstance(X[0], Mapping):
        X = list(X)
    elif not isinstance(X, (np.ndarray, RowBlock)) and not is_frame(X):
        X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"{where}: y must have one dimension, got {labels.ndim}; {ONE_LABEL}")
    count = len(X) if isinstance(X, list) or not hasattr(X, "shape") else X.shape[0]
    if count != len(labels):
        raise ValueError(f"{where}: X has {count} rows, y has {len(labels)}")
    return X, labels


def is_frame(X: Any) -> bool:
    """Whether this is a pandas, polars or Arrow frame."""
    return not isinstance(X, RowBlock) and (hasattr(X, "columns") or hasattr(X, "column_names"))


def cut(X: Any, start: int, stop: int) -> Any:
    """Rows ``start`` to ``stop`` of a table."""
    if is_frame(X):
        import narwhals

        return narwhals.from_native(X, eager_only=True)[start:stop].to_native()
    return X[start:stop]


def gathered(items: Iterable[Any], where: str) -> Iterator[Pair]:
    """Blocks as they come; single rows are combined.

    >>> pairs = gathered([([1.0, 2.0], 3.0), ([4.0, 5.0], 6.0), (np.ones((5, 2)), np.ones(5))], "example")
    >>> [X.shape for X, y in pairs]
    [(2, 2), (5, 2)]
    """
    X: list[Any] = []
    y: list[Any] = []
    for item in items:
        if not isinstance(item, (tuple, list)) or len(item) != 2:
            raise TypeError(f"{where}: the iterable must give pairs, (X, y) blocks or (x, y) rows, got {type(item)}")
        x, label = item
        single = np.ndim(label) == 0
        if X and (not single or len(X) == GATHERED):
            yield _together(X), np.asarray(y)
            X, y = [], []
        if single:  # copied, since the producer may reuse the memory for the next row
            X.append(dict(x) if isinstance(x, Mapping) else np.array(x))
            y.append(label)
        else:
            yield x, label
    if X:
        yield _together(X), np.asarray(y)


def _together(rows: list[Any]) -> Any:
    return rows if isinstance(rows[0], dict) else np.stack(rows)
