"""``driftline push``. Modules are imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from driftline.cli import errors


def register(app: typer.Typer) -> None:
    """Adds the command to a command line."""
    app.command(short_help="Put a trained model into a service.")(push)


def push(
    file: Annotated[Path, typer.Argument(help="A model that `driftline run --state` or Python saved.")],
    url: Annotated[str, typer.Argument(help="The address of the service.")],
    name: Annotated[str, typer.Argument(help="The name of the new model.")],
    level: Annotated[float, typer.Option(help="The level of the intervals.")] = 0.9,
    token_file: Annotated[Path | None, typer.Option(help="A file with a token of the scope admin.")] = None,
    alias: Annotated[str | None, typer.Option(help="An alias that stands for the model from then on.")] = None,
) -> None:
    """Put a trained model into a running service, which goes on learning. A fleet becomes a keyed model.

    \b
    Examples:
      driftline push model.drift http://127.0.0.1:8440 load-2 --alias load
    """
    with errors.reported("push"):
        from driftline.client import Client, ServiceError

        data, token = file.read_bytes(), None if token_file is None else token_file.read_text().strip()
        try:
            with Client(url, token) as client:
                status = client.push(name, data, level=level)
                if alias is not None:
                    client.alias(alias, name)
        except ServiceError as error:
            typer.echo(f"driftline push: {error}", err=True)
            raise typer.Exit(errors.DATA) from error
    keys = f", {status['keys']} keys" if status["keyed"] else ""
    typer.echo(f"{name}: {status['learner']}{keys}")
