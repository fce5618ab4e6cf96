"""The declaration of a target, the options that it gets, and its findings."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO, TypeVar

from driftline.evaluate import Progress, Table, run_jobs

AGREES, IN_PART, DISAGREES, UNDECIDED = "agrees", "agrees in part", "does not agree", "undecided"
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


@dataclass(frozen=True)
class Check:
    """One statement of the source, and whether the numbers support it.

    Attributes:
        statement: what the source says, in words.
        holds: whether it holds, computed from the numbers.
        evidence: the numbers that decide it.
    """

    statement: str
    holds: bool
    evidence: str


@dataclass(frozen=True, eq=False)
class Findings:
    """The results of a target.

    Attributes:
        numbers: everything that the picture shows, one record per row; written to the CSV and JSON files.
        checks: the source's statements, and whether each holds.
        draw: makes the picture, a matplotlib figure; imports matplotlib only when called.
        summary: tables for the page.
        remarks: paragraphs for the page: what a reader must know to judge the numbers.
        left_out: what was not computed, and which file it needs.
    """

    numbers: Table
    checks: Sequence[Check]
    draw: Callable[[], Any]
    summary: Sequence[Table] = ()
    remarks: Sequence[str] = ()
    left_out: Sequence[str] = field(default=())

    @property
    def verdict(self) -> str:
        """Whether the source's claim holds: "agrees", "agrees in part" or "does not agree".

        >>> Findings(Table([], []), [Check("a < b", True, "1 < 2"), Check("b < c", False, "2 > 1")], lambda: None).verdict
        'agrees in part'
        """
        held = [check.holds for check in self.checks]
        return AGREES if all(held) else IN_PART if any(held) else DISAGREES


@dataclass(frozen=True)
class Target:
    """A figure, table or statement of a source.

    ``targets.toml`` has its texts, and the module with its name the function ``compute``, which does the work, and ``TEXT``,
    the numbers that the texts quote.

    Attributes:
        title: what it shows, in a line.
        source: the paper, and the figure, table or section.
        setting: how the experiment is made.
        claim: the result that the source states.
        data: the files that ``--data`` may hold; empty if it needs none.
        name: its name on the command line and in file names, that of its module with hyphens.
        compute: does the work; the function of that name in its module.
    """

    title: str
    source: str
    setting: str
    claim: str
    data: str = ""
    name: str = ""
    compute: Callable[[Context], Findings] | None = None
