"""The commands. Each imports what it needs when it runs."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import driftline
from driftline.cli import completion, errors, options, standard_output
from driftline.cli.options import FORMATS, STDOUT
from driftline.cli.paths import PICTURES, check_distinct, check_file
from driftline.cli.plugins import add_commands

DEFAULT_FIELD = "auto,kalman,rls,ridge,nlms"
FORECAST_LEVEL = 0.9  # default coverage of a forecast's intervals
LAYOUT = ("delimiter",)  # reading options for a command whose model brings the others


class Commands(TyperGroup):
    """The group of commands; it handles output that cannot be written."""

    def invoke(self, ctx: Any) -> Any:
        """Runs a command. typer alone would end it silently when the standard output is closed."""
        with standard_output.guarded():
            return super().invoke(ctx)


app = typer.Typer(
    name="driftline",
    cls=Commands,
    help="Regression on streams whose target keeps changing.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"max_content_width": 120},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"driftline {driftline.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    pass


@app.command()
@options.reads_a_file
def run(
    context: typer.Context,
    source: options.Source,
    reading: options.Typed,
    model: options.Model = "auto",
    settings: options.Settings = None,
    half_life: options.HalfLife = None,
    low: options.Low = None,
    high: options.High = None,
    transform: options.Transform = None,
    holidays: options.Holidays = None,
    zone: options.Zone = None,
    delay: options.Delay = 0,
    level: options.Level = None,
    quantiles: options.Quantiles = None,
    steps: options.Steps = None,
    known: options.Known = None,
    smoothing: options.Smoothing = None,
    seasons: options.Seasons = None,
    labels: options.Labels = None,
    pooled: options.Pooled = False,
    out: options.Out = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a report of the run, .html.")] = None,
    state: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the model and the run's state here.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from --state as if the run had never stopped.")] = False,
    from_start: Annotated[
        bool,
        typer.Option(
            "--from-start",
            help="With --resume: the pipe is fed from its first row again; rows learned before are compared and left out. "
            "By default, a pipe goes on with its next row.",
        ),
    ] = False,
    save_every: Annotated[
        int | None, typer.Option(min=1, metavar="ROWS", help="Save the state every ROWS rows; by default every 5 seconds.")
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Predict each row of a file or pipe, then learn it.

    Text becomes categories, times become calendar features, missing numbers are filled in and marked. Memory does not
    grow with the source. Ctrl-C ends a run cleanly: all requested files are saved.

    \b
    Examples:
      driftline run sales.csv --target sales --report report.html
      driftline run load.parquet -t load -m rls -s forgetting=0.99 --out predictions.csv
      tail -n 0 -f sensor.jsonl | driftline run - -t temperature --state model.drift --resume --out -
      driftline run meters.csv -t kwh --delay 24 --level 0.9
      driftline run sales.csv -t sales --quantiles 0.05,0.5,0.95 --out quantiles.csv
      driftline run orders.csv -t days --id order --labels delivered.csv --time when --state model.drift
      driftline run readings.csv -t power --key sensor --report sensors.html --state fleet.drift
      driftline run sales.csv -t sales --key store --pooled --level 0.9 --state stores.drift
      driftline run visits.csv -t visits --low 0 --level 0.9
      driftline run sensor.csv -t power --model rls --time when --half-life 6h
      driftline run past.csv -t load --steps 48 --known price --time when --holidays DE --state model.drift
      driftline run mail.parquet -t folder --task classify --model rls --state model.drift
    """
    from driftline.base.levels import as_spread
    from driftline.base.run import PAGES
    from driftline.cli import arguments, combinations, running, summary

    combinations.check_level(level)
    check_file("--out", out, FORMATS)
    check_file("--report", report, PAGES)
    check_file("--state", state)
    if resume and state is None:
        raise typer.BadParameter("--resume needs --state, the file to continue from")
    if from_start and not resume:
        raise typer.BadParameter("--from-start needs --resume: without it, every row is learned")
    check_distinct({"SOURCE": source, "--labels": labels, "--out": out, "--report": report, "--state": state})
    flags = {"--labels": labels, "--steps": steps, "--delay": delay, "--level": level, "--report": report}
    flags |= {"--quantiles": quantiles, "--pooled": pooled}
    fields = combinations.checked(arguments.reading_of(reading), flags)
    by_the_clock = [*(settings or []), *combinations.half_life_in(half_life, steps, fields)]
    ahead = combinations.known_ahead(known, steps, fields)
    lengths = combinations.seasons_in(seasons, smoothing, steps)
    level = FORECAST_LEVEL if steps is not None and level is None else level
    wanted = combinations.quantiles_in(quantiles)
    kept: dict[str, Any] = {"delay": delay, "level": level, "model": model, "set": sorted(by_the_clock), "steps": steps}
    kept |= {"low": low, "high": high, "transform": transform}
    kept |= {"known": None if ahead is None else list(ahead), "out": None if out is None else Path(out).suffix.lower()}
    added: dict[str, Any] = {"quantiles": None if wanted is None else list(wanted), "pooled": pooled or None}
    added |= {"smoothing": smoothing, "seasons": lengths, "holidays": holidays, "zone": zone}
    kept |= {name: value for name, value in added.items() if value is not None}  # as in the states of earlier versions
    learner = arguments.make_model(model, by_the_clock, arguments.words_in(fields.missing))
    learner = arguments.on_scale(arguments.on_calendar(learner, holidays, zone), low, high, transform)
    request = running.Request(
        source=source,
        options=fields,
        model=arguments.for_task(learner, fields.task),
        settings=fields.plain() | kept,
        delay=delay,
        spread=as_spread("run", level, wanted),
        steps=steps,
        known=ahead,
        smoothing=smoothing,
        seasons=lengths,
        labels=labels,
        pooled=pooled,
        out=out,
        report=report,
        state=state,
        resume=resume,
        from_start=from_start,
        save_every=save_every,
        command=[argument for argument in context.obj or [] if argument not in ("--resume", "--from-start")],
        show=not (quiet or json),
    )
    with errors.reported("run"):
        result = running.run(request)
    files = {"Predictions": out, "Report": report, "State": state}
    there = {what: path for what, path in files.items() if path is not None and path != STDOUT}
    if json:
        typer.echo(dumps(summary.as_plain(result, there)), err=out == STDOUT)
    elif not quiet:
        typer.echo(summary.in_words(result, there), err=out == STDOUT)


