"""Checks which options of a command can be combined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import typer

from driftline.base.levels import as_levels
from driftline.base.rules import PROBABILITY
from driftline.cli.arguments import names_in
from driftline.delayed.series import as_seasons
from driftline.files import Options
from driftline.files.options import CLASSIFY
from driftline.tables.missing import SKIP


def check_level(level: float | None) -> None:
    """Refuses a level that is not a probability."""
    if level is not None and not PROBABILITY.accepts(level):
        raise typer.BadParameter(f"--level must be {PROBABILITY.words}, got {level:g}")


def quantiles_in(text: str | None) -> tuple[float, ...] | None:
    """The levels of --quantiles; None without it."""
    if text is None:
        return None
    try:
        return tuple(as_levels([float(part) for part in text.split(",")], "").tolist())
    except ValueError:
        words = "must be probabilities in ascending order, separated by commas, such as 0.05,0.5,0.95"
        raise typer.BadParameter(f"--quantiles {words}; got {text}") from None


def half_life_in(half_life: str | None, steps: int | None, options: Options) -> list[str]:
    """The setting of the learner that --half-life stands for; empty without it."""
    if half_life is None:
        return []
    if options.time is None:
        raise typer.BadParameter("--half-life needs --time, the column of the rows' times")
    if steps is not None:
        raise typer.BadParameter("--half-life: forecasts of --steps count rows; leave it out")
    return [f"half_life={half_life}"]


def refuse_ids(options: Options, command: str) -> None:
    """Refuses labels that come by id."""
    if options.id is not None:
        raise typer.BadParameter(f"--id: {command} needs each label in its own row. --drop leaves the column out")


def checked(options: Options, flags: Mapping[str, object]) -> Options:
    """The reading options of a run, completed and checked with its other options, ``flags``."""
    labels, delay = flags["--labels"], flags["--delay"]
    if labels is not None and options.id is None:
        raise typer.BadParameter("--labels needs --id, the column that says which row a label belongs to")
    if labels is not None and options.time is None:
        raise typer.BadParameter("--labels needs --time, a column of both files that shows which labels were known when")
    flags = {"--id": options.id, "--key": options.key, **flags}
    if options.id is not None:
        _refuse(flags, "--id", "--steps", "--delay", "--report")
    if flags["--pooled"] and options.key is None:
        raise typer.BadParameter("--pooled needs --key, the column of the keys that learn from each other")
    if options.key is not None:
        _refuse(flags, "--key", "--id", "--labels", "--steps", "--delay")
        options = replace(options, missing={"": SKIP, **options.missing})
    if options.task == CLASSIFY:
        _refuse(flags, "--task classify", "--key", "--pooled", "--level", "--quantiles", "--steps", "--id", "--report")
    if flags["--steps"] is not None and delay:
        raise typer.BadParameter(
            f"--delay cannot be combined with --steps: if labels come {delay} rows late, add {delay} to --steps"
        )
    return options if labels is None else replace(options, target_needed=False)


def _refuse(flags: Mapping[str, object], option: str, *others: str) -> None:
    for other in others:
        if flags[other]:
            raise typer.BadParameter(f"{other} cannot be combined with {option}")


def seasons_in(seasons: list[str] | None, smoothing: bool | None, steps: int | None) -> list[int] | None:
    """The lengths of seasons; None to find them."""
    if steps is None and (seasons is not None or smoothing is not None):
        option = "--smoothing" if seasons is None else "--seasons"
        raise typer.BadParameter(f"{option} needs --steps: it says how the next rows are forecast")
    if seasons is None:
        return None
    try:
        return as_seasons([int(season) for season in names_in(seasons)])
    except ValueError:
        raise typer.BadParameter(f"--seasons must be one or two numbers of rows, got {','.join(seasons)}") from None


def known_ahead(known: list[str] | None, steps: int | None, options: Options) -> tuple[str, ...] | None:
    """The columns known ahead; None for all."""
    if known is None:
        return None
    if steps is None:
        raise typer.BadParameter("--known needs --steps: it names the columns known ahead")
    names = names_in(known)
    for name in names:
        if name == options.target:
            raise typer.BadParameter(f"{name} is the target: it cannot be among --known")
        if not options.is_feature(name):
            raise typer.BadParameter(f"{name} is among --known, but --features or --drop leave it out")
    return names
