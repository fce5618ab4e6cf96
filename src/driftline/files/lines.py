"""Text in blocks of whole lines, in bounded memory."""

from __future__ import annotations

import io
import select
import zlib
from collections.abc import Iterator
from gzip import BadGzipFile

from driftline.files.errors import DataError, HaltedError
from driftline.files.opening import PEEK, Opened

BLOCK = 4 * 2**20  # bytes parsed at once
FIRST = 2**18  # bytes of the first block, which decides the types
LEAST = 64  # lines of a block, so that long ones do not come singly, up to LARGEST
LARGEST = 32 * 2**20  # bytes of a block
LONGEST = 16 * 2**20  # most bytes of a line
PATIENCE = 0.2  # seconds to wait for more of a pipe's first rows


class LineBlocks:
    """Blocks that end at the end of a line, outside quotes if ``quotes``.

    Args:
        opened: the source.
        quotes: whether a line break inside quotes is part of a value.
    """

    def __init__(self, opened: Opened, quotes: bool) -> None:
        self.opened, self.quotes = opened, quotes
        self.rest = b""
        self.line = 1  # the number of the next line
        self.ended = self._broken_off = False

    @property
    def cut_off(self) -> bool:
        """Whether reading was asked to end within a line or within compressed data."""
        return self._broken_off or (self.opened.halted and bool(self.rest.strip()))

    def header(self) -> bytes:
        """The first line that is not empty, without its line break."""
        self._fill(1)
        while True:
            end = self._end_of_line(self.rest)
            if end is None:
                self._check_length()
            if end is None and not self.ended:
                self._fill(2 * len(self.rest) + 1)
                continue
            line, self.rest = (self.rest, b"") if end is None else (self.rest[:end], self.rest[end:])
            self._check(line)
            self.line += line.count(b"\n")
            if end is None and self.opened.halted:
                raise HaltedError
            if line.strip() or (not self.rest and self.ended):
                return line.strip(b"\r\n").removeprefix(b"\xef\xbb\xbf")

    def _end_of_line(self, data: bytes) -> int | None:
        at, start, quotes = -1, 0, 0
        while (at := data.find(b"\n", start)) >= 0:
            quotes += data.count(b'"', start, at)
            if not self.quotes or quotes % 2 == 0:
                return at + 1
            start = at + 1
        return None

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        """Blocks of whole lines, each with the number of its first line."""
        wanted = FIRST
        while True:
            self._fill(wanted, patiently=wanted == FIRST)
            self._fill(min(LEAST * (self.rest.find(b"\n") + 1), LARGEST))
            if not self.rest:
                return
            halted = self.opened.halted
            cut = len(self.rest) if self.ended and not halted else self._cut()
            if cut == 0 and halted:
                return
            if cut == 0:
                wanted = len(self.rest) + BLOCK
                self._check_length()
                continue
            block, self.rest = self.rest[:cut], self.rest[cut:]
            self._check(block)
            first, self.line = self.line, self.line + block.count(b"\n")
            if not block.endswith(b"\n"):
                self.line += 1
            wanted = BLOCK
            yield block, first

    def _cut(self) -> int:
        """The end of the last complete line; 0 if there is none yet."""
        data, last = self.rest, self.rest.rfind(b"\n")
        if not self.quotes or last < 0 or b'"' not in data:
            return last + 1
        at, quotes = last, data.count(b'"', 0, last)
        while quotes % 2 and at >= 0 and last - at < LONGEST // 4:
            before = data.rfind(b"\n", 0, at)
            quotes -= data.count(b'"', max(before, 0), at)
            at = before
        if at >= 0 and quotes % 2 == 0:
            return at + 1
        return last + 1 if len(data) > LONGEST // 2 else 0  # a stray quote, such as inches or seconds

    def _fill(self, wanted: int, patiently: bool = False) -> None:
        """Reads until ``wanted`` bytes are there; from a pipe, until something new is."""
        parts, have = [self.rest], len(self.rest)
        live = self.opened.size is None and self.opened.packed is None
        if live and b"\n" in self.rest and not (patiently and self._more_soon()):
            return
        while have < wanted and not self.ended:
            data = self._read(2**20 if live else min(max(wanted - have, PEEK), 2**20))
            if not data:
                self.ended = True
                break
            parts.append(data)
            have += len(data)
            if live and b"\n" in data and not (patiently and self._more_soon()):
                break
            if live:
                self.rest = b"".join(parts)
                parts = [self.rest]
                self._check_length()
        self.rest = b"".join(parts)

    def _more_soon(self) -> bool:
        try:
            return bool(select.select([self.opened.stream], [], [], PATIENCE)[0])
        except (OSError, ValueError, io.UnsupportedOperation):
            return False

    def _read(self, size: int) -> bytes:
        stream = self.opened.stream
        try:
            return stream.read1(size) if isinstance(stream, io.BufferedReader) else stream.read(size)
        except (EOFError, zlib.error, BadGzipFile) as error:
            if self.opened.halted:
                self._broken_off = True
                return b""
            raise DataError(
                f"the compressed data is damaged or ends too early: {error}",
                source=self.opened.name,
                place=f"after line {self.line + self.rest.count(bytes([10])) - 1:,}",
            ) from None
        except OSError as error:
            raise DataError(error.strerror or str(error), source=self.opened.name) from None

    def _check_length(self) -> None:
        if len(self.rest) > LONGEST and not 0 <= self.rest.find(b"\n") <= LONGEST:
            raise DataError(
                f"the line is longer than {LONGEST // 2**20} MB; is this text with line breaks?",
                source=self.opened.name,
                place=f"line {self.line:,}",
            )

    def _check(self, block: bytes) -> None:
        at = block.find(b"\0")
        if at >= 0:
            raise DataError(
                "there is a NUL byte: the file is damaged, or not UTF-8 text",
                source=self.opened.name,
                place=f"line {self.line + block.count(bytes([10]), 0, at):,}",
            )
