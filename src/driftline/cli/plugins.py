"""Commands of other packages.

An entry point of the group ``driftline.commands`` names a function that takes the command line, a ``typer.Typer``, and adds
its commands. It runs whenever the command line starts, so it should import little.
"""

from __future__ import annotations

from importlib.metadata import entry_points

import typer

GROUP = "driftline.commands"


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of all installed packages; reports those that cannot be loaded on the standard error."""
    for point in sorted(entry_points(group=GROUP)):
        try:
            point.load()(app)
        except Exception as error:  # another package's fault; the other commands still work
            typer.echo(f"driftline: the command {point.name} of {point.value} cannot be loaded: {error}", err=True)
