"""Options that several commands share, with the words of their help."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftline.cli import completion

if TYPE_CHECKING:
    from driftline.files import Encoding
    from driftline.files.raw import Options

Names = list[str] | None
STDOUT = "-"
FORMATS = (".csv", ".jsonl", ".parquet")  # of predictions

Source = Annotated[
    str,
    typer.Argument(metavar="SOURCE", help="CSV (gzipped or not), Parquet, Arrow or JSON lines; - is the standard input."),
]
Target = Annotated[
    str, typer.Option("--target", "-t", metavar="COLUMN", help="What is predicted.", autocompletion=completion.columns)
]
Features = Annotated[
    Names, typer.Option(metavar="A,B", help="Columns to use; all by default.", autocompletion=completion.columns)
]
Drop = Annotated[Names, typer.Option(metavar="A,B", help="Columns to do without.", autocompletion=completion.columns)]
Time = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="The column that says when. Times become features of the calendar, a number is order alone.",
        autocompletion=completion.columns,
    ),
]
TimeFormat = Annotated[
    str | None, typer.Option(metavar="FORMAT", help='How times are written, where the rows do not tell: "%d/%m/%Y".')
]
Text = Annotated[
    Names,
    typer.Option(metavar="A,B", help="Columns to take as categories in any case.", autocompletion=completion.columns),
]
Na = Annotated[Names, typer.Option(metavar="WORD", help="A further spelling of a missing value. May be repeated.")]
Missing = Annotated[
    Names,
    typer.Option(
        metavar="[COLUMN=]POLICY",
        help="What stands for a missing number: last (value), mean (so far), zero; or skip the row. By default last.",
    ),
]
Categories = Annotated[int, typer.Option(min=0, help="Values of a column of text that get a feature of their own.")]
Delimiter = Annotated[str | None, typer.Option(metavar="MARK", help="What separates values; found out by default.")]
Delay = Annotated[int, typer.Option(min=0, metavar="ROWS", help="Labels arrive so many rows late.")]
Level = Annotated[
    float | None, typer.Option(metavar="SHARE", help="Give intervals that hold such a share of the labels, e.g. 0.9.")
]
Out = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Predictions, as .csv, .jsonl or .parquet; - is the standard output."),
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
Json = Annotated[bool, typer.Option("--json", help="The outcome as JSON, for machines.")]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model's file: from run --state, or from a learner's save.")
]


@dataclass(frozen=True)
class Reading:
    """How the source is to be read, as it was typed."""

    target: str | None
    features: Names = None
    drop: Names = None
    time: str | None = None
    time_format: str | None = None
    text: Names = None
    na: Names = None
    missing: Names = None
    categories: int = 50
    delimiter: str | None = None

    def options(self) -> Options:
        """The same for the reader."""
        from driftline.cli.arguments import names_in
        from driftline.files.raw import Options

        if self.delimiter is not None and len(self.delimiter.replace("\\t", "\t")) != 1:
            raise typer.BadParameter(f"--delimiter must be one character, got {self.delimiter!r}")
        columns = None if self.features is None else names_in(self.features)
        drop = names_in(self.drop or ())
        if both := [name for name in columns or () if name in drop]:
            raise typer.BadParameter(f"{both[0]} is among both --features and --drop; name it once")
        options = Options(
            columns=columns,
            text=names_in(self.text or ()),
            na=tuple(self.na or ()),
            delimiter=None if self.delimiter is None else self.delimiter.replace("\\t", "\t"),
            time=self.time,
            time_format=self.time_format,
            target=self.target,
            drop=drop,
        )
        if self.target in options.drop or self.target in (options.columns or ()):
            raise typer.BadParameter(f"{self.target} is the target: it cannot be among --features or --drop")
        return options

    def encoding(self) -> Encoding:
        """The same for the encoder."""
        from driftline.cli.arguments import policies_in
        from driftline.files import Encoding

        try:
            return Encoding(policies_in(self.missing or ()), self.categories)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    def kept(self) -> dict[str, Any]:
        """The same as plain values, by option, as a state keeps them."""
        options, encoding = self.options(), self.encoding()
        return {
            "target": options.target,
            "features": None if options.columns is None else list(options.columns),
            "drop": list(options.drop),
            "time": options.time,
            "time_format": options.time_format,
            "text": list(options.text),
            "na": list(options.na),
            "missing": dict(encoding.missing),
            "categories": encoding.categories,
            "delimiter": options.delimiter,
        }