@app.command()
def predict(
    model: options.ModelFile,
    source: options.Source,
    out: options.Out = "-",
    level: options.Level = None,
    quantiles: options.Quantiles = None,
    delimiter: options.Delimiter = None,
    key: options.FleetKey = None,
    quiet: options.Quiet = False,
) -> None:
    """Predict rows with a trained model. Nothing is learned.

    Columns become features as they did when the model learned; a new text counts as the average of the known ones. The
    first row follows the last row of the run, and row n of the file is predicted n rows ahead, without the labels in
    between. Only the first row gets an interval, because the model learned to predict only the next row; run --steps and
    forecast look further. After run --id, rows are independent: each has its id and an interval.

    \b
    Examples:
      driftline predict model.drift tomorrow.csv --out predictions.csv
      driftline predict model.drift - --level 0.9 < rows.jsonl
    """
    from driftline.base.levels import as_spread
    from driftline.cli import combinations, predicting

    combinations.check_level(level)
    spread = as_spread("predict", level, combinations.quantiles_in(quantiles))
    check_file("--out", out, FORMATS)
    check_distinct({"MODEL": model, "SOURCE": source, "--out": out})
    with errors.reported("predict", LAYOUT):
        show = not quiet
        count, warning = predicting.predict(
            model, source, out=out or STDOUT, spread=spread, delimiter=delimiter, key=key, show=show
        )
    if not quiet and out != STDOUT:
        typer.echo(f"{count:,} prediction{'' if count == 1 else 's'}: {out}")
    if not quiet and warning is not None:
        typer.echo(f"driftline predict: Warning: {warning}", err=True)


