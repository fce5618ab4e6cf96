"""Detects the format of a source from its first bytes, not from its name."""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import zlib
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from driftline.files.errors import DataError

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

    def consumed(self) -> int | None:
        """How many of the ``size`` bytes have been read."""
        return (self.packed or self.stream).tell() if self.size is not None else None

    def close(self) -> None:
        """Closes the streams that were opened here."""
        self.stream.close()
        if self.packed is not None:
            self.packed.close()


class Pipe(io.RawIOBase):
    """The standard input as a stream. Closing the stream does not close the standard input."""

    def __init__(self) -> None:
        self.fd = sys.stdin.fileno()

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
        data = os.read(self.fd, len(view))
        view[: len(data)] = data
        return len(data)


def open_source(source: str | os.PathLike[str]) -> Opened:
    """Opens a file, or the standard input for ``-``, and detects its format."""
    name = os.fspath(source)
    if name == PIPE:
        pipe = Pipe()
        return _identify("standard input", io.BufferedReader(pipe, PEEK), None, None, whole=pipe.at_start_of_file())
    if os.path.isdir(name):
        raise DataError("is a folder, not a file", source=name)
    try:
        stream = open(name, "rb", buffering=PEEK)  # noqa: SIM115 - handed on
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DataError(error.strerror or str(error), source=name) from None
    regular = os.path.isfile(name)
    size = os.fstat(stream.fileno()).st_size if regular else None
    return _identify(name, stream, name if regular else None, size, whole=regular)


def _identify(name: str, stream: Peekable, path: str | None, size: int | None, whole: bool) -> Opened:
    try:
        return replace(_recognise(name, stream, path, size), whole=whole)
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
