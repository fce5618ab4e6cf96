"""Options that several commands share, with their help texts."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from driftline.cli import completion

Names = list[str] | None
Typed = dict[str, Any]  # options as typed, by name
STDOUT = "-"
FORMATS = (".csv", ".jsonl", ".parquet")  # for predictions

Source = Annotated[
    str,
    typer.Argument(metavar="SOURCE", help="CSV (gzipped or not), Parquet, Arrow or JSON lines; - means standard input."),
]


def _columns(help: str, *names: str, metavar: str = "COLUMN") -> Any:  # noqa: A002 - the word of typer
    """An option that takes columns of the source."""
    return typer.Option(*names, metavar=metavar, help=help, autocompletion=completion.columns)


Target = Annotated[str, _columns("The column to predict.", "--target", "-t")]
Task = Annotated[
    str,
    typer.Option(metavar="TASK", help="regress, or classify if the target holds classes.", autocompletion=completion.tasks),
]
Features = Annotated[Names, _columns("Columns to use; all by default.", metavar="A,B")]
Drop = Annotated[Names, _columns("Columns to leave out.", metavar="A,B")]
Id = Annotated[
    str | None,
    _columns("The column of ids, not a feature. A row without a label waits until a later row or --labels supplies it."),
]
FleetKey = Annotated[
    str | None,
    typer.Option("--key", metavar="COLUMN", help="The column of the keys, for a Fleet saved from Python. Runs know theirs."),
]
Key = Annotated[str | None, _columns("Learn a separate model for each value of this column, which is not a feature.")]
Pooled = Annotated[
    bool,
    typer.Option("--pooled", help="With --key: keys learn from each other, so that a new one is predicted at once."),
]
Time = Annotated[
    str | None, _columns("The column of times. Times become calendar features; plain numbers only order the rows.")
]
TimeFormat = Annotated[
    str | None, typer.Option(metavar="FORMAT", help='How times are written, if the rows do not show it: "%d/%m/%Y".')
]
Text = Annotated[Names, _columns("Columns to treat as categories, whatever they hold.", metavar="A,B")]
Na = Annotated[Names, typer.Option(metavar="WORD", help="Another spelling of a missing value. May be repeated.")]
Missing = Annotated[
    Names,
    typer.Option(
        metavar="[COLUMN=]WORD",
        help="What takes the place of a missing number: mean (so far, the default), last (value) or zero; "
        "or skip the row; or raise an error.",
    ),
]
Categories = Annotated[int, typer.Option(min=0, help="Number of values of a text column that get their own feature.")]
Low = Annotated[
    float | None,
    typer.Option(metavar="NUMBER", help="The least possible label: no answer is below it, and a smaller label is an error."),
]
High = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER", help="The largest possible label: no answer is above it, and a larger label is an error."
    ),
]
Transform = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Learn the label's log, log1p, sqrt, logit or asinh. Predictions and intervals are on the label's own scale.",
        autocompletion=completion.transformations,
    ),
]
Holidays = Annotated[
    Names,
    typer.Option(
        metavar="CODES",
        help="Turn times into weekdays, months, the holidays of countries such as DE or US-CA, and the days around them; "
        "own days such as 2024-12-24 count too.",
    ),
]
Zone = Annotated[
    str | None,
    typer.Option(metavar="ZONE", help="Like --holidays, with the daylight saving time of a zone such as Europe/Berlin."),
]
Delimiter = Annotated[str | None, typer.Option(metavar="CHAR", help="The separator between values; detected by default.")]
Delay = Annotated[
    int,
    typer.Option(
        min=0,
        max=10_000_000,
        metavar="ROWS",
        help="Each label arrives this many rows after its row. With 24, a row is predicted when the newest label is "
        "that of 25 rows ago.",
    ),
]
Level = Annotated[
    float | None, typer.Option(metavar="SHARE", help="Give intervals that contain this share of the labels, e.g. 0.9.")
]
Quantiles = Annotated[
    str | None,
    typer.Option(metavar="SHARES", help="Give quantiles of the label, such as 0.05,0.5,0.95, which it is below this often."),
]
Steps = Annotated[
    int | None,
    typer.Option(min=1, max=10_000, metavar="ROWS", help="Forecast this many rows ahead, one model per step; see forecast."),
]
Known = Annotated[
    Names,
    _columns(
        'With --steps: the columns whose values are known ahead, all by default, "" for none. The --time column is '
        "always known. For others, the value at the origin is used.",
        metavar="A,B",
    ),
]
Smoothing = Annotated[
    bool | None,
    typer.Option(
        "--smoothing/--no-smoothing",
        show_default=False,
        help="With --steps: mix in forecasts from the labels alone, such as exponential smoothing; by default with auto.",
    ),
]
Seasons = Annotated[
    Names,
    typer.Option(metavar="ROWS", help="With --steps: the lengths of one or two seasons, such as 24,168; found by default."),
]
Labels = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="A separate file of labels by --id, merged with the rows by --time."),
]
Out = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Write predictions, as .csv, .jsonl or .parquet; - means standard output."),
]
Model = Annotated[
    str, typer.Option("--model", "-m", help="The learner; driftline models lists them.", autocompletion=completion.models)
]
Settings = Annotated[
    Names,
    typer.Option(
        "--set", "-s", metavar="NAME=VALUE", help="A parameter of the learner.", autocompletion=completion.settings
    ),
]
HalfLife = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION",
        help='The time in which a row loses half its weight, such as "6h" or "7d"; a number if those of --time are numbers. '
        "For learners that forget, such as rls.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file: from run --state, or from a learner's save.")
]


def _reading(
    target: Target,
    task: Task = "regress",
    features: Features = None,
    drop: Drop = None,
    id: Id = None,  # noqa: A002 - the option's name
    key: Key = None,
    time: Time = None,
    time_format: TimeFormat = None,
    text: Text = None,
    na: Na = None,
    missing: Missing = None,
    categories: Categories = 50,
    delimiter: Delimiter = None,
) -> None:
    """The reading options, named like the fields of driftline.files.Options."""


READING = inspect.signature(_reading, eval_str=True).parameters


def reads_a_file(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the reading options; its parameter ``reading`` gets them as typed, by name."""
    signature = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        parameters += READING.values() if name == "reading" else [parameter]

    @functools.wraps(command)
    def called(**given: Any) -> None:
        command(reading={name: given.pop(name) for name in READING}, **given)

    keywords = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    called.__signature__ = signature.replace(parameters=keywords)  # type: ignore[attr-defined]
    return called
