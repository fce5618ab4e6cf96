"""Runs a target and writes its results."""

import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from driftline.evaluate import plots
from papers import page
from papers.registry import RequestError, find
from papers.target import UNDECIDED, Context, Findings, Target


@dataclass(frozen=True, eq=False)
class Result:
    """A target, its findings, and the files written.

    Attributes:
        target: the target that was run.
        findings: numbers, checks and tables.
        files: the PNG, JSON, CSV and Markdown files, by their endings.
        quick: whether it was a smoke run, on fewer rows and repetitions than the target's setting has.
    """

    target: Target
    findings: Findings
    files: dict[str, Path]
    quick: bool

    @property
    def verdict(self) -> str:
        """Whether the source's claim holds: "agrees", "agrees in part" or "does not agree"; "undecided" for a quick run."""
        return UNDECIDED if self.quick else self.findings.verdict


def run(
    name: str,
    *,
    quick: bool = False,
    out: str | os.PathLike[str] = "reproduced",
    data: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    seed: int = 0,
    progress: bool | TextIO = True,
) -> Result:
    """Recomputes a figure or table of a source, and writes NAME.png, NAME.json, NAME.csv and NAME.md.

    Args:
        name: the target's name, such as "lecture-bounds"; :func:`names` lists them.
        quick: a smoke run of seconds, on fewer rows and repetitions; it decides nothing.
        out: the directory to write to; created if missing.
        data: a directory with data files, for the targets that use some.
        jobs: parallel processes; by default every core if the work takes more than a few seconds.
        seed: the seed of all random numbers.
        progress: show progress on a terminal or in a notebook.
    """
    target = find(name)
    if seed < 0:
        raise RequestError(f"seed must be at least 0, got {seed}")
    if jobs is not None and jobs < 1:
        raise RequestError(f"jobs must be at least 1, got {jobs}")
    where = Path(data) if data is not None else None
    if where is not None and not where.is_dir():
        raise RequestError(f"data must be a directory, got {str(where)!r}")
    context = Context(quick=bool(quick), seed=seed, jobs=jobs, data=where, progress=progress)
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise RequestError(f"out must be a directory, got {str(folder)!r}")
    plots.new_axes(None)  # fails now if matplotlib is missing, not after the work
    _prepare(folder, page.paths(target, folder).values())
    assert target.compute is not None
    findings = target.compute(context)
    return Result(target, findings, page.write_all(target, findings, context, folder), context.quick)


def _prepare(folder: Path, files: Iterable[Path]) -> None:
    """Creates the directory, and checks that it is writable before the work starts."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError(f"out cannot be created: {error}") from error
    path = folder
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
        for path in filter(Path.exists, files):
            with path.open("r+b"):
                pass
    except OSError as error:
        raise RequestError(f"out cannot be written to, got {str(path)!r}: {error.strerror}") from error
