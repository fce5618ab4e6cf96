"""``driftline reproduce``. Imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Adds the command to a command line."""
    app.command(short_help="Recompute a paper's figure or table.")(reproduce)


def reproduce(
    name: Annotated[str | None, typer.Argument(help="The figure or table; --list shows them.", show_default=False)] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the figures and tables.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A smoke test of a few seconds, without a verdict.")] = False,
    out: Annotated[Path, typer.Option(help="The directory to write to.")] = Path("reproduced"),
    data: Annotated[Path | None, typer.Option(help="A directory with data files.", show_default=False)] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Parallel processes; every core by default.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of all random numbers.")] = 0,
) -> None:
    """Recompute a paper's figure or table, and say whether its claim holds.

    \b
    Examples:
      driftline reproduce --list
      driftline reproduce arcor-fig2 --out figures
    """
    from driftline.reproduce import printing

    if show_list:
        printing.show_list()
    elif name is None:
        raise typer.BadParameter("give the NAME of a figure or table, or --list")
    else:
        printing.run(name, quick=quick, out=out, data=data, jobs=jobs, seed=seed)
