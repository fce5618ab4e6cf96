"""Detects the format of a source from its first bytes, not from its name."""

from __future__ import annotations

import array
import gzip
import io
import os
import select
import stat
import sys
import zlib
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from driftline.files.errors import DataError, HaltedError

try:
    import fcntl
    import termios
except ImportError:  # not on Windows
    fcntl = termios = None  # type: ignore[assignment]

CSV, JSON_LINES, PARQUET, ARROW_FILE, ARROW_STREAM = "csv", "json lines", "parquet", "arrow", "arrow stream"
PEEK = 65_536
PIPE = "-"
DAMAGES = (EOFError, zlib.error, gzip.BadGzipFile, OSError)
Peekable = Any  # a BufferedReader over a file, a pipe or unpacked data

_FOREIGN = {
    b"PK\x03\x04": "a zip archive or a spreadsheet; unpack it, or save it as CSV",
    b"BZh": "compressed with bzip2; unpack it, or compress it with gzip",
    b"\xfd7zXZ": "compressed with xz; unpack it, or compress it with gzip",
    b"(\xb5/\xfd": "compressed with zstd; unpack it, or compress it with gzip",
    b"FEA1": "Feather version 1; write it again with a recent version of pandas or Arrow",
    b"\x89PNG": "a picture",
    b"%PDF": "a PDF document",
    b"SQLite format": "a database; export the table as CSV",
    b"\x89HDF": "HDF5; write the table as Parquet or CSV",
}
_UTF_32 = (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass
class Opened:
    """An open source: its format, its bytes (unpacked), and its size if known."""

    name: str
    format: str
    stream: BinaryIO
    path: str | None  # to open it again
    size: int | None
    packed: BinaryIO | None = None  # the compressed stream
    whole: bool = True  # whether it is read from its first row; a pipe goes on where it is
    pipe: Pipe | None = None  # what it is read from, unless that is a file

    @property
    def halted(self) -> bool:
        """Whether reading ended because it was asked to, not at the end of the source."""
        return self.pipe is not None and self.pipe.halted

    def consumed(self) -> int | None:
        """How many of the ``size`` bytes have been read."""
        return (self.packed or self.stream).tell() if self.size is not None else None

    def close(self) -> None:
        """Closes the streams that were opened here."""
        self.stream.close()
        if self.packed is not None:
            self.packed.close()


class Pipe(io.RawIOBase):
    """A pipe as a stream, which can be asked to end.

    Args:
        fd: the descriptor to read from.
        halt: a descriptor that becomes readable when reading should end: what writers have put into the pipe by then is
            still read, and nothing that comes later.
        owned: whether to close ``fd`` with the stream.
    """

    def __init__(self, fd: int, halt: int | None = None, *, owned: bool = False) -> None:
        self.fd, self.halt = fd, None if halt is None else os.dup(halt)
        self.halted, self.owned = False, owned
        self._left = 0  # bytes to read after the request to end

    def readable(self) -> bool:
        """True."""
        return True

    def fileno(self) -> int:
        """The descriptor to wait on."""
        return self.fd

    def at_start_of_file(self) -> bool:
        """Whether the standard input is a file, redirected, at its first byte."""
        return stat.S_ISREG(os.fstat(self.fd).st_mode) and os.lseek(self.fd, 0, os.SEEK_CUR) == 0

    def readinto(self, buffer: object) -> int:
        """Reads whatever has arrived."""
        view = memoryview(buffer)  # type: ignore[arg-type]
        if not self.halted and self._is_asked_to_end():
            self.halted, self._left = True, self._waiting()
        if self.halted and not self._left:
            return 0
        data = os.read(self.fd, min(len(view), self._left) if self.halted else len(view))
        self._left -= len(data) if self.halted else 0
        view[: len(data)] = data
        return len(data)

    def _is_asked_to_end(self) -> bool:
        """Waits for data or for the request to end."""
        try:
            return self.halt is not None and self.halt in select.select([self.fd, self.halt], [], [])[0]
        except (OSError, ValueError):  # this system cannot wait for such a descriptor
            return False

    def _waiting(self) -> int:
        """How many bytes the pipe holds; 0 if it is not a pipe."""
        mode = os.fstat(self.fd).st_mode
        if fcntl is None or not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            return 0
        number = array.array("i", [0])
        fcntl.ioctl(self.fd, termios.FIONREAD, number)
        return number[0]

    def close(self) -> None:
        """Closes the descriptors, but not the standard input."""
        if not self.closed:
            own = [self.fd] if self.owned else []
            for fd in own if self.halt is None else [*own, self.halt]:
                os.close(fd)
        super().close()


def open_source(source: str | os.PathLike[str], halt: int | None = None) -> Opened:
    """Opens a file, or the standard input for ``-``, and detects its format.

    ``halt`` is a descriptor that becomes readable when reading a pipe should end; HaltedError if before the first byte.
    """
    name = os.fspath(source)
    if name == PIPE:
        return _from_pipe("standard input", Pipe(sys.stdin.fileno(), halt))
    if os.path.isdir(name):
        raise DataError("is a folder, not a file", source=name)
    try:
        stream = open(name, "rb", buffering=PEEK)  # noqa: SIM115 - handed on
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DataError(error.strerror or str(error), source=name) from None
    if not os.path.isfile(name):
        pipe = Pipe(os.dup(stream.fileno()), halt, owned=True)
        stream.close()
        return _from_pipe(name, pipe)
    return _identify(name, stream, name, os.fstat(stream.fileno()).st_size)


def _from_pipe(name: str, pipe: Pipe) -> Opened:
    whole = pipe.at_start_of_file()
    try:
        opened = _identify(name, io.BufferedReader(pipe, PEEK), None, None)
    except DataError:
        if pipe.halted:
            raise HaltedError from None
        raise
    return replace(opened, whole=whole, pipe=pipe)


def _identify(name: str, stream: Peekable, path: str | None, size: int | None) -> Opened:
    try:
        return _recognise(name, stream, path, size)
    except BaseException:
        stream.close()
        raise


def _recognise(name: str, stream: Peekable, path: str | None, size: int | None) -> Opened:
    start = _peek(stream, name)
    if start[:2] == b"\x1f\x8b":
        unpacked = io.BufferedReader(gzip.GzipFile(fileobj=stream), PEEK)
        inner = _peek(unpacked, name)
        return Opened(name, _text_format(inner, name), unpacked, path, size, packed=stream)
    for magic, words in _FOREIGN.items():
        if start.startswith(magic):
            raise DataError(f"is {words}", source=name)
    if start[:4] == b"PAR1" or start[:6] == b"ARROW1":
        if path is None:
            raise DataError("Parquet and Arrow files cannot be read from a pipe: give the file's name", source=name)
        return Opened(name, PARQUET if start[:4] == b"PAR1" else ARROW_FILE, stream, path, size)
    if start[:4] == b"\xff\xff\xff\xff":
        return Opened(name, ARROW_STREAM, stream, path, size)
    return Opened(name, _text_format(start, name), stream, path, size)


def _peek(stream: Peekable, name: str) -> bytes:
    try:
        return bytes(stream.peek(PEEK))
    except DAMAGES as error:
        raise _damaged(error, name) from None


def _damaged(error: Exception, name: str) -> DataError:
    return DataError(f"the compressed data is damaged: {error}", source=name)


def _text_format(start: bytes, name: str) -> str:
    if not start:
        raise DataError("is empty", source=name)
    if start.startswith(_UTF_32):
        raise DataError("is text in UTF-32; convert it: iconv -f utf-32 -t utf-8", source=name)
    if start.startswith(_UTF_16) or _looks_like_utf_16(start):
        raise DataError("is text in UTF-16; convert it: iconv -f utf-16 -t utf-8", source=name)
    return JSON_LINES if start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[") else CSV


def _looks_like_utf_16(start: bytes) -> bool:
    """Whether every other byte is zero, as for plain letters."""
    head = start[:64]
    return len(head) >= 8 and (not any(head[1::2]) or not any(head[::2])) and any(head)
