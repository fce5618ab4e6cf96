"""The standard output, which may be closed, full, or without a reader."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

NAME = "the standard output"


@contextmanager
def guarded() -> Iterator[None]:
    """Turns a failure to print into one line on the standard error and exit code 1."""
    if sys.stdout is None:  # closed: prints would be lost silently, and the next file would get its descriptor
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        silence()
        print(f"driftline: {error.filename or NAME}: {error.strerror or error}", file=sys.stderr)
        raise SystemExit(1) from error


def write(data: bytes) -> None:
    """Writes and flushes bytes. An OSError names the standard output."""
    try:
        if hasattr(sys.stdout, "buffer"):
            sys.stdout.buffer.write(data)
        else:
            sys.stdout.write(data.decode())
        sys.stdout.flush()
    except OSError as error:
        silence()
        error.filename = NAME
        raise


def say(text: str) -> None:
    """Prints and flushes a line."""
    write(f"{text}\n".encode())


def silence() -> None:
    """Drops what could not be printed. Otherwise Python would try again at exit, and print a traceback."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
