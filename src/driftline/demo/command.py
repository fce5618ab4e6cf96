"""``driftline demo``. Imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from driftline.cli import errors


def register(app: typer.Typer) -> None:
    """Adds the command to a command line."""
    app.command(short_help="Run the main commands on a generated stream.")(demo)


def demo(
    folder: Annotated[Path, typer.Argument(help="The folder for the files.")] = Path("demo"),
    serve: Annotated[bool, typer.Option("--serve", help="Send the stream through a service, with its live page.")] = False,
    seconds: Annotated[float, typer.Option(help="With --serve: how long the stream takes.", min=0.1, max=3600)] = 60.0,
) -> None:
    """Run the main commands on a generated stream. Takes seconds, and ends with the path of a report.

    \b
    Examples:
      driftline demo
      driftline demo somewhere/else
      driftline demo --serve
    """
    with errors.reported("demo"):
        if serve:
            from driftline.demo import serving

            serving.show(folder, seconds)
        else:
            from driftline.demo import tour

            tour.show(folder)
