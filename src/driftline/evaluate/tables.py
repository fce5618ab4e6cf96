"""Tables to print, and to save as CSV, JSON, Markdown or LaTeX."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

Value = str | int | float | None

LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "•": r"$\bullet$",
    "◦": r"$\circ$",
    "²": r"\textsuperscript{2}",
}


@dataclass(frozen=True)
class Cell:
    """A value with its own text: rounded, with its deviation and marks, or in bold."""

    value: Value
    text: str
    bold: bool = False


def shown(value: Value | Cell) -> str:
    """A value as shown to readers: four digits.

    >>> shown(0.123456), shown(1234567.0), shown(12), shown(None), shown(float("nan"))
    ('0.1235', '1.235e+06', '12', '', 'nan')
    """
    if isinstance(value, Cell):
        return value.text
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def plain(value: Value | Cell) -> Value:
    """A value with all its digits."""
    return value.value if isinstance(value, Cell) else value


def finite(value: Any) -> Any:
    """The same, with None for numbers that JSON cannot express."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write(text: str, path: str | os.PathLike[str] | None) -> str:
    """Returns the text, and writes it to a file if a path is given."""
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def latex(text: str) -> str:
    r"""Text with LaTeX's own characters escaped.

    >>> print(latex("5 % of x_1 ± 2"))
    5 \% of x\_1 $\pm$ 2
    """
    return "".join(LATEX.get(letter, letter) for letter in text)


@dataclass(frozen=True)
class Table:
    """Columns with names, rows of values, and a caption.

    ``print`` and notebooks show it. CSV and JSON hold all digits, Markdown and LaTeX the rounded text. Each ``to_`` method
    returns the text, and writes it to a file if a path is given.

    >>> table = Table(["learner", "mse"], [["RLS", 0.25], ["Kalman", 0.125]])
    >>> print(table)
    learner    mse
    RLS       0.25
    Kalman   0.125
    >>> print(table.to_markdown())
    | learner | mse |
    | :-- | --: |
    | RLS | 0.25 |
    | Kalman | 0.125 |
    <BLANKLINE>
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Value | Cell]]
    caption: str = ""

    def __str__(self) -> str:
        texts = [list(self.columns), *([shown(value) for value in row] for row in self.rows)]
        widths = [max(len(row[i]) for row in texts) for i in range(len(self.columns))]
        lines = [
            "  ".join(
                text.rjust(width) if right else text.ljust(width)
                for text, width, right in zip(row, widths, self._right(), strict=True)
            ).rstrip()
            for row in texts
        ]
        return "\n".join([*([self.caption] if self.caption else []), *lines])

    def _repr_html_(self) -> str:
        """The table as notebooks display it."""

        def row(kind: str, cells: Sequence[Value | Cell]) -> str:
            texts = (
                f"<b>{escape(shown(cell))}</b>" if isinstance(cell, Cell) and cell.bold else escape(shown(cell))
                for cell in cells
            )
            return "<tr>" + "".join(f"<{kind}>{text}</{kind}>" for text in texts) + "</tr>"

        lines = row("th", list(self.columns)) + "".join(row("td", cells) for cells in self.rows)
        return f"<table><caption>{escape(self.caption)}</caption>{lines}</table>"

    def _right(self) -> list[bool]:
        """Which columns are right-aligned: all but those of text."""
        return [any(not isinstance(plain(row[i]), str) for row in self.rows) for i in range(len(self.columns))]

    def records(self) -> list[dict[str, Value]]:
        """One dictionary per row."""
        return [dict(zip(self.columns, map(plain, row), strict=True)) for row in self.rows]

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Comma-separated values, with all digits."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([plain(value) for value in row] for row in self.rows)
        return write(out.getvalue(), path)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """An object with the caption and a list of records; null for values that are not finite."""
        content = {"caption": self.caption, "rows": finite(self.records())}
        return write(json.dumps(content, indent=2, ensure_ascii=False) + "\n", path)

    def to_markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """A table in Markdown."""
        marks = ["--:" if right else ":--" for right in self._right()]
        lines = [self.columns, marks, *([self._marked(value) for value in row] for row in self.rows)]
        text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        return write(f"{self.caption}\n\n{text}" if self.caption else text, path)

    @staticmethod
    def _marked(value: Value | Cell) -> str:
        text = shown(value).replace("|", r"\|")
        return f"**{text}**" if isinstance(value, Cell) and value.bold else text

    def to_latex(self, path: str | os.PathLike[str] | None = None) -> str:
        """A table in LaTeX, for papers; it needs the package booktabs. CSV and JSON lack the bold face and the marks."""
        align = "".join("r" if right else "l" for right in self._right())
        lines = [r"\begin{tabular}{" + align + "}", r"\toprule", " & ".join(map(latex, self.columns)) + r" \\", r"\midrule"]
        for row in self.rows:
            cells = [rf"\textbf{{{latex(shown(v))}}}" if isinstance(v, Cell) and v.bold else latex(shown(v)) for v in row]
            lines.append(" & ".join(cells) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}"]
        if self.caption:
            indented = ["  " + line for line in lines]
            lines = [r"\begin{table}", r"  \centering", *indented, rf"  \caption{{{latex(self.caption)}}}", r"\end{table}"]
        return write("\n".join(lines) + "\n", path)
