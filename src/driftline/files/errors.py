"""Errors in files: what is wrong, where, and which options may help."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

from driftline.errors import closest


@dataclass(frozen=True)
class Hint:
    """An option that may help: ``text=['price']`` for a program, ``--text price`` on the command line."""

    option: str
    value: str
    purpose: str

    def spelled(self, as_flags: bool) -> str:
        """The hint as a clause."""
        if as_flags:
            shown = f'"{self.value}"' if set(self.value) & set(" ;|\t$*") else self.value
            return f"--{self.option.replace('_', '-')} {shown} {self.purpose}"
        return f"{self.option}={self.value!r} {self.purpose}"


class DataError(ValueError):
    """Rows that cannot be read. The message names the file, the line or row, and the column.

    Args:
        what: what is wrong.
        source: the file's name.
        place: the line or row.
        column: the column's name.
        hints: options that may help.
        row: the index of the bad row in the file, if it is known.
    """

    def __init__(
        self,
        what: str,
        *,
        source: str = "",
        place: str = "",
        column: str | None = None,
        hints: Iterable[Hint] = (),
        row: int | None = None,
    ) -> None:
        self.what, self.source, self.place, self.column = what, source, place, column
        self.hints, self.row = tuple(hints), row
        super().__init__(self.spelled(as_flags=False))

    def spelled(self, as_flags: bool, options: Container[str] | None = None) -> str:
        """The whole message, with options as keywords or flags. Hints are limited to ``options``, if given."""
        where = [part for part in (self.source, self.place) if part]
        if self.column is not None:
            where.append(f"column {self.column!r}")
        text = f"{', '.join(where)}: {self.what}" if where else self.what
        hints = [hint.spelled(as_flags) for hint in self.hints if options is None or hint.option in options]
        return f"{text}. You may give {', or '.join(hints)}" if hints else text

    def within(self, source: str) -> DataError:
        """The same error, with the file's name added if it has none."""
        if self.source:
            return self
        return DataError(self.what, source=source, place=self.place, column=self.column, hints=self.hints, row=self.row)


class UnknownColumnError(DataError):
    """A column that the file does not have."""


def no_column(name: str, known: Iterable[str], source: str, why: str = "") -> UnknownColumnError:
    """The error for a column that does not exist; suggests similar names or lists all. ``why`` says what needs it."""
    names = [each if len(each) <= 60 else each[:60] + "…" for each in known]
    listed = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    return UnknownColumnError(
        f"there is no column {name!r}{why and f', {why}'}.{closest(name, names) or f' There are: {listed}'}", source=source
    )
