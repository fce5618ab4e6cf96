"""Reads user data (arrays, frames, streams, any iterable) as blocks of rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from typing import Any

import numpy as np

from driftline.base.rules import COUNT
from driftline.tables import inputs, kinds
from driftline.tables.block import MAPPINGS, SPARSE, RowBlock, as_block
from driftline.tables.inputs import ONE_LABEL, Array, Name

ARRAY_ROWS = 65_536  # rows of an array to replay at once
STREAM_ROWS = 16_384  # rows to draw from a stream at once
GATHERED = 1_024  # single rows to combine into a block

Pair = tuple[Any, Any]


def single_rows(block: RowBlock, as_mappings: bool) -> list[Any]:
    """The rows one by one, as mappings if requested, or if they are mappings or hold text or times."""
    if block.kind == MAPPINGS or block.special:
        return block.mappings()
    if block.kind == SPARSE and not as_mappings:
        return [block.values[row] for row in range(len(block))]
    values, names = as_table(block)
    return [dict(zip(names, row, strict=True)) for row in values.tolist()] if as_mappings else list(values)


def as_table(block: RowBlock) -> tuple[Array, list[Name]]:
    """The rows as one array, and the feature names, or their indices."""
    values = np.concatenate([rows for _, rows in block.blocks()])
    return values, block.names or list(range(block.columns))


def lost(block: RowBlock) -> Array:
    """Which rows lack a feature or have a non-finite one."""
    if block.kind == MAPPINGS or block.special:
        return np.array([not all(map(_is_there, x.values())) for x in block.mappings()])
    return np.asarray(~np.isfinite(as_table(block)[0]).all(axis=1))


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

    def _open(self, limit: int | None) -> tuple[Iterable[Pair | RowBlock], int | None]:
        data = self.data
        if isinstance(data, tuple) and len(data) == 2:
            return [as_rows(data, self.where)], len(data[1])
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

    def blocks(self, every: int | None = None, most: int = ARRAY_ROWS) -> Iterator[RowBlock]:
        """The rows with their labels in blocks of at most ``most``; no block crosses a multiple of ``every``."""
        start = 0
        for pair in self.pairs:
            rows = pair if isinstance(pair, RowBlock) else as_rows(pair, self.where)
            done = 0
            while done < len(rows):
                size = min(len(rows) - done, most)
                if every is not None:
                    size = min(size, every - start % every)
                if self.limit is not None:
                    size = min(size, self.limit - start)
                    if size == 0:
                        return
                block = rows[done : done + size]
                block.start, block.kept = start, {}
                yield block
                done, start = done + size, start + size
            if self.limit is not None and start >= self.limit:
                return  # without drawing more from an endless stream


def is_dataset(data: Any) -> bool:
    """Whether this is a River dataset: (mapping, label) pairs and their number, None if endless."""
    return hasattr(data, "n_samples") and hasattr(data, "task") and isinstance(data, Iterable)


def has_labels(data: Any) -> bool:
    """Whether a stream or a dataset says that its labels are classes."""
    return str(getattr(data, "task", "")).lower().endswith("classification")


def as_rows(pair: Any, where: str) -> RowBlock:
    """A table or a list of mappings, with one label per row."""
    X, y = pair
    if _is_empty(X):
        block = RowBlock([], MAPPINGS, where=where)
    elif isinstance(X, (list, tuple)) and isinstance(X[0], Mapping):
        block = RowBlock(list(X), MAPPINGS, where=where)
    elif hasattr(X, "tocsr"):
        block = RowBlock(X.tocsr(), SPARSE, where=where)
    else:
        block = as_block(X, where)
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"{where}: y must have one dimension, got {labels.ndim}; {ONE_LABEL}")
    if len(block) != len(labels):
        raise ValueError(f"{where}: X has {len(block)} rows, y has {len(labels)}")
    block = copy(block)
    block.labels = labels
    return block


def _is_empty(X: Any) -> bool:
    shape = getattr(X, "shape", None)
    return shape[0] == 0 if shape else hasattr(X, "__len__") and not len(X)


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