@app.command()
def forecast(
    model: options.ModelFile,
    source: Annotated[
        str | None,
        typer.Argument(metavar="SOURCE", help="The next rows. Not needed if no column is known ahead."),
    ] = None,
    out: options.Out = "-",
    level: Annotated[
        float, typer.Option(metavar="SHARE", help="The share of labels that the intervals should contain.")
    ] = FORECAST_LEVEL,
    quantiles: options.Quantiles = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the forecast as a fan (.png, .svg, .pdf), after the last labels."),
    ] = None,
    delimiter: options.Delimiter = None,
    quiet: options.Quiet = False,
) -> None:
    """Forecast the next rows with a model from run --steps. Nothing is learned.

    The first row follows the last row of the run; there may be up to --steps rows. The columns known ahead must be present,
    without gaps. Other columns may be absent: their values in the last row of the run are used.

    \b
    Examples:
      driftline run visits.csv -t visits --low 0 --level 0.9
      driftline run past.csv -t load --steps 48 --state model.drift
      driftline forecast model.drift future.csv --level 0.9 --out forecast.csv
    """
    from driftline.base.levels import as_spread
    from driftline.cli import combinations, forecasting

    combinations.check_level(level)
    spread = as_spread("forecast", level, combinations.quantiles_in(quantiles))
    check_file("--out", out, FORMATS)
    check_file("--plot", plot, PICTURES)
    check_distinct({"MODEL": model, "SOURCE": source, "--out": out, "--plot": plot})
    with errors.reported("forecast", LAYOUT):
        count, warning = forecasting.forecast(
            model, source, out=out or STDOUT, spread=spread, delimiter=delimiter, plot=plot
        )
    if not quiet and out != STDOUT:
        typer.echo(f"{count:,} row{'' if count == 1 else 's'} ahead: {out}")
    if not quiet and warning is not None:
        typer.echo(f"driftline forecast: Warning: {warning}", err=True)


@app.command(short_help="Show the contents of a model file.")
def inspect(
    model: options.ModelFile,
    top: Annotated[int, typer.Option(min=0, help="How many weights to show, the largest first.")] = 20,
    json: options.Json = False,
) -> None:
    """Show the contents of a model file: weights by feature, memory, certificate.

    \b
    Examples:
      driftline inspect model.drift
      driftline inspect model.drift --json
    """
    from driftline.cli import inspecting

    with errors.reported("inspect"):
        found = inspecting.describe(model)
    typer.echo(dumps(found, indent=2) if json else inspecting.in_words(found, top))


@app.command(short_help="Explain what changed in some rows of a run.")
def explain(
    model: options.ModelFile,
    source: options.Source,
    start: Annotated[str, typer.Option("--from", metavar="ROW|TIME", help="The first row: its number, or its time.")],
    stop: Annotated[str, typer.Option("--to", metavar="ROW|TIME", help="The first row that is not explained.")],
    delimiter: options.Delimiter = None,
    json: options.Json = False,
) -> None:
    """Explain what changed in some rows of a run: the labels, an input, the effect of an input, or the noise.

    The file of the run is read again, by a new model with the same parameters. The rows are compared with up to 2,048 rows
    before them. Times are read if the run had --time; otherwise rows are numbered from 0.

    \b
    Examples:
      driftline explain model.drift sales.csv --from 2026-03-01 --to 2026-03-08
      driftline explain model.drift sales.csv --from 1200 --to 1400 --json
    """
    from dataclasses import asdict

    from driftline.cli import explaining

    with errors.reported("explain", LAYOUT):
        found, target = explaining.explain(model, source, start, stop, delimiter=delimiter)
    if json:
        typer.echo(dumps([asdict(event) for event in found], indent=2))
    else:
        typer.echo("\n".join(f"{event.kind} from row {event.row:,}: {event.sentence(target)}" for event in found))


