"""Output of predictions. Until a file is complete, its rows are in a temporary file; see ``storage.atomic``."""

from __future__ import annotations

import hashlib
import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from driftline.cli import standard_output
from driftline.cli.options import STDOUT
from driftline.files.buffers import from_numpy
from driftline.storage import atomic
from driftline.tables.inputs import Array

PARQUET = ".parquet"
TAIL = 1024  # bytes at the end of the output, which identify it
GONE = (
    "does not hold the predictions that it held when the state was saved: it was removed, replaced or changed. "
    "Give the same --out, or run without --resume"
)


class OutputError(Exception):
    """An output that cannot be resumed."""


@dataclass(frozen=True)
class Mark:
    """Identifies an output when a run is resumed, even if it was moved.

    Attributes:
        length: its length at the last save.
        end: a digest of its tail.
        token: the token in the temporary file's name, fixed for the whole run.
    """

    length: int = 0
    end: str = ""
    token: str = field(default_factory=atomic.new_token)

    def __post_init__(self) -> None:
        if not atomic.is_token(self.token):
            raise OutputError(f"the state is damaged: {self.token!r} cannot be part of a file's name")


def as_table(columns: dict[str, Array], zone: str | None = None) -> Any:
    """Columns of numbers and times as a table; NaN becomes null. Times with a zone are in UTC."""
    return pa.table({name: from_numpy(values, zone) for name, values in columns.items()})


class Output:
    """Takes predictions, block by block. The base class discards them."""

    def write(self, columns: dict[str, Array], zone: str | None = None) -> None:
        """Appends rows; ``zone`` is the time zone of their times, which are then in UTC."""

    def sync(self) -> Mark:
        """Makes everything written so far durable, and returns what identifies it."""
        return Mark()

    def place(self) -> None:
        """Moves the finished file into place."""

    def discard(self) -> None:
        """Removes everything that was written."""

    def abandon(self) -> None:
        """Keeps the file, for a run that resumes from the state."""


class Standard(Output):
    """The standard output; rows are printed as they come."""

    def __init__(self, ending: str, headed: bool) -> None:
        self.ending, self.headed = ending, headed

    def write(self, columns: dict[str, Array], zone: str | None = None) -> None:
        """Prints rows immediately."""
        standard_output.write(as_lines(columns, self.ending, header=not self.headed, zone=zone))
        self.headed = True


class Part(Output, ABC):
    """A file that is written under a temporary name until it is complete.

    Args:
        path: the final path.
        mark: identifies the file of an earlier run; None to start over.
    """

    def __init__(self, path: Path, mark: Mark | None) -> None:
        self.path = path
        self.file: BinaryIO | None = None
        self.mark = mark or Mark()
        self.part = atomic.temporary(path, self.mark.token)
        if self.saved_length and not self._is_there():  # checked before anything is changed
            raise OutputError(f"{self.path}: {GONE}")

    @property
    def saved_length(self) -> int:
        """The length of the file at the last save."""
        return self.mark.length

    def _is_there(self) -> bool:
        there = self.part if self.part.exists() else self.path
        if not there.is_file() or there.stat().st_size < self.saved_length:
            return False
        with open(there, "rb") as file:
            return _tail(file, self.saved_length) == self.mark.end

    def _open(self) -> BinaryIO:
        if self.file is None:
            if self.saved_length:
                if not self.part.exists():
                    self._take_back()
                self.file = atomic.reopen(self.part)
                self._rewind(self.file)
            else:
                self.file = atomic.create(self.part)
            atomic.sweep(self.path)
        return self.file

    def _take_back(self) -> None:
        os.replace(self.path, self.part)

    def _rewind(self, file: BinaryIO) -> None:
        """Truncates the file to the last save."""
        file.truncate(self.saved_length)
        file.seek(self.saved_length)

    def write(self, columns: dict[str, Array], zone: str | None = None) -> None:
        """Appends rows."""
        with atomic.naming(self.path):
            self._append(self._open(), columns, zone)

    @abstractmethod
    def _append(self, file: BinaryIO, columns: dict[str, Array], zone: str | None) -> None:
        """Writes rows at the end of the file."""

    def sync(self) -> Mark:
        """Makes sure that everything so far is on disk, and returns what identifies it."""
        if self.file is not None:
            with atomic.naming(self.path):
                self._flush(self.file)
            self.mark = self._marked(self.file)
        return self.mark

    def _flush(self, file: BinaryIO) -> None:
        atomic.sync(file)

    def _marked(self, file: BinaryIO) -> Mark:
        return replace(self.mark, length=file.tell(), end=_tail(file, file.tell()))

    def place(self) -> None:
        """Moves the finished file into place."""
        if self.file is not None or self.part.exists() or not self.saved_length:
            with atomic.naming(self.path):
                file = self._open()
                self._end()
                self.sync()
                self._move()
                file.close()
        atomic.sweep(self.path)

    def _end(self) -> None:
        """Writes the end of the format, after the last row."""

    def _move(self) -> None:
        os.replace(self.part, self.path)

    def discard(self) -> None:
        """Removes everything that was written."""
        if self.file is not None:
            self.part.unlink(missing_ok=True)
        self.abandon()

    def abandon(self) -> None:
        """Keeps the file, for a run that resumes from the state. Does not retry a write that failed on a full disk."""
        if self.file is not None:
            for close in (self._end, self.file.close):
                with suppress(OSError, ValueError):
                    close()


