"""Times written as text: detects the layout from the texts, if they allow it.

Arrow recognises only ISO 8601; texts in any other layout would become one category each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.files.buffers import to_numpy
from driftline.files.columns import as_texts
from driftline.files.errors import DataError, Hint, not_as_values, shortened
from driftline.files.options import Options
from driftline.files.types import WRITTEN
from driftline.tables.calendar import MISSING
from driftline.tables.kinds import CLOCK, DATE, NUMBER, TEXT, TIMESTAMP

ISO, ISO_UTC = "ISO 8601", "ISO 8601 with offset"
DAYS = (
    "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%d/%m/%y", "%m/%d/%y",
    "%d %b %Y", "%d-%b-%Y", "%b %d %Y", "%b %d, %Y",
)  # fmt: skip
CLOCKS = ("", " %H:%M:%S", " %H:%M", "T%H:%M:%S", "T%H:%M", " %I:%M %p", " %I:%M:%S %p")
LAYOUTS = ("%Y-%m-%d", "%Y-%m", ISO, ISO_UTC, *(day + clock for day in DAYS for clock in CLOCKS))
FINE_DECIMALS = re.compile(rb":\d\d\.\d{7}")  # of a second
_DAYS_TO_31, _DAYS_TO_30, _DAYS_TO_28 = "(0[1-9]|[12]\\d|3[01])", "(0[1-9]|[12]\\d|30)", "(0[1-9]|1\\d|2[0-8])"
_LEAP = r"(\d\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)"
_DATE = rf"(\d{{4}}-((0[13578]|1[02])-{_DAYS_TO_31}|(0[469]|11)-{_DAYS_TO_30}|02-{_DAYS_TO_28})|{_LEAP}-02-29)"
_CLOCK = r"[T ]([01]\d|2[0-3])(:[0-5]\d(:[0-5]\d(\.\d+)?)?)?"
NO_OFFSET = f"^{_DATE}({_CLOCK})?$"  # exactly what Arrow reads, so that it never refuses a column for one text
OFFSET = rf"^{_DATE}{_CLOCK}(Z|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)$"
WITH_OFFSET = "times with an offset"
EXAMPLE, LIKE_EXAMPLE = "%d.%m.%Y %H:%M", "or similar, to say how times are written"
WITHOUT_MARKS = "write it without marks for thousands, money or percent, and with the digits 0 to 9 and - for minus"
SAMPLE = 200  # texts that a layout must fit before all are checked
_MONTH = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
LIKE_TIMES = (
    r"(?i)^\s*((mon|tue|wed|thu|fri|sat|sun)[a-z]*,? +)?("
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}/\d{1,2}/\d{2}|"
    rf"\d{{1,2}}[ .-]+{_MONTH}[ .,-]+\d{{2,4}}|{_MONTH}\.? +\d{{1,2}},? +\d{{4}}|"
    r"(19|20)\d\d-(0[1-9]|1[0-2])"
    r")([ T,].*)?$"
)

OTHER_DIGITS = r"[\x{660}-\x{669}\x{6f0}-\x{6f9}\x{966}-\x{96f}\x{9e6}-\x{9ef}\x{ff10}-\x{ff19}]"
NUMERIC = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
LIKE_NUMBERS = (  # with marks of currency, percent or thousands, a decimal comma, or other signs or digits than ASCII's
    r"^\s*[+-]?("
    r"\x{2212}\s*[\d.]+|\d+\x{66b}\d+|"
    r"[$€£¥]\s*[+-]?\d[\d,.' ]*|\d[\d,.' ]*\s*[%‰$€£¥]|"
    r"\d{1,3}([,' \x{a0}]\d{3})+([.,]\d+)?|\d{1,3}(\.\d{3}){2,}(,\d+)?|\d+,\d+|"
    rf"(\d|{OTHER_DIGITS})*{OTHER_DIGITS}(\d|{OTHER_DIGITS}|[.,\x{{66b}}\x{{66c}}])*"
    r")\s*$"
)


def look_like_times(texts: Any) -> bool:
    """Whether most texts of an array look like dates, in a known layout or not.

    >>> look_like_times(pa.array(["31/12/2025", "2025-13-40", "3 Dec 2025 10:00"])), look_like_times(pa.array(["1.2.10"]))
    (True, False)
    """
    return share_of(texts, LIKE_TIMES) > 0.5


def share_of(texts: Any, pattern: str) -> float:
    """The share of texts that match."""
    return float(pc.mean(pc.match_substring_regex(texts, pattern)).as_py() or 0.0) if len(texts) else 0.0


def layouts_of(texts: Any) -> list[str]:
    """The layouts that fit all texts, without those that give the same times.

    >>> layouts_of(pa.array(["31/12/2025", "1/2/2025"])), layouts_of(pa.array(["03/12/2025", "1/2/2025"]))
    (['%d/%m/%Y'], ['%d/%m/%Y', '%m/%d/%Y'])
    """
    found: list[tuple[str, Any]] = []
    for layout in _promising(texts):
        times = parse(texts, layout)
        if not times.null_count and not any(times.equals(other) for _, other in found):
            found.append((layout, times))
    return [layout for layout, _ in found]


def closest_layout(texts: Any) -> str | None:
    """The layout that fits the most texts from the first one on, or else most texts; None if hardly any text fits one."""
    texts = texts.slice(0, SAMPLE)
    fits = [(pc.is_valid(parse(texts, layout)).to_pylist(), layout) for layout in LAYOUTS]
    leading, share, layout = max(([*fit, False].index(False), sum(fit) / len(fit), layout) for fit, layout in fits)
    return layout if leading or share > 0.5 else None


def _promising(texts: Any) -> Iterator[str]:
    sample = texts.slice(0, SAMPLE)
    return (layout for layout in LAYOUTS if parse(sample, layout).null_count == 0)


def kind_of(layout: str) -> str:
    """The kind of a column that is written in a layout."""
    if layout == ISO_UTC or "%z" in layout:
        return f"{TIMESTAMP} UTC"
    return TIMESTAMP if layout == ISO or any(mark in layout for mark in ("%H", "%I", "%T", "%R", "%s", "%c")) else DATE


def as_written(kind: str) -> str:
    """The kind of a column of timestamps that is read as text, which allows more decimals than microseconds have.

    >>> as_written("timestamp"), as_written("timestamp UTC")
    ('written ISO 8601', 'written ISO 8601 with offset')
    """
    return f"{WRITTEN} {ISO if kind == TIMESTAMP else ISO_UTC}"


def in_words(kind: str) -> str:
    """Describes a column of times; the words are equal if the times can be compared.

    >>> in_words("number"), in_words("date"), in_words("timestamp UTC"), in_words("written ISO 8601 with offset")
    ('numbers', 'times without an offset', 'times with an offset', 'times with an offset')
    """
    word, _, rest = kind.partition(" ")
    if word == WRITTEN:
        return in_words(kind_of(rest))
    if word in (NUMBER, CLOCK):
        return "numbers" if word == NUMBER else "times of day"
    return WITH_OFFSET if rest else "times without an offset"


def unlike_others(text: str, kind: str, others: str) -> str | None:
    """Says how a time differs from others of its column; None if the text is not a time in a known layout.

    >>> unlike_others("2025-12-31 10:00Z", "timestamp", "those read before")
    "'2025-12-31 10:00Z' has an offset, unlike those read before: write all times with an offset, or none of them"
    >>> unlike_others("31.12.2025", "date", "those read before")
    "'31.12.2025' is not a time like those read before: write all times in one notation"
    """
    layouts = layouts_of(pa.array([text]))
    if not layouts:
        return None
    offset, expected = (in_words(each) == WITH_OFFSET for each in (kind_of(layouts[0]), kind))
    if offset == expected:
        return f"{text!r} is not a time like {others}: write all times in one notation"
    return (
        f"{text!r} has {'an' if offset else 'no'} offset, unlike {others}: write all times with an offset, or none of them"
    )


def parse(texts: Any, layout: str) -> Any:
    """Texts as times; null where one is missing or does not fit the layout.

    >>> parse(pa.array(["28/02/2025", "31/02/2025", "2025-02-28"]), "%d/%m/%Y").is_valid().to_pylist()
    [True, False, False]
    """
    if layout in (ISO, ISO_UTC):
        like = pc.match_substring_regex(texts, OFFSET if layout == ISO_UTC else NO_OFFSET)
        texts = pc.replace_substring_regex(_without(texts, pc.invert(like)), r"(\.\d{6})\d+", r"\1")  # to microseconds
        return texts.cast(pa.timestamp("us", tz=None if layout == ISO else "UTC"))
    try:
        times = pc.strptime(texts, format=layout, unit="us", error_is_null=True)
    except pa.ArrowInvalid:
        return pa.nulls(len(texts), pa.timestamp("us"))
    wrong = [text for text in {texts[row].as_py() for row in _doubtful(times)} if not _is_written(text, layout)]
    return _without(times, pc.is_in(texts, pa.array(wrong, texts.type))) if wrong else times


def _doubtful(times: Any) -> list[int]:
    """The rows to check again: Arrow reads 31 February as 3 March, and 25 as a four-digit year."""
    days = to_numpy(times, np.int64, 0).astype("datetime64[us]").astype("datetime64[D]")
    early = (days - days.astype("datetime64[M]")).astype(np.int64) < 3
    known = to_numpy(times, np.int64, MISSING) != MISSING
    return np.flatnonzero(known & (early | (days < np.datetime64("1000-01-01")))).tolist()


def _without(values: Any, which: Any) -> Any:
    """Replaces values by null. With Python's None, Arrow would import pandas."""
    return pc.if_else(which, pa.nulls(len(values), values.type), values)


