"""``driftline consume``. Modules are imported when it runs."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftline.cli import errors
from driftline.cli.options import Settings

if TYPE_CHECKING:
    from driftline.consume.entries import Source
    from driftline.consume.loop import Model

_ADAPTERS = {
    "kafka": ("kafka", "KafkaTopics"),
    "mqtt": ("mqtt", "MqttTopics"),
    "mqtts": ("mqtt", "MqttTopics"),
    "postgresql": ("postgres", "PostgresTable"),
    "redis": ("redis_streams", "RedisStreams"),
    "rediss": ("redis_streams", "RedisStreams"),
}
_LIBRARIES = ("confluent_kafka", "cimpl", "paho", "psycopg", "redis")  # their errors are no errors of driftline
_BAD = (TypeError, ValueError)
_WORDS = "The name of the stream, topic or table "


def register(app: typer.Typer) -> None:
    """Adds the command to a command line."""
    app.command(short_help="Learn from a queue, each entry exactly once.")(consume)


def consume(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="URL#NAME: redis://localhost:6379/0#readings")],
    service: Annotated[list[str] | None, typer.Option(metavar="URL", help="The service; may be repeated.")] = None,
    state: Annotated[Path | None, typer.Option(metavar="FILE", help="Without a service: the file of the model.")] = None,
    model: Annotated[
        str, typer.Option("--model", "-m", help="The model of the service; with --state, the learner to start with.")
    ] = "auto",
    settings: Settings = None,
    target: Annotated[str, typer.Option("--target", "-t", metavar="FIELD", help="The label.")] = "y",
    id: Annotated[str, typer.Option(metavar="FIELD", help="What rows and labels are matched by.")] = "id",
    key: Annotated[str | None, typer.Option(metavar="FIELD", help="The key, for a model for each key.")] = None,
    drop: Annotated[list[str] | None, typer.Option(metavar="FIELD", help="A field that is not a feature.")] = None,
    labels: Annotated[
        str | None, typer.Option(metavar="NAME", help=_WORDS + "of the labels, if not that of the rows.")
    ] = None,
    predictions: Annotated[str | None, typer.Option(metavar="NAME", help=_WORDS + "for the predictions.")] = None,
    rejected: Annotated[
        str | None, typer.Option(metavar="NAME", help=_WORDS + "for entries that are set aside; NAME.rejected by default.")
    ] = None,
    group: Annotated[str, typer.Option(help="The name under which the source keeps what was consumed.")] = "driftline",
    by: Annotated[str | None, typer.Option(metavar="COLUMN", help="PostgreSQL: integers that grow; id by default.")] = None,
    notify: Annotated[str | None, typer.Option(metavar="CHANNEL", help="PostgreSQL: LISTEN here, do not poll.")] = None,
    batch: Annotated[int, typer.Option(help="The most entries to take at once.", min=1, max=10_000)] = 500,
    level: Annotated[float, typer.Option(help="With --state: the level of the intervals.")] = 0.9,
    waiting: Annotated[int, typer.Option(help="With --state: how many rows may wait for labels.", min=1)] = 10_000,
    token_file: Annotated[Path | None, typer.Option(help="A file with a token of the scope write.")] = None,
    metrics: Annotated[int | None, typer.Option(metavar="PORT", help="Serve /metrics on this port of the loopback.")] = None,
    until_idle: Annotated[bool, typer.Option("--until-idle", help="End once no entry has come for a second.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors that end the command.")] = False,
) -> None:
    """Learn from a queue, each entry exactly once, whatever is killed. Ctrl-C and SIGTERM end it after the current batch.

    An entry with features is a row; with a label, it is predicted and learned; without one, it waits for the label
    of its id. An entry with an id and a label alone is a label. Entries that cannot be used are set aside.

    \b
    Examples:
      driftline consume redis://localhost:6379/0#readings --service http://127.0.0.1:8440 --model load --predictions out
      driftline consume redis://localhost:6379/0#readings --state load.drift --model rls --target load
    """
    from driftline.cli import arguments, locks, signals
    from driftline.client import Client, ServiceError
    from driftline.consume import Counts, Fields, ServiceModel, StateModel
    from driftline.consume import consume as run
    from driftline.consume.metrics import serve
    from driftline.fleet import Fleet

    if (service is None) == (state is None):
        raise typer.BadParameter("give either --service, or --state FILE to learn without one")
    places = {"labels": labels, "predictions": predictions, "rejected": rejected, "group": group}
    places |= {"by": by, "notify": notify}
    found = source_of(source, {name: value for name, value in places.items() if value is not None})
    learner = None if state is None else arguments.make_model(model, settings or [])
    with errors.reported("consume"), signals.Stop() as stop, locks.locked("consume", {"--state": state}):
        counts = Counts()
        server = None if metrics is None else serve(counts, metrics)

        def say(line: str) -> None:
            if not quiet:
                typer.echo(f"driftline consume: {line}", err=True)

        taker: Model
        if state is not None and learner is not None:
            taker = StateModel(state, learner if key is None else Fleet(learner), level=level, waiting=waiting)
        else:
            token = None if token_file is None else token_file.read_text().strip()
            taker = ServiceModel(Client(service or [], token, patience=5.0), model, predict=predictions is not None)
        fields = Fields(target, id, key, tuple(drop or ()))
        try:
            run(
                found,
                taker,
                fields,
                batch=batch,
                until_idle=until_idle,
                stop=lambda: bool(stop.asked),
                counts=counts,
                say=say,
            )
        except Exception as error:
            if not isinstance(error, (ServiceError, *_BAD)) and type(error).__module__.partition(".")[0] not in _LIBRARIES:
                raise
            typer.echo(f"driftline consume: {error}", err=True)
            raise typer.Exit(errors.DATA) from error
        finally:
            if server is not None:
                server.shutdown()
                server.server_close()
    typer.echo(json.dumps(asdict(counts)))


def source_of(text: str, options: dict[str, Any]) -> Source:
    """The source of a URL#NAME."""
    url, _, name = text.partition("#")
    scheme = url.partition("://")[0]
    if scheme not in _ADAPTERS or not name:
        raise typer.BadParameter(f"SOURCE must be URL#NAME with a URL of {', '.join(_ADAPTERS)}, got {text!r}")
    module, cls = _ADAPTERS[scheme]
    with errors.reported("consume"):
        made: Source = getattr(import_module(f"driftline.consume.{module}"), cls)(url, name, **options)
    return made
