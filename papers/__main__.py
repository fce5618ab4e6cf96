"""``python -m papers [NAMES]``: recomputes figures and tables, and prints their checks, verdicts and files."""

from pathlib import Path
from typing import Annotated

import typer

from papers import page, registry, runner
from papers.registry import RequestError, find

app = typer.Typer(add_completion=False)


@app.command()
def main(
    names: Annotated[
        list[str] | None, typer.Argument(help="Figures and tables; all by default.", show_default=False)
    ] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the figures and tables.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A smoke test of a few seconds, without a verdict.")] = False,
    out: Annotated[Path, typer.Option(help="The directory to write to.")] = Path("reproduced"),
    data: Annotated[Path | None, typer.Option(help="A directory with data files.", show_default=False)] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Parallel processes; every core by default.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of all random numbers.")] = 0,
) -> None:
    """Recompute figures and tables of the papers, and say whether their claims hold."""
    if show_list:
        _list()
        return
    try:
        for target in list(map(find, names or registry.names())):  # a misspelt name is refused before any work
            if names and data is not None and not target.data:
                typer.echo(f"papers: {target.name} reads no file, --data is not used", err=True)
            _print(runner.run(target.name, quick=quick, out=out, data=data, jobs=jobs, seed=seed))
    except (RequestError, ImportError, OSError) as error:
        typer.echo(f"papers: {error}", err=True)
        raise typer.Exit(2 if isinstance(error, RequestError) else 1) from error


def _list() -> None:
    """Prints every target with its source."""
    width = max(map(len, registry.names()))
    for name in registry.names():
        target = find(name)
        typer.echo(f"{name:{width}}  {target.title}. {target.source}")
        if target.data:
            typer.echo(f"{'':{width}}  --data: {target.data}")


def _print(result: runner.Result) -> None:
    target, findings = result.target, result.findings
    typer.echo(f"{target.name}: {target.title}. {target.source}")
    if result.quick:
        typer.echo(page.QUICK)
    for table in findings.summary:
        typer.echo(f"\n{table}")
    typer.echo("")
    for check in findings.checks:
        typer.echo(f"  {page.line(check, result.quick)}")
    typer.echo(f"\n{page.spoken(findings, result.quick).replace('*', '')}")
    for words in findings.left_out:
        typer.echo(f"Left out: {words}")
    typer.echo(f"Written: {', '.join(map(str, result.files.values()))}")


if __name__ == "__main__":
    app()
