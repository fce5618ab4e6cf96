"""JSON lines: one JSON object per line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from driftline.files.errors import NOT_UTF_8, DataError, Hint, left_out, shortened
from driftline.files.lines import LineBlocks
from driftline.files.opening import Opened
from driftline.files.options import Options
from driftline.files.raw import Block, Place, Reader
from driftline.files.types import arrow_type
from driftline.tables.kinds import NUMBER, TEXT, TRUTH

DEEPEST = 100  # levels of nested objects and arrays: pyarrow's parser recurses, and some thousands overflow its stack
STRING = re.compile(rb'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"')
UNQUOTED = rb"(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false)(?=[ \t\r\n]*[,}])"
HALF = "has half of a surrogate pair, which is not a character"
ARRAY = "is an array; put each object on its own line: jq -c '.[]' FILE > NEW"


class JsonLines(Reader):
    """Reads objects with numbers, booleans and texts. Any line may add or omit keys."""

    def __init__(self, opened: Opened, options: Options, types: dict[str, str] | None = None) -> None:
        super().__init__(opened, options, types)
        self.lines = LineBlocks(opened, quotes=False)
        self.names = list(self.types)
        self._unquoted = _unquoted_values(options.texts)

    def blocks(self) -> Iterator[Block]:
        """The rows."""
        start = 0
        for data, line in self.lines:
            data = data.removeprefix(b"\xef\xbb\xbf") if line == 1 else data
            if not data.strip():
                continue
            table, place = self._parse(data, line), partial(_place, data, line)
            if len(table):
                yield self._block(table, start, place)
            start += len(table)
        self.cut_off = self.lines.cut_off

    def _parse(self, data: bytes, line: int) -> Any:
        self._check_text(data, line)
        self._check_depth(data, line)
        types = {name: arrow_type(kind) for name, kind in self.types.items() if self.options.wants(name)}
        types |= dict.fromkeys(self.options.texts, pa.string())
        texts = data if self._unquoted is None else self._unquoted.sub(rb'\1"\2"', data)
        try:
            table = self._read_some(texts, types)
            times = [name for name in table.column_names if name not in types and pa.types.is_timestamp(table[name].type)]
            if times:  # Arrow loses their offsets: read them again as text
                table = self._read_some(texts, types | dict.fromkeys(times, pa.string()))
            self._settle(table, partial(_place, data, line))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, TypeError, UnicodeEncodeError) as error:
            raise self._explain(data, line, error) from None
        return table.select([name for name in table.column_names if self._is_there(name, table)])

    def _check_text(self, data: bytes, line: int) -> None:
        """Raises DataError for bytes that are not UTF-8; Arrow does not check them."""
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            place = f"line {line + data.count(bytes([10]), 0, error.start):,}"
            raise DataError(NOT_UTF_8, source=self.opened.name, place=place) from None

    def _check_depth(self, data: bytes, line: int) -> None:
        at = None if _is_flat(data) else _too_deep(data)
        if at is not None:
            raise DataError(
                f"objects or arrays are nested more than {DEEPEST} levels deep",
                source=self.opened.name,
                place=f"line {line + at:,}",
            )

    def _is_there(self, name: str, table: Any) -> bool:
        """Whether to read a column; an optional one, known from before, may be absent from all rows."""
        optional = name in self.options.optional or (name == self.options.target and not self.options.target_needed)
        return self.options.wants(name) and not (optional and table[name].null_count == len(table))

    def _read_some(self, data: bytes, types: dict[str, Any]) -> Any:
        """Reads at least the columns that are wanted; the others may hold anything."""
        features, others = self.options.features, (self.options.target, self.options.time, self.options.id, self.options.key)
        closed = features is not None and all(name in types for name in (*features, *others) if name is not None)
        try:
            return _read(data, types, closed=closed)
        except pa.ArrowInvalid:
            found = None if closed else self._survey(data)
            if found is None:
                raise
            return _read(data, found | types, closed=True)

    def _survey(self, data: bytes) -> dict[str, Any] | None:
        """The type of each wanted column's first value; None if a line is not an object. Notes the names of all columns."""
        found: dict[str, Any] = {}
        met: dict[str, None] = {}
        for line in data.split(b"\n"):
            try:
                items = json.loads(line) if line.strip() else {}
            except (ValueError, RecursionError):
                return None
            if not isinstance(items, dict):
                return None
            met |= dict.fromkeys(items)
            for name, value in items.items():
                if name not in found and value is not None and self.options.wants(name):
                    found[name] = pa.array([value]).type if isinstance(value, (bool, str)) else pa.float64()
        self._meet(met)
        return found

    def _meet(self, names: Iterable[str]) -> None:
        """Notes the names of columns."""
        self.names = list(dict.fromkeys([*self.names, *names]))

    def _settle(self, table: Any, place: Place) -> None:
        self._meet(table.column_names)
        super()._settle(table, place)

    def _explain(self, data: bytes, line: int, error: Exception) -> DataError:
        """Finds the first line that cannot be read, by parsing each."""
        kinds = dict(self.types)
        for number, piece in enumerate(data.split(b"\n"), line):
            if piece.strip():
                found = self._look(piece, f"line {number:,}", kinds)
                if found is not None:
                    return found
        return DataError(str(error), source=self.opened.name, place=f"lines {line:,} to {line + data.count(bytes([10])):,}")

    def _look(self, piece: bytes, at: str, kinds: dict[str, str]) -> DataError | None:
        def wrong(what: str, column: str | None = None, hints: list[Hint] | None = None) -> DataError:
            return DataError(what, source=self.opened.name, place=at, column=column, hints=hints or [])

        try:
            pairs = json.loads(piece.decode("utf-8"), object_pairs_hook=_Pairs)
        except json.JSONDecodeError as error:
            if piece.lstrip().startswith(b"["):
                return wrong(ARRAY)
            return wrong(f"is not a JSON object: {error.msg} at character {error.pos + 1:,}")
        except (ValueError, RecursionError) as error:  # a whole number of thousands of digits
            return wrong(f"is not a JSON object: {error}")
        if isinstance(pairs, list):
            return wrong(ARRAY)
        if not isinstance(pairs, _Pairs):
            return wrong(f"must be one JSON object, got {shortened(repr(piece.decode()))}")
        seen: set[str] = set()
        for name, value in pairs.items:
            if name in seen:
                return wrong(f"the key {name!r} appears twice")
            seen.add(name)
            if _has_half_a_pair([name]):
                return wrong(f"the key {name!r} {HALF}")
            if _has_half_a_pair([value]):
                return wrong(f"{shortened(ascii(value))} {HALF}", name)
            if value is None or not self.options.wants(name):
                continue
            hints = left_out(name, self.options)
            if isinstance(value, (list, _Pairs)):
                return wrong("holds a list or an object; a value must be a number, text, true or false", name, hints)
            if name in self.options.texts:
                continue
            if isinstance(value, float) and math.isinf(value):
                return wrong("the number is infinite or out of range", name, hints)
            kind = TRUTH if isinstance(value, bool) else TEXT if isinstance(value, str) else NUMBER
            known = kinds.setdefault(name, kind)
            texts = kind == TEXT and known not in (NUMBER, TRUTH)
            if known != kind and not texts:
                return wrong(f"got {shortened(repr(value))}, but the column held a {known} before", name, hints)
        return None


