"""Files and pipes as blocks of rows; a thread reads ahead."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any, Self

from driftline.files import digests
from driftline.files.arrow_tables import Arrow, Parquet
from driftline.files.block import BlockMaker
from driftline.files.delimited import Delimited
from driftline.files.digests import Digests
from driftline.files.errors import ChangedSourceError, DataError, Hint, no_column
from driftline.files.json_lines import JsonLines
from driftline.files.opening import ARROW_FILE, ARROW_STREAM, CSV, JSON_LINES, PARQUET, open_source
from driftline.files.options import Options
from driftline.files.raw import Block, Reader
from driftline.tables.inputs import Array

PATIENCE = 0.2  # seconds to wait at the end for the thread
AHEAD = 3  # blocks to read ahead
ALIKE = 64  # rows at the start of a pipe that are hardly the same by chance
_APPEND = "new rows must be appended at the end"
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
    if "missing" in options:
        raise TypeError(
            "open_rows: what a missing value means is the learner's parameter missing, such as RLS(missing='mean')"
        )
    return Rows(source, Options(**options))


class Rows:
    """The rows of a source, in blocks. It can be iterated once.

    Args:
        source: a path, or "-".
        options: how to read it.
        known: what an earlier reading found, from :meth:`state`.
        done: digests of the rows that were read before, none at first. A file must begin with these rows; they are compared
            and left out. A pipe goes on with its next row. None if no digests are needed.
        from_start: compare and leave out the rows of a pipe too.
        halt: a descriptor that becomes readable when a pipe should be read no further than what it holds by then. Before
            the first row, HaltedError is raised.
    """

    def __init__(
        self,
        source: str | os.PathLike[str],
        options: Options,
        *,
        known: Mapping[str, Any] | None = None,
        done: Digests | None = None,
        from_start: bool = False,
        halt: int | None = None,
    ) -> None:
        self.options, self.done = options, done
        self.maker = BlockMaker(options)
        if known is not None:
            self.maker.restore(known["times"])
        opened = open_source(source, halt)
        try:
            self.reader = READERS[opened.format](opened, options, None if known is None else known["types"])
            if known is not None:
                self.reader.decimal = known["decimal"]
            if opened.format != JSON_LINES:
                if known is not None and done is not None:
                    self._compare_columns(known["columns"])
                self._check_names(self.reader.names)
        except BaseException:
            opened.close()
            raise
        self.name, self.from_start = opened.name, from_start or opened.whole
        self.refed = False  # whether a pipe that goes on began with the rows that were read first
        self.seconds = 0.0  # time spent reading
        self._stop = threading.Event()
        self._queue: queue.Queue[Block | BaseException | None] = queue.Queue(AHEAD)
        self._thread: threading.Thread | None = None

    def columns(self) -> list[str]:
        """The columns of the source; for JSON lines, those seen so far."""
        return list(self.reader.names)

    @property
    def ending(self) -> str:
        """The ending of a text file in the same format; CSV for a binary one."""
        return ".jsonl" if self.reader.opened.format == JSON_LINES else ".csv"

    @property
    def count(self) -> int | None:
        """How many rows there are, if the file says so."""
        return self.reader.rows

    @property
    def cut_off(self) -> bool:
        """Whether reading was asked to end within a row."""
        return self.reader.cut_off

    def share(self, consumed: int | None) -> float | None:
        """The share of the source that ``consumed`` bytes make up, if its size is known."""
        size = self.reader.opened.size
        return consumed / size if consumed and size else None

    def state(self) -> dict[str, Any]:
        """What is known about the columns, as plain values."""
        reader = self.reader
        columns = None if reader.opened.format == JSON_LINES else reader.wanted()
        return {
            "times": self.maker.state(),
            "types": dict(reader.types),
            "decimal": reader.decimal,
            "columns": columns,
        }

    def __iter__(self) -> Iterator[Block]:
        """Blocks of rows, in order."""
        self.start()
        try:
            while (raw := self.next_raw()) is not None:
                yield self.read(raw)
        finally:
            self.close()

    def start(self) -> None:
        """Starts reading ahead."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._read_ahead, name="driftline reader", daemon=True)
            self._thread.start()

    def next_raw(self, timeout: float | None = None) -> Block | None:
        """The next rows, not encoded; None at the end. Raises ``queue.Empty`` if none arrived in time."""
        item = self._queue.get(timeout=timeout)
        if isinstance(item, BaseException):
            raise item.within(self.name) if isinstance(item, DataError) else item
        if item is not None and item.start == 0 and self.reader.opened.format == JSON_LINES:
            self._check_names(self.reader.names)
        return item

    def read(self, raw: Block) -> Block:
        """Rows as learners take them."""
        try:
            return self.maker.block(raw)
        except DataError as error:
            raise error.within(self.name) from None

    def _read_ahead(self) -> None:
        try:
            began = perf_counter()
            for block in self._new():
                self.seconds += perf_counter() - began
                if not self._put(block):
                    return
                began = perf_counter()
            self._put(None)
        except BaseException as error:
            self._put(error)

    def _new(self) -> Iterator[Block]:
        """The rows that were not read before, with their digests."""
        if self.done is None:
            yield from self.reader.blocks()
            return
        kept = Digests.restored(self.done.state())  # the caller adds to its own
        raws = (replace(raw, digests=digests.of_rows(raw.table, raw.kinds)) for raw in self.reader.blocks())
        yield from self._after(kept, raws) if self.from_start else self._going_on(kept, raws)

    def _after(self, kept: Digests, raws: Iterator[Block]) -> Iterator[Block]:
        """The rows after those that were read before, which are compared."""
        again = Digests(kept.step)
        for raw in raws:
            old = min(kept.count - again.count, len(raw))
            if old:
                self._compare(again, kept, raw.piece(0, old))
            if old < len(raw):
                yield raw.piece(old, len(raw))
        if again.count < kept.count:
            words = f"has {again.count:,} rows, but {kept.count:,} were read before; {_APPEND}"
            raise ChangedSourceError(words, source=self.name)

    def _going_on(self, kept: Digests, raws: Iterator[Block]) -> Iterator[Block]:
        """All rows of a pipe, numbered from those that were read before."""
        again, wanted = Digests(kept.step), min(max(ALIKE, kept.step), kept.count)
        for raw in raws:
            if again.count < wanted:
                again.add(raw.digests[: kept.count - again.count])
                self.refed = again.count >= wanted and again.difference(kept) is None
            yield replace(raw, start=kept.count + raw.start)

    def _compare(self, again: Digests, kept: Digests, raw: Block) -> None:
        """Raises ChangedSourceError for the first row that is not as it was."""
        again.add(raw.digests)
        changed = again.difference(kept)
        if changed is not None:
            place = raw.place(changed[0] - raw.start) if changed[0] >= raw.start else ""
            words = f"{digests.in_words(changed, 'row')} not as it was when it was read before; {_APPEND}"
            raise ChangedSourceError(words, source=self.name, place=place)

    def _compare_columns(self, before: list[str] | None) -> None:
        """Raises ChangedSourceError if there are not the same columns as before."""
        now = self.reader.wanted()
        if before is None or set(now) == set(before):
            return
        gone = next((name for name in before if name not in now), None)
        new = next((name for name in now if name not in before), None)
        words = f"has the new column {new!r}" if gone is None else f"lacks the column {gone!r}"
        words += "; the rows that were read before had other columns"
        raise ChangedSourceError(words, source=self.reader.opened.name)

    def _put(self, item: Block | BaseException | None) -> bool:
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
            self._thread.join(timeout=PATIENCE)  # it may be waiting for a pipe; it ends with the process
            if self._thread.is_alive():
                return
        self.reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def blocks(self, rows: int) -> Iterator[tuple[Any, Array]]:
        """Pairs (X, y) of at most ``rows`` rows for the evaluation."""
        if self.options.target is None:
            raise ValueError("open_rows: give target: the evaluation needs labels")
        for block in self:
            assert block.y is not None
            for first in range(0, len(block), rows):
                yield block.X[first : first + rows], block.y[first : first + rows]

    def _check_names(self, names: list[str]) -> None:
        options = self.options
        if options.target is not None and options.target not in names and options.target_needed:
            raise self._no_target(names)
        there = set(names)
        for name in options.named:
            if name not in there:
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


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
