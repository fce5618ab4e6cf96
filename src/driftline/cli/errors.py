"""Errors as one line and an exit code: 1 for data, 2 for usage."""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import contextmanager

import typer

DATA, USAGE = 1, 2


@contextmanager
def told(command: str, options: Container[str] | None = None) -> Iterator[None]:
    """Turns a command's exceptions into a message on the standard error, without a traceback.

    Args:
        command: the command's name.
        options: the command's reading options, which hints may name; None for all.
    """
    from driftline.cli.checkpoint import StateError
    from driftline.cli.locks import InUseError
    from driftline.cli.outputs import OutputError
    from driftline.errors import ModelFileError
    from driftline.files import DataError

    try:
        yield
    except DataError as error:
        raise _ended(command, error.spelled(as_flags=True, options=options), DATA) from error
    except FileNotFoundError as error:
        raise _ended(command, f"{error.filename}: no such file" if error.filename else str(error), USAGE) from error
    except (StateError, OutputError, InUseError) as error:
        raise _ended(command, str(error), USAGE) from error
    except OSError as error:
        where = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        raise _ended(command, where, DATA) from error
    except (ModelFileError, ImportError) as error:
        raise _ended(command, str(error), DATA) from error
    except MemoryError as error:
        raise _ended(
            command, "there is not enough memory: choose fewer --features, or a learner of cost O(d)", DATA
        ) from error
    except typer.Exit:
        raise
    except Exception as error:  # a bug in driftline: no traceback for the user
        raise _ended(command, f"this should not have happened: {type(error).__name__}: {error}", DATA) from error
    except KeyboardInterrupt as error:
        raise _ended(command, "stopped at once", 130) from error


def _ended(command: str, message: str, code: int) -> typer.Exit:
    typer.echo(f"driftline {command}: {message}", err=True)
    return typer.Exit(code)