def _is_written(text: str, layout: str) -> bool:
    for each in (layout, layout.replace("%b", "%B")):
        try:
            datetime.strptime(text.strip(), each)
        except ValueError:
            continue
        return True
    return False


class TextColumn:
    """A column of text, with the places of its rows.

    Args:
        name: the column's name.
        column: the Arrow column.
        options: how the file is read.
        place: describes a row's place.
        source: the file's name.
    """

    def __init__(self, name: str, column: Any, options: Options, place: Callable[[int], str], source: str) -> None:
        self.name, self.options, self.place, self.source = name, options, place, source
        texts = as_texts(column)
        self.empty = texts.null_count == len(texts)
        missing = "^(" + "|".join(map(re.escape, options.nulls)) + ")$"
        self.texts = _without(texts, pc.match_substring_regex(texts, missing))

    def kind(self) -> str | None:
        """Text, or the layout of the column's times; None if there is no value."""
        if self.empty:
            return None
        known = pc.drop_null(self.texts)
        given = self.options.time_format
        if given and len(known):
            if parse(known, given).null_count == 0:
                return f"{WRITTEN} {given}"
            if self.name == self.options.time:
                raise self._unlike(given)
        if not look_like_times(known):
            self._check_numbers(known)
            return TEXT
        layouts = layouts_of(known)
        if not layouts:
            raise self._unlike(closest_layout(known))
        if len(layouts) > 1:
            raise self._unclear(layouts)
        return f"{WRITTEN} {layouts[0]}"

    def _check_numbers(self, known: Any) -> None:
        """Refuses decorated numbers as categories, because each would be a separate category."""
        if share_of(known, LIKE_NUMBERS) and share_of(known, f"{LIKE_NUMBERS}|{NUMERIC}") > 0.5:
            row = pc.fill_null(pc.match_substring_regex(self.texts, LIKE_NUMBERS), False).to_pylist().index(True)
            raise self._wrong(f"{self.texts[row].as_py()!r} looks like a number: {WITHOUT_MARKS}", row)

    def times(self, layout: str) -> Any:
        """The times; raises DataError if a text is not one."""
        times = parse(self.texts, layout)
        if times.null_count > self.texts.null_count:
            raise self._unlike(layout)
        return times

    def _unlike(self, layout: str | None) -> DataError:
        """The error for a text that is not a date, or not like the others."""
        times = pa.nulls(len(self.texts), pa.timestamp("us")) if layout is None else parse(self.texts, layout)
        row = pc.and_(pc.is_valid(self.texts), pc.is_null(times)).to_pylist().index(True)
        text = self.texts[row].as_py()
        shown = shortened(text)
        example = next(iter(pc.drop_null(_without(self.texts, pc.is_null(times)))), None)
        if layout is None:
            words = f"{shown!r} looks like a date, but not in a known format"
            return self._wrong(words, row, _missing(shown), Hint("time_format", EXAMPLE, LIKE_EXAMPLE))
        if example is None:
            return self._wrong(f"{shown!r} is not a time of the form {layout}", row, _missing(shown))
        others = f"{shortened(example.as_py())!r} elsewhere in the column"
        if (unlike := unlike_others(text, kind_of(layout), others)) is not None:
            return self._wrong(unlike, row)
        return self._wrong(f"{shown!r} is not a time like {others}", row, _missing(shown))

    def _unclear(self, layouts: list[str]) -> DataError:
        """The error for texts that fit several layouts."""
        readings = [parse(self.texts, layout) for layout in layouts[:2]]
        row = pc.fill_null(pc.not_equal(*readings), False).to_pylist().index(True)
        meanings = [f"{times[row].as_py():%Y-%m-%d}" for times in readings]
        words = f"{self.texts[row].as_py()!r} may be {' or '.join(meanings)}, and the rows so far do not show which"
        return self._wrong(words, row, *(Hint("time_format", each, "if times are written that way") for each in layouts))

    def _wrong(self, words: str, row: int, *hints: Hint) -> DataError:
        hints = (*hints, *not_as_values(self.name, self.options))
        return DataError(words, source=self.source, place=self.place(row), column=self.name, hints=hints)


def _missing(shown: str) -> Hint:
    return Hint("na", shown, "if it means a missing value")


def with_times(table: Any, types: dict[str, str], options: Options, place: Callable[[int], str], source: str) -> Any:
    """Converts the columns of a table that hold times as text; returns the table and its columns' kinds."""
    kinds, columns = dict(types), dict(zip(table.schema.names, table.columns, strict=True))
    for name, kind in types.items():
        word, _, layout = kind.partition(" ")
        if word == WRITTEN:
            kinds[name] = kind_of(layout)
            if name in columns:
                columns[name] = TextColumn(name, columns[name], options, place, source).times(layout)
    return (table if kinds == types else pa.table(columns)), kinds
