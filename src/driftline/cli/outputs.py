"""Where predictions go. A file is in its place when it is whole; until then it is beside it, with the ending ``.part``."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from driftline.files.buffers import from_numpy
from driftline.inputs import Array

STDOUT = "-"
FORMATS = (".csv", ".jsonl", ".parquet")
PARQUET = ".parquet"
GONE = "is gone, or shorter than when the state was saved: it cannot be gone on with"


class OutputError(Exception):
    """An output that cannot be gone on with."""


def as_table(columns: dict[str, Array]) -> Any:
    """Columns of numbers and times as a table; NaN is nothing."""
    return pa.table({name: from_numpy(values) for name, values in columns.items()})


class Output:
    """Takes predictions, block by block. This one keeps nothing."""

    def write(self, columns: dict[str, Array]) -> None:
        """Appends some rows."""

    def sync(self) -> int:
        """Sees to it that everything so far is kept, and says how long it is."""
        return 0

    def place(self) -> None:
        """Puts what was written in its place."""

    def discard(self) -> None:
        """Leaves nothing behind."""


class Standard(Output):
    """The standard output, row by row as they come."""

    def __init__(self, ending: str, begun: bool) -> None:
        self.ending, self.headed = ending, begun

    def write(self, columns: dict[str, Array]) -> None:
        """Prints some rows at once."""
        out = sys.stdout.buffer if hasattr(sys.stdout, "buffer") else None
        data = as_lines(columns, self.ending, header=not self.headed)
        self.headed = True
        if out is None:
            sys.stdout.write(data.decode())
        else:
            out.write(data)
        sys.stdout.flush()


class Part(Output):
    """A file that is written beside its place.

    Args:
        path: its place.
        begun: how long it was when it was last kept; None to begin anew.
    """

    def __init__(self, path: Path, begun: int | None) -> None:
        self.path, self.part = path, Path(f"{path}.part")
        self.file: BinaryIO | None = None
        self.begun = begun or 0
        if begun is not None:
            self._check()

    def _check(self) -> None:
        """What was kept must still be there, before anything is changed."""
        there = self.part if self.part.exists() else self.path if self.begun else None
        if there is not None and (not there.exists() or there.stat().st_size < self.begun):
            raise OutputError(f"{self.path}: {GONE}")

    def _open(self) -> BinaryIO:
        if self.file is None:
            if self.begun and not self.part.exists():
                self._take_back()
            self.file = open(self.part, "r+b" if self.part.exists() else "w+b")  # noqa: SIM115 - closed by place or discard
            self.file.truncate(self.begun)
            self.file.seek(self.begun)
        return self.file

    def _take_back(self) -> None:
        os.replace(self.path, self.part)

    def sync(self) -> int:
        """Sees to it that everything so far is kept, and says how long it is."""
        if self.file is None:
            return self.begun
        self.file.flush()
        os.fsync(self.file.fileno())
        self.begun = self.file.tell()
        return self.begun

    def place(self) -> None:
        """Puts what was written in its place."""
        if self.file is None and not self.part.exists() and self.begun:
            return
        self._open()
        self.sync()
        self._close()
        self._move()

    def _move(self) -> None:
        os.replace(self.part, self.path)

    def _close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None

    def discard(self) -> None:
        """Leaves nothing behind."""
        self._close()
        self.part.unlink(missing_ok=True)


class TextFile(Part):
    """CSV, or JSON lines."""

    def write(self, columns: dict[str, Array]) -> None:
        """Appends some rows."""
        file = self._open()
        file.write(as_lines(columns, self.path.suffix.lower(), header=file.tell() == 0))
        file.flush()  # for whoever watches


class SpooledParquet(Part):
    """Parquet, which cannot be appended to: rows wait in Arrow's form, which can, until all are there.

    The waiting file is a sequence of whole streams, one for each time that it was kept. What is kept is counted in rows.
    """

    writer: Any = None
    rows = 0

    def write(self, columns: dict[str, Array]) -> None:
        """Appends some rows."""
        file = self._open()
        table = as_table(columns)
        if self.writer is None:
            self.writer = pa.ipc.new_stream(file, table.schema)
        self.writer.write_table(table)
        self.rows += len(table)

    def _check(self) -> None:
        if self.part.exists():
            there = _end_of(self.part, self.begun) is not None
        else:
            there = not self.begun or (
                self.path.exists() and pyarrow.parquet.read_metadata(self.path).num_rows >= self.begun
            )
        if not there:
            raise OutputError(f"{self.path}: {GONE}")

    def _open(self) -> BinaryIO:
        if self.file is None:
            if self.begun and not self.part.exists():
                self._take_back()
            end = _end_of(self.part, self.begun) if self.begun else 0
            self.file = open(self.part, "r+b" if self.begun else "w+b")  # noqa: SIM115 - closed by place or discard
            self.file.truncate(end)
            self.file.seek(end or 0)
            self.rows = self.begun
        return self.file

    def sync(self) -> int:
        """Ends the stream, and sees to it that it is kept."""
        self._end_stream()
        if self.file is not None:
            super().sync()
            self.begun = self.rows
        return self.begun

    def _end_stream(self) -> None:
        if self.writer is not None:
            self.writer.close()
            self.writer = None

    def _close(self) -> None:
        self._end_stream()
        super()._close()

    def _move(self) -> None:
        made = Path(f"{self.path}.whole.part")
        writer = None
        for batch in _batches(self.part):
            writer = writer or pyarrow.parquet.ParquetWriter(made, batch.schema)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()
            os.replace(made, self.path)
        self.part.unlink()

    def _take_back(self) -> None:
        made = Path(f"{self.path}.again.part")
        with pyarrow.parquet.ParquetFile(self.path) as file, open(made, "wb") as out:
            left = self.begun
            with pa.ipc.new_stream(out, file.schema_arrow) as stream:
                for batch in file.iter_batches():
                    stream.write_batch(batch.slice(0, left))
                    left -= min(left, len(batch))
            out.flush()
            os.fsync(out.fileno())
        os.replace(made, self.part)


class ParquetFile(Part):
    """Parquet, written as it comes."""

    writer: Any = None

    def write(self, columns: dict[str, Array]) -> None:
        """Appends some rows."""
        table = as_table(columns)
        if self.writer is None:
            self.writer = pyarrow.parquet.ParquetWriter(self._open(), table.schema)
        self.writer.write_table(table)

    def _close(self) -> None:
        if self.writer is not None:
            self.writer.close()
            self.writer = None
        super()._close()


def _batches(spool: Path) -> Iterator[Any]:
    """The batches of streams that stand one after the other."""
    with pa.OSFile(str(spool), "rb") as file:
        size = file.size()
        while file.tell() < size:
            yield from pa.ipc.open_stream(file)


def _end_of(spool: Path, rows: int) -> int | None:
    """Where the streams end that hold so many rows; None where there are fewer, or they end elsewhere."""
    with pa.OSFile(str(spool), "rb") as file:
        size, found = file.size(), 0
        try:
            while found < rows and file.tell() < size:
                found += sum(len(batch) for batch in pa.ipc.open_stream(file))
        except (pa.ArrowException, OSError):
            return None
        return int(file.tell()) if found == rows else None


def as_lines(columns: dict[str, Array], ending: str, header: bool) -> bytes:
    """Rows as CSV or as JSON lines."""
    if ending == ".jsonl":
        return _as_json_lines(columns)
    out = pa.BufferOutputStream()
    shown = {name: _in_seconds(values) for name, values in columns.items()}
    options = pyarrow.csv.WriteOptions(include_header=header, quoting_style="none")
    pyarrow.csv.write_csv(as_table(shown), out, options)
    return bytes(out.getvalue().to_pybytes())


def _in_seconds(values: Array) -> Array:
    """Times without fractions where all of them are whole seconds."""
    if values.dtype.kind == "M" and not (values.astype(np.int64)[~np.isnat(values)] % 1_000_000).any():
        return values.astype("datetime64[s]")
    return values


def _as_json_lines(columns: dict[str, Array]) -> bytes:
    names = list(columns)
    lists = [
        [None if item is None else item.isoformat() for item in values.tolist()]
        if values.dtype.kind == "M"
        else [None if isinstance(item, float) and not math.isfinite(item) else item for item in values.tolist()]
        for values in columns.values()
    ]
    return b"".join(json.dumps(dict(zip(names, row, strict=True))).encode() + b"\n" for row in zip(*lists, strict=True))


def open_output(path: str | None, *, ending: str, kept: bool, begun: int | None) -> Output:
    """The output for a path: none, the standard output, or a file.

    Args:
        path: as it was given.
        ending: the format of the standard output.
        kept: whether a run that is cut off will be gone on with.
        begun: how long the output was when it was last kept.
    """
    if path is None:
        return Output()
    if path == STDOUT:
        return Standard(ending, begun is not None)
    place = Path(path)
    if place.suffix.lower() != PARQUET:
        return TextFile(place, begun)
    return SpooledParquet(place, begun) if kept else ParquetFile(place, begun)
