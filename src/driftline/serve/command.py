"""``driftline serve``, ``backup``, ``migrate`` and ``token``. Modules are imported when they run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from driftline.cli import errors

Folder = Annotated[Path, typer.Argument(help="The service's folder: its log and its models.", metavar="DIR")]


def register(app: typer.Typer) -> None:
    """Adds the commands to a command line."""
    app.command(short_help="Run models as an HTTP service.")(serve)
    app.command(short_help="Copy a service's folder while it runs.")(backup)
    app.command(short_help="Rewrite older models in the format of this version.")(migrate)
    app.command(short_help="Create an access token for a service.")(token)


def serve(
    folder: Folder,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 for any free port.", min=0, max=65535)] = 8440,
    tokens: Annotated[Path | None, typer.Option(help="A file of token hashes, written by `driftline token`.")] = None,
    store: Annotated[str | None, typer.Option(help="Store the log in PostgreSQL instead: postgresql://…")] = None,
    remember: Annotated[int, typer.Option(help="Number of labels per model whose ids are remembered.", min=1)] = 1_000_000,
    entries: Annotated[
        int, typer.Option(help="Number of calls in the log after which models are saved and the log is truncated.", min=1)
    ] = 10_000,
    timeout: Annotated[float, typer.Option(help="Seconds within which a client must send a body.", min=0.1)] = 30.0,
    waiting: Annotated[int, typer.Option(help="Number of rows per model that may wait for labels.", min=1)] = 100_000,
    access_log: Annotated[bool, typer.Option("--access-log", help="Log each call.")] = False,
    webhook: Annotated[str | None, typer.Option(help="A URL to which alarms are posted.")] = None,
    webhook_secret: Annotated[Path | None, typer.Option(help="A file with a secret that signs what is posted.")] = None,
    early: Annotated[int, typer.Option(help="Number of labels per model that may come before their rows.", min=0)] = 0,
) -> None:
    """Run models as an HTTP service. Acknowledged calls survive kill -9 and power loss.

    \b
    Examples:
      driftline serve models/
      driftline serve models/ --host 0.0.0.0 --tokens tokens.txt
      driftline serve models/ --store postgresql://service@db/models
    """
    from driftline.serve.limits import Limits
    from driftline.serve.problems import StoreError
    from driftline.serve.server import serve as run
    from driftline.serve.webhook import Webhook

    with errors.reported("serve"):
        try:
            limits = Limits(remembered=remember, entries=entries, seconds=timeout, waiting=waiting, early=early)
            alarms = None if webhook is None else Webhook(webhook, webhook_secret)
            run(folder, host, port, tokens, store, limits, alarms, access_log)
        except StoreError as error:
            typer.echo(f"driftline serve: {error}", err=True)
            raise typer.Exit(errors.DATA) from error


def backup(
    folder: Folder, to: Annotated[Path, typer.Argument(help="A folder for the copy, which `driftline serve` can use.")]
) -> None:
    """Copy the folder of a running service, including everything acknowledged so far.

    \b
    Examples:
      driftline backup models/ backups/monday
    """
    from driftline.serve.sqlite import backup as copy

    with errors.reported("backup"):
        copy(folder, to)


def migrate(
    folder: Annotated[Path, typer.Argument(help="A service's folder, or one with model files.", metavar="DIR")],
    store: Annotated[str | None, typer.Option(help="The PostgreSQL of a service, besides: postgresql://…")] = None,
) -> None:
    """Rewrite a stopped service's models, and the model files in a folder, in the format of this version.

    Each version reads what earlier ones wrote, from format 10 on, so this is needed only before a version that does not.

    \b
    Examples:
      driftline migrate models/
    """
    from driftline.serve.migration import migrate as run
    from driftline.serve.problems import StoreError
    from driftline.serve.server import open_store
    from driftline.serve.sqlite import FILE

    with errors.reported("migrate"):
        try:
            if not folder.is_dir():
                raise FileNotFoundError(f"{folder}: no such folder")
            opened = open_store(folder, store) if store is not None or (folder / FILE).is_file() else None
            try:
                older, wrong = run(folder, opened)
            finally:
                if opened is not None:
                    opened.close()
        except StoreError as error:
            typer.echo(f"driftline migrate: {error}", err=True)
            raise typer.Exit(errors.DATA) from error
        typer.echo(f"{older} rewritten")
        for name, reason in wrong.items():
            typer.echo(f"driftline migrate: {name}: {reason}", err=True)
        if wrong:
            raise typer.Exit(errors.DATA)


def token(
    file: Annotated[Path, typer.Argument(help="The file for --tokens, to which a line is added.")],
    scope: Annotated[str, typer.Option(help="read, write or admin; each includes those before it.")] = "write",
    name: Annotated[str, typer.Option(help="A name that identifies the line in the file.")] = "",
    model: Annotated[list[str] | None, typer.Option(help="A model or alias that the token is for; may be repeated.")] = None,
) -> None:
    """Create a token, print it once, and add its hash to a file. A running service picks it up within seconds.

    \b
    Examples:
      driftline token tokens.txt --scope admin --name deploy
      driftline token tokens.txt --scope write --model demand
    """
    import re

    from driftline.serve.requests import NAME
    from driftline.serve.tokens import SCOPES, digest_of, new_token

    if scope not in SCOPES:
        raise typer.BadParameter(f"--scope must be one of {', '.join(SCOPES)}, got {scope!r}")
    if wrong := [each for each in model or [] if not re.fullmatch(NAME, each)]:
        raise typer.BadParameter(f"--model must be the name of a model or an alias, got {wrong[0]!r}")
    made, of = new_token(), f":{','.join(model)}" if model else ""
    with errors.reported("token"):
        file.touch(mode=0o600)
        with open(file, "a") as lines:
            lines.write(f"{digest_of(made)} {scope}{of} {' '.join(name.split())}".rstrip() + "\n")
    typer.echo(made)
