"""Parquet files, Arrow files (Feather) and Arrow streams."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from driftline.files.errors import DataError, HaltedError, left_out
from driftline.files.opening import ARROW_FILE, Opened
from driftline.files.options import Options
from driftline.files.raw import Block, Reader
from driftline.files.types import WRITTEN, type_name
from driftline.tables.kinds import TEXT

ROWS, VALUES = 32_768, 2**22  # most rows and values per batch
LEAST = 64  # rows per batch, however many columns there are
BROKEN = (pa.ArrowException, OSError, EOFError, ValueError, MemoryError)  # what Arrow raises for damaged files


class TypedTables(Reader):
    """Reads columns whose types the file declares."""

    def __init__(self, opened: Opened, options: Options, types: dict[str, str] | None = None) -> None:
        super().__init__(opened, options, types)
        try:
            self.schema = self._open()
        except BROKEN as error:
            if opened.halted:
                raise HaltedError from None
            raise self._damaged(error) from None
        self.names = list(self.schema.names)
        twice = next((name for name, count in Counter(self.names).items() if count > 1), None)
        if twice is not None:
            raise DataError(f"two columns are called {twice!r}; rename one", source=opened.name)
        for name in self.wanted():
            kind = self._kind(name)
            if kind != TEXT or name in self.options.texts:
                self.types[name] = kind
            elif self.types.get(name, "").partition(" ")[0] not in (TEXT, WRITTEN):
                self.types.pop(name, None)  # decided when the first text appears

    @abstractmethod
    def _open(self) -> Any:
        """Opens the source and returns its schema."""

    @abstractmethod
    def _batches(self) -> Iterator[Any]:
        """The rows, in batches."""

    def _kind(self, name: str) -> str:
        if name in self.options.texts:
            return TEXT
        kind = self.schema.field(name).type
        try:
            if pa.types.is_timestamp(kind) and kind.tz is not None:
                pc.local_timestamp(pa.nulls(1, kind))
            return TEXT if pa.types.is_null(kind) else type_name(kind)
        except TypeError as error:
            raise self._useless(f"{error}, which cannot be turned into numbers", name) from None
        except pa.ArrowInvalid:
            raise self._useless(f"the time zone {kind.tz!r} is not known here", name) from None

    @property
    def _most(self) -> int:
        """The most rows to take at once."""
        return min(ROWS, max(LEAST, VALUES // (len(self.wanted()) or 1)))

    def _useless(self, words: str, name: str) -> DataError:
        return DataError(words, source=self.opened.name, column=name, hints=left_out(name, self.options))

    def _consumed(self) -> int | None:
        return None

    def _damaged(self, error: BaseException, start: int | None = None, name: str | None = None) -> DataError:
        place = "" if start is None else f"after row {start:,}"
        words = " ".join(str(error).split()) or type(error).__name__
        return DataError(f"the file is damaged or cut off: {words[:300]}", source=self.opened.name, place=place, column=name)

    def _check_values(self, batch: Any, start: int) -> None:
        """Raises DataError for values that Arrow would not check when it uses them, such as text that is not UTF-8."""
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            try:
                values.validate(full=True)
            except BROKEN as error:
                raise self._damaged(error, start, name) from None

    def blocks(self) -> Iterator[Block]:
        """The rows."""
        start, batches, most = 0, self._batches(), self._most
        while True:
            try:
                batch = next(batches)
            except StopIteration:
                return
            except BROKEN as error:
                if self.opened.halted:
                    self.cut_off = True
                    return
                raise self._damaged(error, start) from None
            self._check_values(batch, start)
            for begin in range(0, len(batch), most):
                piece, place = batch.slice(begin, most), partial(_place, start + begin)
                self._settle(piece, place)
                yield self._block(piece, start + begin, place)
            start += len(batch)


def _place(start: int, row: int) -> str:
    return f"row {start + row:,}"


class Parquet(TypedTables):
    """Reads a Parquet file page by page."""

    def _open(self) -> Any:
        from pyarrow.parquet import ParquetFile

        self.file = ParquetFile(self.opened.path, buffer_size=2**20, pre_buffer=False)
        return self.file.schema_arrow

    @property
    def rows(self) -> int:
        """The number of rows, from the file's metadata."""
        return int(self.file.metadata.num_rows)

    def _batches(self) -> Iterator[Any]:
        return self.file.iter_batches(batch_size=self._most, columns=self.wanted(), use_threads=False)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Closes the file."""
        self.file.close()
        super().close()


class Arrow(TypedTables):
    """Reads Arrow batches from a file (Feather) or a stream. Each is validated before use."""

    def _open(self) -> Any:
        if self.opened.path is not None and self.opened.format == ARROW_FILE:
            self.source = pa.memory_map(self.opened.path)
            self.reader = pa.ipc.open_file(self.source)
        else:
            self.source = pa.PythonFile(self.opened.stream, mode="r")
            self.reader = pa.ipc.open_stream(self.source)
        return self.reader.schema

    def _batches(self) -> Iterator[Any]:
        wanted = self.wanted()
        for batch in self._each():
            yield batch.select(wanted)

    def _each(self) -> Iterator[Any]:
        if isinstance(self.reader, pa.ipc.RecordBatchFileReader):
            for place in range(self.reader.num_record_batches):
                yield self.reader.get_batch(place)
        else:
            yield from self.reader

    def close(self) -> None:
        """Closes the source."""
        self.source.close()
        super().close()
