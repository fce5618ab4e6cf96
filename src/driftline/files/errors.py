"""Errors in files: what is wrong, where, and which options may help."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

from driftline.errors import closest
from driftline.files.options import Options

NOT_UTF_8 = "is not UTF-8 text; convert the file, e.g. iconv -f latin1 -t utf-8"


@dataclass(frozen=True)
class Hint:
    """An option that may help: ``text=['price']`` for a program, ``--text price`` on the command line.

    Attributes:
        option: its name.
        value: its value.
        purpose: when to use it, or what for.
        instead_of: the option with the same value that must not be given then; empty if there is none.
    """

    option: str
    value: str
    purpose: str
    instead_of: str = ""

    def spelled(self, as_flags: bool) -> str:
        """The hint as a clause."""
        options = [self.option, *([self.instead_of] if self.instead_of else [])]
        if as_flags:
            shown = f'"{self.value}"' if set(self.value) & set(" ;|\t$*") else self.value
            given = [f"--{option.replace('_', '-')} {shown}" for option in options]
        else:
            given = [f"{option}={self.value!r}" for option in options]
        return f"{' instead of '.join(given)} {self.purpose}"


def left_out(name: str, options: Options) -> list[Hint]:
    """The option that leaves a column out; empty if other options need the column."""
    if name == options.time:
        needed = options.id is not None  # the times may put rows and labels in order
        return [] if needed else [Hint("drop", name, "to leave it out", instead_of="time")]
    return [Hint("drop", name, "to leave it out")] if options.features is None and options.is_feature(name) else []


def not_as_values(name: str, options: Options) -> list[Hint]:
    """The options that read a column as categories or leave it out, as far as they fit the others."""
    purpose, dropped = "to treat the column as categories", left_out(name, options)
    if name == options.time:
        return [Hint("text", name, purpose, instead_of="time"), *dropped] if dropped else []
    return [Hint("text", name, purpose), *dropped] if options.is_feature(name) else []


class HaltedError(Exception):
    """Reading a pipe was asked to end before its first row."""


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
        return f"{text}. Use {', or '.join([', '.join(hints[:-1]), hints[-1]] if hints[1:] else hints)}" if hints else text

    def within(self, source: str) -> DataError:
        """The same error, with the file's name added if it has none."""
        if self.source:
            return self
        return DataError(self.what, source=source, place=self.place, column=self.column, hints=self.hints, row=self.row)


class ChangedSourceError(DataError):
    """A source that does not begin with the rows that were read from it before."""


class UnknownColumnError(DataError):
    """A column that the file does not have."""


def shortened(text: str, most: int = 40) -> str:
    """The text, cut off after ``most`` characters."""
    return text if len(text) <= most else text[:most] + "…"


def no_column(name: str, known: Iterable[str], source: str, why: str = "") -> UnknownColumnError:
    """The error for a column that does not exist; suggests similar names or lists all. ``why`` says what needs it."""
    names = [shortened(each, 60) for each in known]
    listed = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    return UnknownColumnError(
        f"there is no column {name!r}{why and f', {why}'}.{closest(name, names) or f' There are: {listed}'}", source=source
    )
