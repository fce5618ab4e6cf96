"""The command line. typer is imported when it is called."""

from __future__ import annotations

import sys
from collections.abc import Sequence

MISSING = 'driftline: the command line needs typer and rich: pip install "driftline[cli]"'


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line, and ends the process with its exit code.

    Args:
        arguments: what follows the program's name; by default that of this process.
    """
    try:
        import typer  # noqa: F401
    except ImportError:
        print(MISSING, file=sys.stderr)
        raise SystemExit(1) from None
    from driftline.cli.app import app

    given = sys.argv[1:] if arguments is None else list(arguments)
    app(args=given, obj=given, prog_name="driftline")
