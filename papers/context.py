"""How to run a target: how much of it, from which seed, with how many processes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, TypeVar

from driftline.evaluate import Progress, run_jobs

J = TypeVar("J")
R = TypeVar("R")


@dataclass(frozen=True)
class Context:
    """The user's options, as a target sees them.

    Attributes:
        quick: a smoke run of seconds, whose numbers should not be quoted.
        seed: the seed of all random numbers.
        jobs: parallel processes; None for every core if the work takes more than a few seconds.
        data: the directory of data files, or None.
        progress: whether to show progress on a terminal or in a notebook; or the stream to write it to.
    """

    quick: bool = False
    seed: int = 0
    jobs: int | None = None
    data: Path | None = None
    progress: bool | TextIO = True

    def pick(self, full: R, quick: R) -> R:
        """The first value in a full run, the second in a quick run."""
        return quick if self.quick else full

    def map(self, function: Callable[[J], R], jobs: Iterable[J], what: str = "runs") -> list[R]:
        """Calls ``function`` for each job, in parallel processes, and shows progress.

        The function must be defined in a module, so that other processes can import it; jobs and results must be picklable.
        """
        todo = list(jobs)
        with Progress(len(todo), what, show=self.progress) as bar:
            return run_jobs(_Each(function), todo, self.jobs, bar)

    def file(self, *names: str) -> Path | None:
        """The first file with one of these names in the data directory, or None."""
        for name in names if self.data is not None else ():
            assert self.data is not None
            if (self.data / name).is_file():
                return self.data / name
        return None


@dataclass(frozen=True)
class _Each:
    """Wraps a function for worker processes."""

    function: Callable[[Any], Any]

    def run(self, job: Any) -> Any:
        return self.function(job)
