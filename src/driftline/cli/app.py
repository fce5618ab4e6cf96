"""The commands. What a command needs is imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="driftline",
    help="Regression on streams whose target keeps changing.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        import driftline

        typer.echo(f"driftline {driftline.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    pass


@app.command()
def reproduce(
    name: Annotated[str | None, typer.Argument(help="The figure or table; --list shows them.", show_default=False)] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the figures and tables.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A smoke run of seconds, without a verdict.")] = False,
    out: Annotated[Path, typer.Option(help="The directory to write to.")] = Path("reproduced"),
    data: Annotated[Path | None, typer.Option(help="A directory with data files.", show_default=False)] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Parallel processes; every core by default.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Where all random numbers come from.")] = 0,
) -> None:
    """Compute a paper's figure or table again, and say whether its claim holds."""
    from driftline.cli import reproducing

    if show_list:
        reproducing.show_list()
    elif name is None:
        raise typer.BadParameter("give the NAME of a figure or table, or --list")
    else:
        reproducing.run(name, quick=quick, out=out, data=data, jobs=jobs, seed=seed)