@app.command(short_help="Compare several learners on the same rows.")
@options.reads_a_file
def compare(
    source: options.Source,
    reading: options.Typed,
    models: Annotated[
        options.Names,
        typer.Option(metavar="A,B", help=f"By default {DEFAULT_FIELD}.", autocompletion=completion.several_models),
    ] = None,
    settings: Annotated[
        options.Names, typer.Option("--set", "-s", metavar="MODEL.NAME=VALUE", help="A parameter of one learner.")
    ] = None,
    low: options.Low = None,
    high: options.High = None,
    transform: options.Transform = None,
    holidays: options.Holidays = None,
    zone: options.Zone = None,
    delay: options.Delay = 0,
    json: options.Json = False,
) -> None:
    """Compare several learners, and simple baselines, on the same rows.

    \b
    Examples:
      driftline compare sales.csv --target sales
      driftline compare load.parquet -t load --models auto,rls -s rls.forgetting=0.99
      driftline compare mail.parquet -t folder --task classify --models auto,rls
    """
    from driftline.base.stability import concerns
    from driftline.cli import arguments, combinations, comparing

    fields = arguments.reading_of(reading)
    combinations.refuse_ids(fields, "compare")
    if fields.key is not None:
        raise typer.BadParameter("--key: compare uses one model for all keys. --drop leaves the column out")
    words = arguments.words_in(fields.missing)
    made = arguments.make_models(models or [DEFAULT_FIELD], settings or [], words)
    learners = {
        name: arguments.for_task(
            arguments.on_scale(arguments.on_calendar(learner, holidays, zone), low, high, transform), fields.task
        )
        for name, learner in made.items()
    }
    with errors.reported("compare"):
        comparison = comparing.compare(source, fields, learners, delay=delay, show=not json)
    table = comparison.table()
    typer.echo(table.to_json().rstrip() if json else f"{table}\n{comparison.verdict()}".rstrip())
    for entry in comparison.entries:
        if entry.failure:
            typer.echo(f"driftline compare: {entry.name} dropped out: {entry.failure}", err=True)
        for words in [] if entry.failure else concerns(entry.model):
            typer.echo(f"driftline compare: {entry.name}: {words}", err=True)


@app.command(short_help="Try settings of a learner on the same rows.")
@options.reads_a_file
def tune(
    source: options.Source,
    reading: options.Typed,
    model: options.Model = "rls",
    grid: Annotated[
        options.Names,
        typer.Option(
            "--grid",
            "-g",
            metavar="NAME=A,B",
            help="Values to try. By default the learner's usual ones.",
            autocompletion=completion.settings,
        ),
    ] = None,
    settings: options.Settings = None,
    delay: options.Delay = 0,
    top: Annotated[int, typer.Option(min=1, help="How many settings to show, the best first.")] = 10,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plot the errors, as .png, .svg or .pdf; needs matplotlib.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Try every setting of a grid on the same rows, in one pass, and show which predicts best.

    Each setting predicts each row before it learns it, so the errors are those on new rows. Auto, which needs no setting,
    is compared too.

    \b
    Examples:
      driftline tune sales.csv --target sales
      driftline tune load.parquet -t load -m kalman -g drift=1e-4,1e-3,1e-2 --picture errors.svg
      driftline tune mail.parquet -t folder --task classify -g forgetting=0.99,0.999,1
    """
    from driftline.cli import arguments, combinations, comparing, tuning

    fields = arguments.reading_of(reading)
    combinations.refuse_ids(fields, "tune")
    check_file("--picture", picture, PICTURES)
    words = arguments.words_in(fields.missing)
    tried, learners = tuning.learners_of(model, tuning.grid_of(model, grid or []), settings or [], fields.task, words)
    with errors.reported("tune"):
        comparison = comparing.compare(source, fields, learners, delay=delay, show=not json)
        found = tuning.Tuning(model, tried, comparison)
        if picture is not None:
            found.sweep().plot(path=picture)
    if json:
        typer.echo(found.table().to_json().rstrip())
        return
    typer.echo(f"{found.table(top)}\n{found.advice()}")
    if picture is not None:
        typer.echo(f"Picture: {picture}")


@app.command(short_help="Write the report of a saved run.")
def report(
    state: Annotated[Path, typer.Argument(metavar="STATE", help="The file that run --report --state saved.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The report, .html.")] = Path("report.html"),
) -> None:
    """Write the report of a run from its saved state. The source is not read again.

    The run must have used --report, which collects the data. It may still be in progress.

    \b
    Examples:
      driftline run sales.csv --target sales --report page.html --state model.drift
      driftline report model.drift --out page.html
    """
    from driftline.base.run import PAGES
    from driftline.cli import reporting

    check_file("--out", out, PAGES)
    check_distinct({"STATE": state, "--out": out})
    with errors.reported("report"):
        rows = reporting.write(state, out)
    typer.echo(f"{rows:,} rows: {out}")


@app.command()
def models(
    name: Annotated[
        str | None,
        typer.Argument(help="Show one learner, with the rules of its parameters.", autocompletion=completion.models),
    ] = None,
    json: options.Json = False,
) -> None:
    """List every learner with a summary and its parameters.

    \b
    Examples:
      driftline models
      driftline models kalman
    """
    from driftline.cli import catalogue

    catalogue.show(name, json)


add_commands(app)
