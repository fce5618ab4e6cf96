"""The bodies of the commands: check the arguments, do the work, and print the result."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import typer

from driftline.base.run import PAGES
from driftline.cli import errors
from driftline.cli.arguments import make_model, names_in, reading_of
from driftline.cli.options import FORMATS, STDOUT, Typed
from driftline.cli.paths import PICTURES, check_distinct, check_file
from driftline.files import Options
from driftline.files.options import CLASSIFY
from driftline.tables.columns import SKIP

LAYOUT = ("delimiter",)  # reading options for a command whose model brings the others
FORECAST_LEVEL = 0.9  # default coverage of a forecast's intervals


def run(
    source: str,
    reading: Typed,
    *,
    model: str,
    settings: list[str],
    delay: int,
    level: float | None,
    steps: int | None,
    known: list[str] | None,
    labels: str | None,
    out: str | None,
    report: Path | None,
    state: Path | None,
    resume: bool,
    save_every: int | None,
    as_json: bool,
    quiet: bool,
    command: list[str],
) -> None:
    """``driftline run``."""
    from driftline.cli import running, summary

    _check_level(level)
    check_file("--out", out, FORMATS)
    check_file("--report", report, PAGES)
    check_file("--state", state)
    if resume and state is None:
        raise typer.BadParameter("--resume needs --state, the file to continue from")
    check_distinct({"SOURCE": source, "--labels": labels, "--out": out, "--report": report, "--state": state})
    options = reading_of(reading)
    if labels is not None:
        options = replace(options, target_needed=False)
    _check_matching(labels, options, {"--steps": steps, "--delay": delay, "--report": report})
    options = _check_keyed(options, {"--id": options.id, "--labels": labels, "--steps": steps, "--delay": delay})
    _check_task(options, {"--level": level, "--steps": steps, "--id": options.id, "--report": report})
    ahead = _known_ahead(steps, known, delay, options)
    level = FORECAST_LEVEL if steps is not None and level is None else level
    request = running.Request(
        source=source,
        options=options,
        model=make_model(model, settings, task=options.task),
        settings=options.plain()
        | {"delay": delay, "level": level, "model": model, "set": sorted(settings)}
        | {"steps": steps, "known": None if ahead is None else list(ahead)}
        | {"out": None if out is None else Path(out).suffix.lower()},
        delay=delay,
        level=level,
        steps=steps,
        known=ahead,
        labels=labels,
        out=out,
        report=report,
        state=state,
        resume=resume,
        save_every=save_every,
        command=[argument for argument in command if argument != "--resume"],
        show=not (quiet or as_json),
    )
    with errors.told("run"):
        result = running.run(request)
    files = {"Predictions": out, "Report": report, "State": state}
    there = {what: path for what, path in files.items() if path is not None and path != STDOUT}
    to_stderr = out == STDOUT
    if as_json:
        typer.echo(json.dumps(summary.as_plain(result, there)), err=to_stderr)
    elif not quiet:
        typer.echo(summary.in_words(result, there), err=to_stderr)


def _check_task(options: Options, others: dict[str, object]) -> None:
    """Refuses options that cannot be combined with classes."""
    for option, value in others.items():
        if options.task == CLASSIFY and value:
            raise typer.BadParameter(f"{option} cannot be combined with --task classify")


def _check_matching(labels: str | None, options: Options, others: dict[str, object]) -> None:
    """Checks the options for labels that come by id."""
    if options.id is None and labels is not None:
        raise typer.BadParameter("--labels needs --id, the column that says which row a label belongs to")
    if labels is not None and options.time is None:
        raise typer.BadParameter("--labels needs --time, a column of both files: it tells which labels were known when")
    for option, value in others.items():
        if options.id is not None and value:
            raise typer.BadParameter(f"{option} cannot be combined with --id")


def _check_keyed(options: Options, others: dict[str, object]) -> Options:
    """Checks the options for a model per key. Missing numbers are not filled in: the row above may have another key."""
    if options.key is None:
        return options
    for option, value in others.items():
        if value:
            raise typer.BadParameter(f"{option} cannot be combined with --key")
    for policy in options.missing.values():
        if policy != SKIP:
            raise typer.BadParameter(
                f"--missing {policy} cannot be combined with --key: it would use values of other keys. skip is the default"
            )
    return replace(options, missing={"": SKIP})


def _known_ahead(steps: int | None, known: list[str] | None, delay: int, options: Options) -> tuple[str, ...] | None:
    """The columns known ahead; None for all."""
    if steps is None and known is not None:
        raise typer.BadParameter("--known needs --steps: it names the columns known ahead")
    if steps is not None and delay:
        raise typer.BadParameter(
            f"--delay cannot be combined with --steps: if labels come {delay} rows late, add {delay} to --steps"
        )
    ahead = None if known is None else names_in(known)
    for name in ahead or ():
        if name == options.target:
            raise typer.BadParameter(f"{name} is the target: it cannot be among --known")
        if not options.is_feature(name):
            raise typer.BadParameter(f"{name} is among --known, but --features or --drop leave it out")
    return ahead


def _check_level(level: float | None) -> None:
    from driftline.base.rules import PROBABILITY

    if level is not None and not PROBABILITY.accepts(level):
        raise typer.BadParameter(f"--level must be {PROBABILITY.words}, got {level:g}")


def predict(model: Path, source: str, *, out: str, level: float | None, delimiter: str | None, quiet: bool) -> None:
    """``driftline predict``."""
    from driftline.cli import predicting

    _check_level(level)
    check_file("--out", out, FORMATS)
    check_distinct({"MODEL": model, "SOURCE": source, "--out": out})
    with errors.told("predict", LAYOUT):
        count = predicting.predict(model, source, out=out, level=level, delimiter=delimiter, show=not quiet)
    if not quiet and out != STDOUT:
        typer.echo(f"{count:,} predictions: {out}")
    if not quiet and level is not None and count > 1:
        typer.echo(f"driftline predict: {predicting.FURTHER_AHEAD}", err=True)


def forecast(model: Path, source: str | None, *, out: str, level: float, delimiter: str | None, quiet: bool) -> None:
    """``driftline forecast``."""
    from driftline.cli import forecasting

    _check_level(level)
    check_file("--out", out, FORMATS)
    check_distinct({"MODEL": model, "SOURCE": source, "--out": out})
    with errors.told("forecast", LAYOUT):
        count, warning = forecasting.forecast(model, source, out=out, level=level, delimiter=delimiter)
    if not quiet and out != STDOUT:
        typer.echo(f"{count:,} row{'' if count == 1 else 's'} ahead: {out}")
    if not quiet and warning is not None:
        typer.echo(f"driftline forecast: Warning: {warning}", err=True)


def inspect(model: Path, *, top: int, as_json: bool) -> None:
    """``driftline inspect``."""
    from driftline.cli import inspecting

    with errors.told("inspect"):
        found = inspecting.describe(model)
    typer.echo(json.dumps(found, indent=2) if as_json else inspecting.in_words(found, top))


def compare(source: str, reading: Typed, *, models: list[str], settings: list[str], delay: int, as_json: bool) -> None:
    """``driftline compare``."""
    from driftline.base.stability import concerns
    from driftline.cli import comparing

    options = reading_of(reading)
    if options.id is not None:
        raise typer.BadParameter("--id: compare needs each label in its own row. --drop leaves the column out")
    if options.key is not None:
        raise typer.BadParameter("--key: compare uses one model for all keys. --drop leaves the column out")
    names = list(dict.fromkeys(names_in(models)))
    given: dict[str, list[str]] = {name: [] for name in names}
    for setting in settings:
        name, dot, rest = setting.partition(".")
        if not dot or name not in given:
            raise typer.BadParameter(f"--set takes model.name=value, with one of {', '.join(names)}, got {setting!r}")
        given[name].append(rest)
    learners = {name: make_model(name, values, task=options.task) for name, values in given.items()}
    with errors.told("compare"):
        comparison = comparing.compare(source, options, learners, delay=delay, show=not as_json)
    typer.echo(
        comparison.table().to_json().rstrip() if as_json else f"{comparison.table()}\n{comparison.verdict()}".rstrip()
    )
    for entry in comparison.entries:
        if entry.failure:
            typer.echo(f"driftline compare: {entry.name} dropped out: {entry.failure}", err=True)
        for words in [] if entry.failure else concerns(entry.model):
            typer.echo(f"driftline compare: {entry.name}: {words}", err=True)


def tune(
    source: str,
    reading: Typed,
    *,
    model: str,
    grid: list[str],
    settings: list[str],
    delay: int,
    top: int,
    picture: Path | None,
    as_json: bool,
) -> None:
    """``driftline tune``."""
    from driftline.cli import comparing, tuning

    options = reading_of(reading)
    if options.id is not None:
        raise typer.BadParameter("--id: tune needs each label in its own row. --drop leaves the column out")
    check_file("--picture", picture, PICTURES)
    tried, learners = tuning.learners_of(model, tuning.grid_of(model, grid), settings, options.task)
    with errors.told("tune"):
        comparison = comparing.compare(source, options, learners, delay=delay, show=not as_json)
        found = tuning.Tuning(model, tried, comparison)
        if picture is not None:
            found.sweep().plot(path=picture)
    if as_json:
        typer.echo(found.table().to_json().rstrip())
    else:
        typer.echo(f"{found.table(top)}\n{found.advice()}")
        if picture is not None:
            typer.echo(f"Picture: {picture}")


def report(state: Path, *, out: Path) -> None:
    """``driftline report``."""
    from driftline.cli import reporting

    check_file("--out", out, PAGES)
    check_distinct({"STATE": state, "--out": out})
    with errors.told("report"):
        rows = reporting.write(state, out)
    typer.echo(f"{rows:,} rows: {out}")
