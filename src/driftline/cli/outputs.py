"""Output of predictions. Until a file is complete, its rows are in a temporary file; see ``storage.atomic``."""

from __future__ import annotations

import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from driftline.cli import standard_output
from driftline.cli.options import STDOUT
from driftline.files.buffers import from_numpy
from driftline.files.digests import Digests, in_words, of_lines, of_rows
from driftline.files.types import type_name
from driftline.storage import atomic
from driftline.tables.inputs import Array

PARQUET = ".parquet"
CHUNK = 2**20  # bytes read at once


class OutputError(Exception):
    """An output that cannot be resumed."""


@dataclass(frozen=True)
class Mark:
    """Identifies an output when a run is resumed, even if it was moved.

    Attributes:
        length: its length at the last save.
        digests: digests of its rows or lines.
        token: the token in the temporary file's name, fixed for the whole run.
    """

    length: int = 0
    digests: Digests = field(default_factory=Digests)
    token: str = field(default_factory=atomic.new_token)

    def __post_init__(self) -> None:
        if not atomic.is_token(self.token):
            raise OutputError(f"the state is damaged: {self.token!r} cannot be part of a file's name")

    def state(self) -> dict[str, Any]:
        """The state, as an array and plain values."""
        return {"length": self.length, "token": self.token, **self.digests.state()}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Self:
        """Restores what :meth:`state` returned."""
        return cls(int(state["length"]), Digests.restored(state), state["token"])


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

    Attributes:
        unit, first: what the digests count, and the number of the first.

    Args:
        path: the final path.
        mark: identifies the file of an earlier run; None to start over.
    """

    unit: ClassVar[str]
    first: ClassVar[int]

    def __init__(self, path: Path, mark: Mark | None) -> None:
        self.path = path
        self.file: BinaryIO | None = None
        self.mark = mark or Mark()
        self.part = atomic.temporary(path, self.mark.token)
        if self.saved_length:
            self._check_saved()  # before anything is changed

    @property
    def saved_length(self) -> int:
        """The length of the file at the last save."""
        return self.mark.length

    def _check_saved(self) -> None:
        """Raises OutputError unless the file begins with what it held at the last save."""
        there, kept = self.part if self.part.exists() else self.path, self.mark.digests
        again = Digests(kept.step)
        try:
            for items in self._saved(there):
                again.add(items)
                if (changed := again.difference(kept)) is not None:
                    numbers = range(changed.start + self.first, changed.stop + self.first)
                    raise self._changed(f"{in_words(numbers, self.unit)} not as it was")
        except (pa.ArrowException, OSError, ValueError):
            raise self._changed("it was removed or replaced") from None
        if again.count != kept.count:
            raise self._changed("it was replaced or cut off")

    def _changed(self, how: str) -> OutputError:
        return OutputError(
            f"{self.path}: does not hold the predictions that it held when the state was saved: {how}. "
            "Give the same --out, or run without --resume"
        )

    @abstractmethod
    def _saved(self, there: Path) -> Iterator[Array]:
        """Digests of what a file holds, as far as it was saved."""

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
            self.mark.digests.add(self._append(self._open(), columns, zone))

    @abstractmethod
    def _append(self, file: BinaryIO, columns: dict[str, Array], zone: str | None) -> Array:
        """Writes rows at the end of the file; returns their digests."""

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
        return replace(self.mark, length=file.tell())

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

    unit, first = "line", 1

    def _append(self, file: BinaryIO, columns: dict[str, Array], zone: str | None) -> Array:
        data = as_lines(columns, self.path.suffix.lower(), header=file.tell() == 0, zone=zone)
        file.write(data)
        file.flush()  # for programs that watch the file
        return of_lines(data)

    def _saved(self, there: Path) -> Iterator[Array]:
        left, rest = self.saved_length, b""
        with open(there, "rb") as file:
            while data := file.read(min(CHUNK, left)):
                left -= len(data)
                lines, end, rest = (rest + data).rpartition(b"\n")
                yield of_lines(lines + end)


class ParquetFile(Part):
    """Parquet cannot be appended to, so rows wait in the temporary file as Arrow streams, one for each save.

    Its length is counted in rows. :meth:`place` turns it into Parquet.
    """

    unit, first = "row", 0
    writer: Any = None
    rows = 0

    def _append(self, file: BinaryIO, columns: dict[str, Array], zone: str | None) -> Array:
        table = as_table(columns, zone)
        if self.writer is None:
            self.writer = pa.ipc.new_stream(file, table.schema)
        self.writer.write_table(table)
        self.rows += len(table)
        return _digests(table)

    def _saved(self, there: Path) -> Iterator[Array]:
        if there != self.part:
            with pyarrow.parquet.ParquetFile(there) as file:
                yield from self._saved_rows(file.iter_batches())
        elif _end_of(there, self.saved_length) is None:
            raise ValueError("nothing was saved there")
        else:
            yield from self._saved_rows(_batches(there))

    def _saved_rows(self, batches: Iterator[Any]) -> Iterator[Array]:
        left = self.saved_length
        while left and (batch := next(batches, None)) is not None:
            yield _digests(batch.slice(0, left))
            left -= min(left, len(batch))

    def _rewind(self, file: BinaryIO) -> None:
        end = _end_of(self.part, self.saved_length)
        assert end is not None
        file.truncate(end)
        file.seek(end)
        self.rows = self.saved_length

    def _flush(self, file: BinaryIO) -> None:
        self._end()
        super()._flush(file)

    def _marked(self, file: BinaryIO) -> Mark:
        return replace(self.mark, length=self.rows)

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


def _digests(table: Any) -> Array:
    """The digests of rows that were written."""
    return of_rows(table, {each.name: type_name(each.type) for each in table.schema})


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


@contextmanager
def new_output(path: str, ending: str) -> Iterator[Output]:
    """An output that is moved into place at the end, and removed after an error."""
    output = open_output(path, ending=ending, mark=None)
    try:
        yield output
        output.place()
    except BaseException:
        output.discard()
        raise


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
