"""The command line. typer is imported only when it runs."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from importlib.util import find_spec

from driftline.cli import standard_output
from driftline.errors import missing_extra

NEEDED = ("typer", "pyarrow")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line, and ends the process with its exit code.

    Args:
        arguments: the arguments after the program's name; by default those of this process.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    lacking = [package for package in NEEDED if find_spec(package) is None]
    if lacking:
        print(f"driftline: {missing_extra('the command line needs', ' and '.join(lacking), 'cli')}", file=sys.stderr)
        raise SystemExit(1)
    from driftline.cli.app import app

    try:
        with standard_output.guarded():
            app(args=given, obj=given, prog_name="driftline")
    except SystemExit as ended:
        if arguments is None and any(thread.daemon for thread in threading.enumerate()):
            sys.stderr.flush()
            os._exit(
                int(ended.code or 0)
            )  # Arrow aborts a process that exits in the usual way while the reader's thread is in it
        raise
