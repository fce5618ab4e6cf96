"""How a target is run: how much of it, from which seed, with how many processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, TypeVar

from driftline.evaluate import Progress, run_jobs

J = TypeVar("J")
R = TypeVar("R")


@dataclass(frozen=True)
class Context:
    """What the user asked for, as a target sees it.

    Attributes:
        quick: a smoke run of seconds, whose numbers are not for quoting.
        seed: where all random numbers come from.
        jobs: parallel processes; None for every core where the work takes more than a few seconds.
        data: the directory of data files, or None.
        progress: whether to show how far it is, on a terminal; or where to write it.
    """

    quick: bool = False
    seed: int = 0
    jobs: int | None = None
    data: Path | None = None
    progress: bool | TextIO = True

    def pick(self, full: R, quick: R) -> R:
        """The first of two in a full run, the second in a quick one."""
        return quick if self.quick else full

    def map(self, function: Callable[[J], R], jobs: Iterable[J], what: str = "runs") -> list[R]:
        """``function`` of each job, in parallel processes, with progress.

        The function is one that a module defines, so that other processes find it; jobs and results are sent to them and
        back.
        """
        todo = list(jobs)
        with Progress(len(todo), what, show=self.progress) as bar:
            return run_jobs(_Each(function), todo, self.jobs, bar)

    def file(self, *names: str) -> Path | None:
        """The first of the files with one of these names in the data directory, or None."""
        for name in names if self.data is not None else ():
            assert self.data is not None
            if (self.data / name).is_file():
                return self.data / name
        return None


@dataclass(frozen=True)
class _Each:
    """A function as worker processes take it."""

    function: Callable[[Any], Any]

    def run(self, job: Any) -> Any:
        return self.function(job)
