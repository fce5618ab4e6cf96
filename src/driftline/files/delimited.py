"""CSV files, with any delimiter."""

from __future__ import annotations

import csv
import io
import math
import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from driftline.errors import ordinal
from driftline.files.errors import NOT_UTF_8, DataError, Hint, not_as_values, shortened
from driftline.files.lines import LineBlocks
from driftline.files.opening import Opened
from driftline.files.options import Options
from driftline.files.raw import Block, Place, Reader
from driftline.files.types import arrow_type
from driftline.files.written_times import (
    FINE_DECIMALS,
    LIKE_NUMBERS,
    NUMERIC,
    WITHOUT_MARKS,
    as_written,
    share_of,
    unlike_others,
)
from driftline.tables.kinds import NUMBER, TEXT, TIMESTAMP, TRUTH

DELIMITERS = (",", ";", "\t", "|")
DECIMAL_COMMA = r"^\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*$"
PATTERNS = {
    NUMBER: NUMERIC,
    TRUTH: "^(?i)(true|false)$",
}


class Delimited(Reader):
    """Reads lines of values below a header line.

    Arrow parses the blocks. If it refuses one, the lines are parsed again one by one to find the place.
    """

    def __init__(self, opened: Opened, options: Options, types: dict[str, str] | None = None) -> None:
        super().__init__(opened, options, types)
        self.lines = LineBlocks(opened, quotes=True)
        header = self._decode(self.lines.header(), 1)
        self.delimiter = options.delimiter or sniff(header)
        self.names = self._read_names(header)

    def _decode(self, line: bytes, number: int) -> str:
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            raise self._not_utf_8(number) from None

    def _not_utf_8(self, number: int) -> DataError:
        return DataError(
            NOT_UTF_8,
            source=self.opened.name,
            place=f"line {number:,}",
        )

    def _read_names(self, header: str) -> list[str]:
        try:
            names = next(csv.reader([header], delimiter=self.delimiter), [])
        except csv.Error as error:
            ends = "\r" in header
            words = "lines end in CR alone; convert them: tr '\\r' '\\n' < FILE > NEW" if ends else str(error)
            raise DataError(words, source=self.opened.name, place="line 1") from None
        names = [name.strip() or f"column {place + 1}" for place, name in enumerate(names)]
        if not names:
            raise DataError("there is no header line", source=self.opened.name)
        places: dict[str, int] = {}
        for place, name in enumerate(names):
            if (before := places.setdefault(name, place)) != place:
                first, second = ordinal(before + 1), ordinal(place + 1)
                raise DataError(
                    f"two columns are called {name!r}, the {first} and the {second}; rename one",
                    source=self.opened.name,
                    place="line 1",
                )
        return names

    def blocks(self) -> Iterator[Block]:
        """The rows."""
        start = 0
        for data, line in self.lines:
            if start == 0:
                self._find_decimal(data)
            table, place = self._parse(data, line), partial(_place, data, line, self.delimiter)
            if len(table):
                yield self._block(table, start, place)
            start += len(table)
        self.cut_off = self.lines.cut_off

    def _find_decimal(self, data: bytes) -> None:
        """Detects a decimal comma, unless commas separate values. Whole numbers decide nothing."""
        if self.delimiter == ",":
            self.decimal = "."
            return
        try:
            text = self._read(data, dict.fromkeys(self.wanted(), pa.string()))
        except pa.ArrowInvalid:
            return  # the parser will report it
        columns = [pc.drop_null(column) for column in text.columns]
        commas = sum(share_of(column, DECIMAL_COMMA) > 0.5 for column in columns)
        points = sum(share_of(column, NUMERIC) > 0.5 and share_of(column, r"\.") > 0 for column in columns)
        if commas != points:
            self.decimal = "," if commas > points else "."

    def _parse(self, data: bytes, line: int) -> Any:
        types = {name: arrow_type(kind) for name, kind in self.types.items()}
        texts = {*self.options.texts, self.options.time if self.options.time_format else None}
        types |= {name: pa.string() for name in self.names if name in texts and name not in types}
        try:
            table = self._read(data, types)
            if b'"' in data and (len(table) < data.count(b"\n") or data.count(b'"') % 2):
                self._check_quotes(data, line)
            if any(pa.types.is_binary(column.type) for column in table.columns):
                raise pa.ArrowInvalid("not UTF-8")
            known = len(self.types)
            self._settle(table, partial(_place, data, line, self.delimiter))
            if len(self.types) == known:
                return table
            return self._read(data, {name: arrow_type(kind) for name, kind in self.types.items()})
        except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
            timestamps = {name: as_written(kind) for name, kind in self.types.items() if kind.startswith(TIMESTAMP)}
            if timestamps and FINE_DECIMALS.search(data):
                self.types |= timestamps
                return self._parse(data, line)
            raise self._explain(data, line, error) from None

    def _read(self, data: bytes, types: dict[str, Any], names: list[str] | None = None) -> Any:
        return pyarrow.csv.read_csv(
            pa.py_buffer(data),
            read_options=pyarrow.csv.ReadOptions(
                column_names=names or self.names, use_threads=False, block_size=len(data) + 1
            ),
            parse_options=pyarrow.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=types,
                include_columns=names or self.wanted(),
                null_values=self.options.nulls,
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
                decimal_point=self.decimal,
                timestamp_parsers=[pyarrow.csv.ISO8601],
            ),
        )

    def _kind_of_texts(self, name: str, column: Any, place: Place) -> str | None:
        if name == self.options.target:
            return NUMBER
        dated = name == self.options.time and self.options.time_format
        mostly = TEXT if dated else _mostly(pc.drop_null(column))
        return super()._kind_of_texts(name, column, place) if mostly == TEXT else mostly

    def _check_quotes(self, data: bytes, line: int) -> None:
        """Raises DataError for an unclosed quote, if values span several lines or lines are empty."""
        reader = csv.reader(io.StringIO(data.decode("utf-8", "replace"), newline=""), delimiter=self.delimiter, strict=True)
        begun = 0
        try:
            for _ in reader:
                begun = reader.line_num
        except csv.Error:
            words = 'a quote " is opened and never closed'
            raise DataError(words, source=self.opened.name, place=f"line {line + begun:,}") from None

    def _explain(self, data: bytes, line: int, error: Exception) -> DataError:
        """Finds the first line that cannot be read, by parsing each."""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as bad:
            return self._not_utf_8(line + data.count(b"\n", 0, bad.start))
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter)
        begun, found = 0, None
        rows: list[tuple[str, list[str]]] = []  # the lines before the first that shows at once that it cannot be read
        try:
            for row in reader:
                at, begun = f"line {line + begun:,}", reader.line_num
                if not row:
                    continue
                if len(row) != len(self.names):
                    found = self._ragged(row, at)
                    break
                rows.append((at, row))
                cells = zip(self.names, row, strict=True)
                wrong = next((cell for cell in cells if self.options.wants(cell[0]) and not self._fits(*cell)), None)
                if wrong is not None:
                    found = self._misfit(*wrong, at)
                    break
        except csv.Error as bad:
            found = DataError(str(bad), source=self.opened.name, place=f"line {line + reader.line_num:,}")
        place = f"lines {line:,} to {line + data.count(bytes([10])):,}"
        return self._first_bad_time(rows) or found or DataError(str(error), source=self.opened.name, place=place)

    def _ragged(self, row: list[str], at: str) -> DataError:
        other = [mark for mark in DELIMITERS if mark != self.delimiter and any(mark in value for value in row)]
        hints = [Hint("delimiter", other[0], "if it separates the values")] if other and len(row) == 1 else []
        return DataError(
            f"the line has {_count(len(row), 'value')}, the header has {_count(len(self.names), 'name')}",
            source=self.opened.name,
            place=at,
            hints=hints,
        )

    def _fits(self, name: str, value: str) -> bool:
        """Whether a number is one. Other kinds are checked by column, because only Arrow knows what it reads."""
        if self.types.get(name) != NUMBER or value in self.options.nulls:
            return True
        value = value.replace(self.decimal, ".") if self.decimal != "." else value
        if value.strip().lower().lstrip("+-") in ("inf", "infinity", "nan"):
            return True  # Arrow reads them as numbers
        return is_numeric(value) and math.isfinite(float(value))

    def _first_bad_time(self, rows: list[tuple[str, list[str]]]) -> DataError | None:
        """The error for the first time or truth value that Arrow does not read; None if it reads all."""
        first, wrong = len(rows), ""
        for place, name in enumerate(self.names):
            if self.options.wants(name) and self.types.get(name) not in (None, TEXT, NUMBER):
                values = [row[place] for _, row in rows[:first]]
                bad = bisect_left(range(len(values)), True, key=lambda row: not self._reads(name, values[: row + 1]))
                first, wrong = (bad, name) if bad < first else (first, wrong)
        return self._misfit(wrong, rows[first][1][self.names.index(wrong)], rows[first][0]) if wrong else None

    def _reads(self, name: str, values: list[str]) -> bool:
        """Whether Arrow reads all of some values of a column."""
        known = [value for value in values if value not in self.options.nulls]
        out = io.StringIO()
        csv.writer(out, delimiter=self.delimiter, lineterminator="\n").writerows(zip(known))
        try:
            self._read(out.getvalue().encode(), {name: arrow_type(self.types[name])}, [name])
        except pa.ArrowInvalid:
            return not known  # Arrow does not read an empty file
        return True

    def _misfit(self, name: str, value: str, at: str) -> DataError:
        shown = shortened(value)
        kind, ways = self.types[name], not_as_values(name, self.options)
        if name == self.options.target:
            words = f"the target must be a number, got {shown!r}"
            hints = [Hint("na", shown, "if it means a missing value"), Hint("task", "classify", "if it holds classes")]
        elif kind == NUMBER:
            beyond = is_numeric(value)
            words = f"{shown!r} is {'beyond the range of' if beyond else 'not a'} number{'s' if beyond else ''}"
            words += "" if beyond else ", unlike most of the column"
            hints = [Hint("na", shown, "if it means a missing value"), *ways]
        elif kind != TRUTH and (unlike := unlike_others(value, kind, "those read before")) is not None:
            words, hints = unlike, ways
        else:
            words = f"{shown!r} is not {'true or false' if kind == TRUTH else 'a time'}, unlike the column so far"
            hints = [Hint("na", shown, "if it means a missing value"), *ways]
        if kind == NUMBER and share_of(pa.array([value]), LIKE_NUMBERS):
            words, hints = f"{words}: {WITHOUT_MARKS}", ways
        return DataError(words, source=self.opened.name, place=at, column=name, hints=hints)


def _place(data: bytes, line: int, delimiter: str, row: int) -> str:
    """The place of a row in a block whose first line has the number ``line``."""
    reader = csv.reader(io.StringIO(data.decode("utf-8", "replace"), newline=""), delimiter=delimiter)
    passed, left = 0, row
    for values in reader:
        if values:
            if left == 0:
                break
            left -= 1
        passed = reader.line_num
    return f"line {line + passed:,}"


def is_numeric(text: str) -> bool:
    """Whether a text is a number, with the digits 0 to 9."""
    return re.match(NUMERIC, text, re.ASCII) is not None


def sniff(header: str) -> str:
    """The delimiter of a header line: the most frequent candidate.

    >>> sniff("time;wind speed, m/s;load")
    ';'
    """
    return max(DELIMITERS, key=header.count)


def _mostly(texts: Any) -> str:
    """Numbers or truth values, if most texts of a column are: the few others are mistakes, not categories. Else text."""
    return next((kind for kind, pattern in PATTERNS.items() if share_of(texts, pattern) > 0.5), TEXT)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
