"""Converts rows and models to values that pass through Spark quickly.

Spark passes rows to a stateful operator in Python one by one, which costs far more than learning them. So the rows of a
bucket are packed into one binary value, in Arrow's format, and unpacked in the operator. The state is text, because Spark
converts binary values to Python byte by byte, but text as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.tables.inputs import Array

BUCKET, HASH = "__driftline_bucket", "__driftline_hash"  # columns of the rows: where they go, and the hash of the key
NUMBER, PACKED = "bucket", "rows"  # no underscores: Spark renames such columns on their way to a stateful operator
SETTINGS = -1  # the number of a bucket without rows, which every batch visits

_AT_ONCE = 1 << 18  # rows that a task holds before it passes them on
_BITS = np.arange(7, dtype=np.uint8)[:, None]


def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A row for each bucket, with its number and its rows, and one for the bucket of the settings."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= _AT_ONCE:
            yield from _by_bucket(held)
            held = []
    yield from _by_bucket(held)


def _by_bucket(held: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    if not sum(map(len, held)):
        return
    table = pa.Table.from_batches(held)
    numbers = table.column(BUCKET).to_numpy()
    places = np.argsort(numbers, kind="stable")
    rows = table.drop_columns([BUCKET]).take(pa.array(places)).combine_chunks()
    found, starts = np.unique(numbers[places], return_index=True)
    ends = [*starts[1:].tolist(), len(numbers)]
    packed = [to_value(rows.slice(start, end - start)) for start, end in zip(starts.tolist(), ends, strict=True)]
    filled = [pa.array([*found.tolist(), SETTINGS], pa.int32()), pa.array([*packed, b""], pa.binary())]
    yield pa.RecordBatch.from_arrays(filled, names=[NUMBER, PACKED])


def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in each value."""
    for batch in batches:
        for value in batch.column(PACKED):
            yield from pa.ipc.open_stream(value.as_buffer())


def to_value(rows: pa.Table) -> bytes:
    """Rows as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    value: bytes = sink.getvalue().to_pybytes()
    return value


def in_order(values: Iterable[bytes], order: str) -> pa.RecordBatch:
    """All rows of several values as one batch, sorted by a column; missing values come last."""
    table = pa.concat_tables(pa.ipc.open_stream(value).read_all() for value in values)
    table = table.take(pc.sort_indices(table, sort_keys=[(order, "ascending")])).combine_chunks()
    return table.to_batches()[0]


def as_text(data: bytes) -> str:
    """Bytes as ASCII: the low seven bits of each byte, then the high bits of every seven bytes as one character."""
    values = np.frombuffer(data, np.uint8)
    padded = np.zeros((7, -(-len(values) // 7)), np.uint8)
    padded.ravel()[: len(values)] = values >> 7
    high = np.bitwise_or.reduce(padded << _BITS, axis=0)
    return np.concatenate([values & 127, high]).tobytes().decode("ascii")


def as_bytes(text: str) -> bytes:
    """Inverts :func:`as_text`."""
    values = np.frombuffer(text.encode("ascii"), np.uint8)
    count = len(values) * 7 // 8
    high: Array = (values[count:] >> _BITS << 7).ravel()[:count]
    return (values[:count] | high).tobytes()