class _Pairs:
    """An object as written: keys may repeat."""

    def __init__(self, items: list[tuple[str, Any]]) -> None:
        self.items = items


def _has_half_a_pair(values: Iterable[Any]) -> bool:
    """Whether a text among values, or within them, has half of a surrogate pair, which no encoding can express."""
    for value in values:
        inner = value.items if isinstance(value, _Pairs) else value
        if isinstance(value, str):
            if any("\ud800" <= mark <= "\udfff" for mark in value):
                return True
        elif isinstance(inner, Iterable) and _has_half_a_pair(inner):
            return True
    return False


def _place(data: bytes, line: int, row: int) -> str:
    """The place of a row in a block whose first line has the number ``line``."""
    left = row
    for number, piece in enumerate(data.split(b"\n"), line):
        if piece.strip():
            if left == 0:
                return f"line {number:,}"
            left -= 1
    return f"row {row:,}"


def _read(data: bytes, types: dict[str, Any], *, closed: bool) -> Any:
    """Reads the columns with given types and, unless closed, all others."""
    return pyarrow.json.read_json(
        pa.py_buffer(data),
        read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
        parse_options=pyarrow.json.ParseOptions(
            explicit_schema=pa.schema(list(types.items())) if types else None,
            unexpected_field_behavior="ignore" if closed else "infer",
        ),
    )


def _unquoted_values(names: Iterable[str]) -> re.Pattern[bytes] | None:
    """Finds the numbers and truth values under some keys, which are read as text; None if there are no keys.

    A quotation mark before a key is not escaped, so that no match begins inside a string. Keys of nested objects match too:
    a column that is read holds none.
    """
    spelled = {json.dumps(name, ensure_ascii=escaped) for name in names for escaped in (True, False)}
    keys = b"|".join(re.escape(key[1:].encode("utf-8", "surrogateescape")) for key in sorted(spelled))
    return re.compile(rb'("(?<!\\")(?:' + keys + rb")[ \t\r\n]*:[ \t\r\n]*)(" + UNQUOTED + rb")") if spelled else None


def _is_flat(data: bytes) -> bool:
    """Quick check that every line is one object without nested ones; False if that is not certain."""
    values = np.frombuffer(data.rstrip(), dtype=np.uint8)
    ends = np.append(np.flatnonzero(values == ord("\n")), values.size)
    starts = np.append(0, ends[:-1] + 1)
    last = ends - 1 - (values[ends - 1] == ord("\r"))
    whole = (values[starts] == ord("{")).all() and (values[last] == ord("}")).all()
    return bool(whole and np.count_nonzero(values | 0x20 == ord("{")) == ends.size)


def _too_deep(data: bytes) -> int | None:
    """The first line, from 0, that is nested too deeply; None if there is none."""
    bare = np.frombuffer(STRING.sub(b"", data), dtype=np.uint8)
    kinds = bare | 0x20  # [ becomes {, and ] becomes }
    depth = np.cumsum((kinds == ord("{")).astype(np.int8) - (kinds == ord("}")), dtype=np.int32)
    deep = np.flatnonzero(depth > DEEPEST)
    return int(np.count_nonzero(bare[: deep[0]] == ord("\n"))) if deep.size else None
