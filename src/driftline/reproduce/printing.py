"""The output of ``driftline reproduce``."""

from __future__ import annotations

from pathlib import Path

import typer

from driftline.reproduce import page
from driftline.reproduce.registry import RequestError, find, names
from driftline.reproduce.runner import run as run_target


def show_list() -> None:
    """Prints every target with its source."""
    width = max(map(len, names()))
    for name in names():
        target = find(name)
        typer.echo(f"{name:{width}}  {target.title}. {target.source}")
        if target.data:
            typer.echo(f"{'':{width}}  --data: {target.data}")


def run(name: str, *, quick: bool, out: Path, data: Path | None, jobs: int | None, seed: int) -> None:
    """Runs a target, and prints its checks, its verdict and its files."""
    try:
        if data is not None and not find(name).data:
            typer.echo(f"driftline reproduce: {name} reads no file, --data is not used", err=True)
        result = run_target(name, quick=quick, out=out, data=data, jobs=jobs, seed=seed)
    except (RequestError, ImportError, OSError) as error:
        typer.echo(f"driftline reproduce: {error}", err=True)
        raise typer.Exit(2 if isinstance(error, RequestError) else 1) from error
    typer.echo(f"{name}: {result.target.title}. {result.target.source}")
    if quick:
        typer.echo(page.QUICK)
    for table in result.findings.summary:
        typer.echo(f"\n{table}")
    typer.echo("")
    for check in result.findings.checks:
        typer.echo(f"  {page.line(check, quick)}")
    typer.echo(f"\n{page.spoken(result.findings, quick).replace('*', '')}")
    for words in result.findings.left_out:
        typer.echo(f"Left out: {words}")
    typer.echo(f"Written: {', '.join(str(path) for path in result.files.values())}")
