"""The declaration of a target, and its findings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from driftline.evaluate import Table
from papers.context import Context

AGREES, IN_PART, DISAGREES, UNDECIDED = "agrees", "agrees in part", "does not agree", "undecided"


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

    A target is the ``TARGET`` of a module with its name, in underscores. The registry lists its name.

    Attributes:
        name: its name on the command line and in file names.
        title: what it shows, in a line.
        source: the paper, and the figure, table or section.
        setting: how the experiment is made.
        claim: the result that the source states.
        compute: does the work.
        data: the files that ``--data`` may hold; empty if it needs none.
    """

    name: str
    title: str
    source: str
    setting: str
    claim: str
    compute: Callable[[Context], Findings]
    data: str = ""
