"""``driftline demo``. What it needs is imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from driftline.cli import errors


def register(app: typer.Typer) -> None:
    """Adds the command to a command line."""
    app.command(short_help="Show all of it, on a stream that is made here.")(demo)


def demo(folder: Annotated[Path, typer.Argument(help="Where the files go.")] = Path("demo")) -> None:
    """Show all of it in seconds, on a stream that is made here; ends with the path of a report.

    \b
    Examples:
      driftline demo
      driftline demo somewhere/else
    """
    from driftline.demo.tour import show

    with errors.told("demo"):
        show(folder)
