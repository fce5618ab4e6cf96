"""Errors as one line and an exit code: 1 for data, 2 for usage."""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import contextmanager

import typer

DATA, USAGE = 1, 2


class StoppedError(Exception):
    """A command was stopped cleanly, before there was anything to report."""


@contextmanager
def reported(command: str, options: Container[str] | None = None) -> Iterator[None]:
    """Turns a command's exceptions into a message on the standard error, without a traceback.

    Args:
        command: the command's name.
        options: the command's reading options, which hints may name; None for all.
    """
    try:
        yield
    except typer.Exit:
        raise
    except StoppedError as error:
        raise _ended(command, str(error), 0) from error
    except Exception as error:
        raise _ended(command, *_explained(error, options)) from error
    except KeyboardInterrupt as error:
        raise _ended(command, "stopped at once", 130) from error


def _explained(error: Exception, options: Container[str] | None) -> tuple[str, int]:
    """The message and the exit code. Files and tables are imported here: a service that runs for months needs neither."""
    if isinstance(error, MemoryError):
        return "there is not enough memory: choose fewer --features, or a learner of cost O(d)", DATA
    from driftline.cli.checkpoint import StateError
    from driftline.cli.locks import InUseError
    from driftline.cli.outputs import OutputError
    from driftline.errors import ModelFileError
    from driftline.files import DataError
    from driftline.files.errors import ChangedSourceError

    if isinstance(error, ChangedSourceError):
        return f"{error}. To start over, leave out --resume", USAGE
    if isinstance(error, DataError):
        return error.spelled(as_flags=True, options=options), DATA
    if isinstance(error, FileNotFoundError):
        return f"{error.filename}: no such file" if error.filename else str(error), USAGE
    if isinstance(error, (StateError, OutputError, InUseError)):
        return str(error), USAGE
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error), DATA
    if isinstance(error, (ModelFileError, ImportError)):
        return str(error), DATA
    # a bug in driftline: no traceback for the user
    return f"internal error: {type(error).__name__}: {error}", DATA


def _ended(command: str, message: str, code: int) -> typer.Exit:
    typer.echo(f"driftline {command}: {message}", err=True)
    return typer.Exit(code)