class TextFile(Part):
    """CSV or JSON lines."""

    def _append(self, file: BinaryIO, columns: dict[str, Array], zone: str | None) -> None:
        file.write(as_lines(columns, self.path.suffix.lower(), header=file.tell() == 0, zone=zone))
        file.flush()  # for programs that watch the file


class ParquetFile(Part):
    """Parquet cannot be appended to, so rows wait in the temporary file as Arrow streams, one for each save.

    Its length is counted in rows. :meth:`place` turns it into Parquet.
    """

    writer: Any = None
    rows = 0
    last = ""  # the last row, as text

    def _append(self, file: BinaryIO, columns: dict[str, Array], zone: str | None) -> None:
        table = as_table(columns, zone)
        if self.writer is None:
            self.writer = pa.ipc.new_stream(file, table.schema)
        self.writer.write_table(table)
        self.rows += len(table)
        self.last = _row(table, -1)

    def _is_there(self) -> bool:
        if self.part.exists() and _end_of(self.part, self.saved_length) is None:
            return False
        try:
            with pyarrow.parquet.ParquetFile(self.path) if not self.part.exists() else nullcontext() as file:
                batches = _batches(self.part) if file is None else file.iter_batches()
                return self._last_of(batches) == self.mark.end
        except (pa.ArrowException, OSError, ValueError):
            return False

    def _last_of(self, batches: Iterator[Any]) -> str | None:
        """The last row that was saved, as text; None if there are fewer rows."""
        left = self.saved_length
        for batch in batches:
            if len(batch) >= left:
                return _row(batch, left - 1)
            left -= len(batch)
        return None

    def _rewind(self, file: BinaryIO) -> None:
        end = _end_of(self.part, self.saved_length)
        assert end is not None
        file.truncate(end)
        file.seek(end)
        self.rows, self.last = self.saved_length, self.mark.end

    def _flush(self, file: BinaryIO) -> None:
        self._end()
        super()._flush(file)

    def _marked(self, file: BinaryIO) -> Mark:
        return replace(self.mark, length=self.rows, end=self.last)

    def _end(self) -> None:
        if self.writer is not None:
            writer, self.writer = self.writer, None
            writer.close()

    def _move(self) -> None:
        with _second_part(self.path) as (made, file):
            writer = None
            for batch in _batches(self.part):
                writer = writer or pyarrow.parquet.ParquetWriter(file, batch.schema)
                writer.write_batch(batch)
            if writer is not None:
                writer.close()
                atomic.sync(file)
                os.replace(made, self.path)
        self.part.unlink()

    def _take_back(self) -> None:
        with _second_part(self.path) as (made, out), pyarrow.parquet.ParquetFile(self.path) as file:
            left = self.saved_length
            with pa.ipc.new_stream(out, file.schema_arrow) as stream:
                for batch in file.iter_batches():
                    stream.write_batch(batch.slice(0, left))
                    left -= min(left, len(batch))
            atomic.sync(out)
            os.replace(made, self.part)


