"""The result of a benchmark: tables, measurements with their targets, and failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

Cell = str | float | int


def show(cell: Cell) -> str:
    """Three significant digits, thousands separated; text as it is."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int) or 1000 <= abs(cell) < 1e9:
        return f"{cell:,.0f}"
    return f"{cell:.0f}" if 100 <= abs(cell) < 1000 else f"{cell:.3g}"


@dataclass(frozen=True)
class Table:
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""

    def text(self) -> str:
        """Aligned columns: the first to the left, the others to the right."""
        cells = [list(self.header), *([show(cell) for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [self.title, "-" * len(self.title)]
        for first, *others in cells:
            aligned = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
            lines.append("  ".join([first.ljust(widths[0]), *aligned]).rstrip())
        return "\n".join([*lines, self.note] if self.note else lines)

    def markdown(self) -> str:
        lines = [f"## {self.title}", "", _row(self.header)]
        lines.append(_row(["---", *["---:"] * (len(self.header) - 1)]))
        lines += [_row([show(cell) for cell in row]) for row in self.rows]
        return "\n".join([*lines, "", self.note] if self.note else lines)


@dataclass(frozen=True)
class Verdict:
    """A measurement and its upper limit, which is printed but never asserted."""

    what: str
    measured: float
    target: float
    unit: str

    @property
    def word(self) -> str:
        return "pass" if self.measured <= self.target else "short"


@dataclass(frozen=True)
class Report:
    tables: Sequence[Table]
    verdicts: Sequence[Verdict] = field(default_factory=tuple)
    failures: Sequence[str] = field(default_factory=tuple)
    pictures: Mapping[str, Callable[[Path], None]] = field(default_factory=dict)  # each is a function that writes to a path

    def figures(self) -> dict[str, Any]:
        """Everything except the pictures, as JSON."""
        return {
            "tables": [asdict(table) for table in self.tables],
            "verdicts": [asdict(verdict) for verdict in self.verdicts],
            "failures": list(self.failures),
        }

    def verdict_lines(self) -> str:
        """One line for each measurement, with its target."""
        return "\n".join(f"{v.what}: {v.measured:.3g} of at most {v.target:g} {v.unit}, {v.word}" for v in self.verdicts)

    def text(self) -> str:
        """The tables, and the verdicts below."""
        return "\n\n".join([*(table.text() for table in self.tables), self.verdict_lines()])


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    rows = [(v.what, v.measured, v.target, v.unit, v.word) for v in verdicts]
    return Table("Targets", ("what", "measured", "at most", "unit", "verdict"), rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
