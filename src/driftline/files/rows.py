"""Files and pipes as blocks of rows; a thread reads ahead."""

from __future__ import annotations

import hashlib
import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from time import perf_counter
from typing import Any, Self

from driftline.files.arrow_tables import Arrow, Parquet
from driftline.files.delimited import Delimited
from driftline.files.encoder import Block, Encoder
from driftline.files.errors import DataError, Hint, no_column
from driftline.files.json_lines import JsonLines
from driftline.files.opening import ARROW_FILE, ARROW_STREAM, CSV, JSON_LINES, PARQUET, PEEK, open_source
from driftline.files.options import Options
from driftline.files.raw import RawBlock, Reader
from driftline.tables.inputs import Array

AHEAD = 3  # blocks to read ahead
READERS: dict[str, Callable[..., Reader]] = {
    CSV: Delimited,
    JSON_LINES: JsonLines,
    PARQUET: Parquet,
    ARROW_FILE: Arrow,
    ARROW_STREAM: Arrow,
}


def open_rows(source: str | os.PathLike[str], **options: Any) -> Rows:
    """Opens a file or pipe, to be read as blocks of rows of numbers in bounded memory.

    CSV (any delimiter, gzipped or not), JSON lines, Parquet, Arrow and Feather are detected by content. Needs pyarrow.

    Args:
        source: a path, or "-" for the standard input.
        options: how to read it: the fields of :class:`Options`, such as ``target="sales"`` or ``drop=["id"]``.
    """
    return Rows(source, Options(**options))


class Rows:
    """The rows of a source, in blocks. It can be iterated once.

    Args:
        source: a path, or "-".
        options: how to read it.
        known: what an earlier reading of the same source found, from :meth:`state`.
        skip: how many rows to skip.
    """

    def __init__(
        self,
        source: str | os.PathLike[str],
        options: Options,
        *,
        known: Mapping[str, Any] | None = None,
        skip: int = 0,
    ) -> None:
        self.options, self.skip = options, skip
        self.encoder = Encoder(options)
        if known is not None:
            self.encoder.restore(known["encoder"])
        opened = open_source(source)
        try:
            self.reader = READERS[opened.format](opened, options, None if known is None else known["types"])
            if known is not None:
                self.reader.decimal = known["decimal"]
            if opened.format != JSON_LINES:
                self._check_names(self.reader.names)
        except BaseException:
            opened.close()
            raise
        self.name = opened.name
        self.seconds = 0.0  # time spent reading
        self._stop = threading.Event()
        self._queue: queue.Queue[RawBlock | BaseException | None] = queue.Queue(AHEAD)
        self._thread: threading.Thread | None = None

    @property
    def names(self) -> list[str]:
        """The features so far."""
        return self.encoder.names

    def columns(self) -> list[str]:
        """The columns of the source; for JSON lines, those seen so far."""
        return list(self.reader.names)

    @property
    def count(self) -> int | None:
        """How many rows there are, if the file says so."""
        return self.reader.rows

    def share(self, consumed: int | None) -> float | None:
        """The share of the source that ``consumed`` bytes make up, if its size is known."""
        size = self.reader.opened.size
        return consumed / size if consumed and size else None

    def state(self) -> dict[str, Any]:
        """What is known about the columns, as plain values."""
        return {"encoder": self.encoder.state(), "types": dict(self.reader.types), "decimal": self.reader.decimal}

    def fingerprint(self, length: int = PEEK) -> dict[str, Any]:
        """Identifies the source: its first ``length`` bytes or, for a pipe, its column names."""
        reader = self.reader
        start = reader.opened.start(length)
        if start is None:
            text = "\n".join(reader.names) if reader.opened.format != JSON_LINES else ""
            return {"pipe": hashlib.sha256(text.encode()).hexdigest()}
        return {"bytes": len(start), "sha256": hashlib.sha256(start).hexdigest()}

    def __iter__(self) -> Iterator[Block]:
        """Blocks of rows, in order."""
        self.start()
        try:
            while (raw := self.next_raw()) is not None:
                yield self.encode(raw)
        finally:
            self.close()

    def start(self) -> None:
        """Starts reading ahead."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._read_ahead, name="driftline reader", daemon=True)
            self._thread.start()

    def next_raw(self, timeout: float | None = None) -> RawBlock | None:
        """The next rows, not encoded; None at the end. Raises ``queue.Empty`` if none arrived in time."""
        item = self._queue.get(timeout=timeout)
        if isinstance(item, BaseException):
            raise item.within(self.name) if isinstance(item, DataError) else item
        if item is not None and item.start == 0 and self.reader.opened.format == JSON_LINES:
            self._check_names(self.reader.names)
        return item

    def encode(self, raw: RawBlock) -> Block:
        """Rows as numbers. They must come in order, since the encoder learns from them."""
        try:
            return self.encoder.encode(raw)
        except DataError as error:
            raise error.within(self.name) from None

    def _read_ahead(self) -> None:
        try:
            began = perf_counter()
            for block in self.reader.blocks(self.skip):
                self.seconds += perf_counter() - began
                if not self._put(block):
                    return
                began = perf_counter()
            self._put(None)
        except BaseException as error:
            self._put(error)

    def _put(self, item: RawBlock | BaseException | None) -> bool:
        while not self._stop.is_set():
            try:
                self._queue.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def close(self) -> None:
        """Stops reading."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=1.0)  # it may be waiting for a pipe; it ends with the process
            if self._thread.is_alive():
                return
        self.reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def blocks(self, rows: int) -> Iterator[tuple[Any, Array]]:
        """Pairs (X, y) of at most ``rows`` rows for the evaluation; X is a list of mappings from names to numbers."""
        if self.options.target is None:
            raise ValueError("open_rows: give target: the evaluation needs labels")
        for block in self:
            assert block.y is not None
            for begin, end, width in block.spans():
                for first in range(begin, end, rows):
                    last = min(first + rows, end)
                    values = block.X[first:last, :width].tolist()
                    yield [dict(zip(block.names, row, strict=False)) for row in values], block.y[first:last]

    def _check_names(self, names: list[str]) -> None:
        options = self.options
        if options.target is not None and options.target not in names and options.target_needed:
            raise self._no_target(names)
        for name in options.named:
            if name not in names:
                raise no_column(name, names, self.reader.opened.name)

    def _no_target(self, names: list[str]) -> DataError:
        error: DataError = no_column(str(self.options.target), names, self.reader.opened.name)
        if len(names) == 1:
            error = DataError(
                f"there is no column {self.options.target!r}. Its one column is {names[0][:60]!r}",
                source=error.source,
                hints=[Hint("delimiter", " ", "or another, if it separates the values")],
            )
        elif all(_is_number(name) for name in names):
            error = DataError(f"{error.what}. The first line holds numbers, but must hold the names", source=error.source)
        return error


def same_source(kept: Mapping[str, Any], rows: Rows) -> bool:
    """Whether a source is the one that was read before, possibly with rows appended."""
    return rows.fingerprint(int(kept.get("bytes", PEEK))) == kept


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
