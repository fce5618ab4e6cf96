"""Files and pipes as blocks of rows, read ahead by a thread."""

from __future__ import annotations

import hashlib
import os
import queue
import threading
from collections.abc import Iterable, Iterator, Mapping
from time import perf_counter
from typing import Any, Self

from driftline.files.encoder import CATEGORIES, Block, Encoder, Encoding
from driftline.files.errors import DataError, Hint, no_column
from driftline.files.opening import ARROW_FILE, ARROW_STREAM, JSON_LINES, PARQUET, PEEK, Opened, open_source
from driftline.files.raw import Options, RawBlock, Reader
from driftline.tables.inputs import Array

AHEAD = 3  # blocks that are read while one is learned


def open_rows(
    source: str | os.PathLike[str],
    *,
    target: str | None = None,
    features: Iterable[str] | None = None,
    drop: Iterable[str] = (),
    time: str | None = None,
    time_format: str | None = None,
    text: Iterable[str] = (),
    na: Iterable[str] = (),
    missing: str | Mapping[str, str] | None = None,
    categories: int = CATEGORIES,
    delimiter: str | None = None,
) -> Rows:
    """Opens a file or a pipe as blocks of rows of numbers, in bounded memory.

    CSV (any delimiter, gzipped or not), JSON lines, Parquet, Arrow and Feather are known by their content. Needs pyarrow.

    Args:
        source: a path, or "-" for the standard input.
        target: the column of the labels; None where there is none.
        features: the columns to use; by default all but the target.
        drop: columns to do without.
        time: the column that says when. A number says the order alone.
        time_format: how its times are written, as in ``strptime``, where they are not like 2026-03-01 12:00.
        text: columns to take as categories though they look like numbers.
        na: further spellings of a missing value.
        missing: what stands for a missing number: "last" (the last value, by default), "mean" (of those so far), "zero",
            or "skip" to leave the row out; for all columns, or column by column.
        categories: values of a column of text that get a feature of their own.
        delimiter: what separates the values of a line.
    """
    policies = {"": missing} if isinstance(missing, str) else dict(missing or {})
    options = Options(
        columns=None if features is None else tuple(features),
        text=tuple(text),
        na=tuple(na),
        delimiter=delimiter,
        time=time,
        time_format=time_format,
        target=target,
        drop=tuple(drop),
    )
    return Rows(source, options, Encoding(policies, categories))