@contextmanager
def _second_part(path: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """A second temporary file, which is removed at the end unless it was renamed."""
    made = atomic.temporary(path, atomic.new_token())
    try:
        with atomic.create(made) as file:
            yield made, file
    finally:
        made.unlink(missing_ok=True)


def _tail(file: BinaryIO, end: int) -> str:
    """A digest of the bytes before a position in a file; the file is at that position afterwards."""
    file.seek(max(end - TAIL, 0))
    return hashlib.sha256(file.read(min(end, TAIL))).hexdigest()


def _row(table: Any, place: int) -> str:
    """A row of a table, as text."""
    return repr([(name, values[place].as_py()) for name, values in zip(table.schema.names, table.columns, strict=True)])


def _batches(spool: Path) -> Iterator[Any]:
    """The batches of consecutive streams."""
    with pa.OSFile(str(spool), "rb") as file:
        size = file.size()
        while file.tell() < size:
            yield from pa.ipc.open_stream(file)


def _end_of(spool: Path, rows: int) -> int | None:
    """The position where the streams with the first ``rows`` rows end; None if no stream ends there."""
    with pa.OSFile(str(spool), "rb") as file:
        size, found = file.size(), 0
        try:
            while found < rows and file.tell() < size:
                found += sum(len(batch) for batch in pa.ipc.open_stream(file))
        except (pa.ArrowException, OSError):
            return None
        return int(file.tell()) if found == rows else None


def as_lines(columns: dict[str, Array], ending: str, header: bool, zone: str | None = None) -> bytes:
    """Rows as CSV or JSON lines. Times with a zone are written in UTC, with a Z."""
    if ending == ".jsonl":
        return _as_json_lines(columns, "" if zone is None else "Z")
    out = pa.BufferOutputStream()
    shown = {name: _in_seconds(values) for name, values in columns.items()}
    texts = any(values.dtype.kind == "O" for values in columns.values())
    options = pyarrow.csv.WriteOptions(include_header=header, quoting_style="needed" if texts else "none")
    pyarrow.csv.write_csv(as_table(shown, zone), out, options)
    return bytes(out.getvalue().to_pybytes())


def _in_seconds(values: Array) -> Array:
    """Times without fractions, if all are whole seconds."""
    if values.dtype.kind == "M" and not (values.astype(np.int64)[~np.isnat(values)] % 1_000_000).any():
        return values.astype("datetime64[s]")
    return values


def _as_json_lines(columns: dict[str, Array], mark: str) -> bytes:
    names = list(columns)
    lists = [
        [None if item is None else item.isoformat() + mark for item in values.tolist()]
        if values.dtype.kind == "M"
        else [None if isinstance(item, float) and not math.isfinite(item) else item for item in values.tolist()]
        for values in columns.values()
    ]
    return b"".join(json.dumps(dict(zip(names, row, strict=True))).encode() + b"\n" for row in zip(*lists, strict=True))


def open_output(path: str | None, *, ending: str, mark: Mark | None) -> Output:
    """The output for a path: none, the standard output, or a file.

    Args:
        path: the path that the user gave.
        ending: the format of the standard output.
        mark: identifies the output of an earlier run; None to start over.
    """
    if path is None:
        return Output()
    if path == STDOUT:
        return Standard(ending, mark is not None)
    place = atomic.target(path)
    return ParquetFile(place, mark) if place.suffix.lower() == PARQUET else TextFile(place, mark)