class Rows:
    """The rows of a source, in blocks. It is iterated once.

    Args:
        source: a path, or "-".
        options: how to read it.
        encoding: how columns become features.
        known: what an earlier reading of the same source found, from :meth:`state`.
        skip: rows not to hand out again.
    """

    def __init__(
        self,
        source: str | os.PathLike[str],
        options: Options,
        encoding: Encoding | None = None,
        *,
        known: Mapping[str, Any] | None = None,
        skip: int = 0,
    ) -> None:
        self.options, self.skip = options, skip
        self.encoder = Encoder(options, encoding)
        if known is not None:
            self.encoder.restore(known["encoder"])
        opened = open_source(source)
        try:
            self.reader = _reader(opened, options, None if known is None else known["types"])
            if known is not None:
                self.reader.decimal = known["decimal"]
            if opened.format != JSON_LINES:
                self._check_names(self.reader.names)
        except BaseException:
            opened.close()
            raise
        self.name = opened.name
        self.seconds = 0.0  # that reading took
        self._stop = threading.Event()
        self._queue: queue.Queue[RawBlock | BaseException | None] = queue.Queue(AHEAD)
        self._thread: threading.Thread | None = None

    @property
    def names(self) -> list[str]:
        """The features so far."""
        return self.encoder.names

    def columns(self) -> list[str]:
        """The columns of the source; of JSON lines, those met so far."""
        return list(self.reader.names)

    @property
    def count(self) -> int | None:
        """How many rows there are, where the file says so."""
        return self.reader.rows

    @property
    def size(self) -> int | None:
        """How many bytes there are, where that is known."""
        return self.reader.opened.size

    def state(self) -> dict[str, Any]:
        """What was found out about the columns, as plain values."""
        return {"encoder": self.encoder.state(), "types": dict(self.reader.types), "decimal": self.reader.decimal}

    def fingerprint(self) -> dict[str, Any]:
        """What tells this source from another: its first bytes, or, of a pipe, the names of its columns."""
        return fingerprint(self.reader)

    def __iter__(self) -> Iterator[Block]:
        """Blocks of rows, in order."""
        self.start()
        try:
            while (raw := self.next_raw()) is not None:
                yield self.encode(raw)
        finally:
            self.close()

    def start(self) -> None:
        """Begins to read ahead."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._read_ahead, name="driftline reader", daemon=True)
            self._thread.start()

    def next_raw(self, timeout: float | None = None) -> RawBlock | None:
        """The next rows as they stand in the file; None at the end. ``queue.Empty`` is raised where none came in time."""
        item = self._queue.get(timeout=timeout)
        if isinstance(item, BaseException):
            raise item.within(self.name) if isinstance(item, DataError) else item
        if item is not None and item.start == 0 and self.reader.opened.format == JSON_LINES:
            self._check_names(self.reader.names)
        return item

    def encode(self, raw: RawBlock) -> Block:
        """Rows as numbers. They must come in order: the encoder learns what columns hold."""
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
        """Ends the reading."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=1.0)  # it may wait for a pipe, and ends with the process
            if self._thread.is_alive():
                return
        self.reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def blocks(self, rows: int) -> Iterator[tuple[Any, Array]]:
        """Pairs (X, y) of at most ``rows`` rows, X a list of mappings from names to numbers: what the evaluation takes."""
        if self.options.target is None:
            raise ValueError("open_rows: target must be given: the evaluation needs labels")
        for block in self:
            assert block.y is not None
            for begin, end, width in block.between_births():
                for first in range(begin, end, rows):
                    last = min(first + rows, end)
                    values = block.X[first:last, :width].tolist()
                    yield [dict(zip(block.names, row, strict=False)) for row in values], block.y[first:last]

    def _check_names(self, names: list[str]) -> None:
        options = self.options
        if options.target is not None and options.target not in names and options.target_needed:
            raise self._no_target(names)
        asked = [*(options.columns or ()), *options.drop, *options.text, *([options.time] if options.time else [])]
        for name in [*asked, *(name for name in self.encoder.encoding.missing if name)]:
            if name not in names:
                raise no_column(name, names, self.reader.opened.name)

    def _no_target(self, names: list[str]) -> DataError:
        error: DataError = no_column(str(self.options.target), names, self.reader.opened.name)
        if len(names) == 1:
            error = DataError(
                f"there is no column {self.options.target!r}. Its one column is {names[0][:60]!r}",
                source=error.source,
                hints=[Hint("delimiter", " ", "or another, if that is what separates values")],
            )
        elif all(_is_number(name) for name in names):
            error = DataError(f"{error.what}. The first line holds numbers: names must stand there", source=error.source)
        return error


def fingerprint(reader: Reader, length: int = PEEK) -> dict[str, Any]:
    """What tells a source from another."""
    start = reader.opened.start(length)
    if start is None:
        text = "\n".join(reader.names) if reader.opened.format != JSON_LINES else ""
        return {"pipe": hashlib.sha256(text.encode()).hexdigest()}
    return {"bytes": len(start), "sha256": hashlib.sha256(start).hexdigest()}


def same_source(kept: Mapping[str, Any], rows: Rows) -> bool:
    """Whether a source is the one that was read before, or that one with more rows at its end."""
    return fingerprint(rows.reader, int(kept.get("bytes", PEEK))) == kept


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _reader(opened: Opened, options: Options, types: dict[str, str] | None) -> Reader:
    if opened.format == PARQUET:
        from driftline.files.arrow_tables import Parquet

        return Parquet(opened, options, types)
    if opened.format in (ARROW_FILE, ARROW_STREAM):
        from driftline.files.arrow_tables import Arrow

        return Arrow(opened, options, types)
    if opened.format == JSON_LINES:
        from driftline.files.json_lines import JsonLines

        return JsonLines(opened, options, types)
    from driftline.files.delimited import Delimited

    return Delimited(opened, options, types)
