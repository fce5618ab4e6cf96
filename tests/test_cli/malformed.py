"""Files that cannot be read as rows, each with the words that its message must contain."""

import gzip
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from tests.test_cli.tables import as_csv, as_json_lines, mixed

TABLE = mixed(200).drop_columns(["when"])
CSV = as_csv(TABLE)
LINES = CSV.decode().splitlines()
DAMAGED = "damaged"


def parquet(table):
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out, row_group_size=60)
    return out.getvalue()


def arrow(table):
    out = io.BytesIO()
    pyarrow.feather.write_feather(table, out, chunksize=50)
    return out.getvalue()


def stream(table):
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=50)
    return out.getvalue()


def with_line(number, line):
    """The CSV with one line replaced."""
    return "\n".join([*LINES[: number - 1], line, *LINES[number:]]).encode() + b"\n"


def with_value(number, column, value):
    """The CSV with one value replaced."""
    values = LINES[number - 1].split(",")
    values[LINES[0].replace('"', "").split(",").index(column)] = value
    return with_line(number, ",".join(values))


def empty():
    yield "empty.csv", b"", "is empty"
    yield "empty.csv.gz", gzip.compress(b""), "is empty"
    yield "empty.jsonl", b"", "is empty"
    yield "empty.parquet", b"", "is empty"
    yield "blank.jsonl", b"\n\n  \n", ""
    yield "newline.csv", b"\n", ""
    yield "header.csv", b"a,load\n", "has a header but no rows"
    yield "header without end.csv", b"a,load", "has a header but no rows"
    yield "header.csv.gz", gzip.compress(b"a;load\n"), "has a header but no rows"
    yield "header and blanks.csv", b"a,load\n\n\n", "has a header but no rows"
    for name, write in (("parquet", parquet), ("arrow", arrow), ("arrows", stream)):
        yield f"no rows.{name}", write(TABLE.slice(0, 0)), "has a header but no rows"
    yield "no targets.csv", b"a,load\n1,\n2,NA\n", "no row has a target"


def cut_off():
    packed = gzip.compress(CSV)
    for place in range(1, 20):
        yield f"cut {place}.csv.gz", packed[: 10 + place * (len(packed) - 11) // 20], DAMAGED
    whole = parquet(TABLE)
    for place in range(1, 20):
        yield f"cut {place}.parquet", whole[: 8 + place * (len(whole) - 9) // 20], DAMAGED
    whole = arrow(TABLE)
    for place in range(1, 20):
        yield f"cut {place}.arrow", whole[: 8 + place * (len(whole) - 9) // 20], DAMAGED
    whole = stream(TABLE)
    for place in range(1, 10):
        yield f"cut {place}.arrows", whole[: 16 + place * 30], DAMAGED
    yield "garbage behind.csv.gz", packed + b"garbage", DAMAGED
    yield "wrong checksum.csv.gz", packed[:-8] + b"\0" * 8, DAMAGED


def not_utf_8():
    for code in ("utf-16", "utf-16-le", "utf-16-be"):
        yield f"{code}.csv", CSV.decode().encode(code), "UTF-16"
        yield f"{code}.jsonl", as_json_lines(TABLE).decode().encode(code), "UTF-16"
    yield "utf-32.csv", CSV.decode().encode("utf-32"), "UTF-32"
    yield "packed utf-16.csv.gz", gzip.compress(CSV.decode().encode("utf-16")), "UTF-16"
    yield "latin 1 value.csv", with_value(7, "where", "Zürich").decode().encode("latin1"), "line 7: is not UTF-8 text"
    yield "latin 1 name.csv", "größe,load\n1,2\n".encode("latin1"), "line 1: is not UTF-8 text"
    yield "latin 1.jsonl", '{"a": 1, "load": 2}\n{"a": "ü", "load": 2}\n'.encode("latin1"), "line 2: is not UTF-8 text"
    for place in (0, 3, len(CSV) // 2, len(CSV) - 3):
        yield f"nul {place}.csv", CSV[:place] + b"\0" + CSV[place:], "NUL byte"
    yield "nul.jsonl", b'{"a": 1, "load": 2}\n{"a": 1, \0"load": 2}\n', "line 2: there is a NUL byte"
    yield "nothing but nul.csv", b"\0" * 1000, ""


def half_characters():
    """Lone halves of surrogate pairs."""
    rows = [{"x": t % 3, "where": "north", "load": t % 5} for t in range(300)]
    for name, key, value, place in (
        ("text", "where", "\ud800", "line 251, column 'where': "),
        ("text behind others", "where", "north \udfff", "line 251, column 'where': "),
        ("number", "x", "\ud800", "line 251, column 'x': "),
        ("name", "\ud83d", 1, "line 251: the key "),
        ("end of a name", "x\udc00", None, "line 251: the key "),
        ("unused text", "unused", "\ud83d.", "line 251, column 'unused': "),
    ):
        text = value if isinstance(value, str) else key
        lines = [json.dumps(row | {key: value} if number == 250 else row) for number, row in enumerate(rows)]
        yield f"half {name}.jsonl", "\n".join(lines).encode(), f"{place}{text!r} has half of a surrogate pair"
    raw = "\n".join(json.dumps(row) for row in rows).replace("north", "\ud800", 251).replace("\ud800", "north", 250)
    yield "half bytes.jsonl", raw.encode("utf-8", "surrogatepass"), "line 251: is not UTF-8 text"
    broken = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 2], dtype=np.int32)), pa.py_buffer(b"a\xff")]
    )
    for name, write in (("parquet", parquet), ("arrow", arrow), ("arrows", stream)):
        table = pa.table({"where": broken, "load": [1.0, 2.0]})
        yield f"half.{name}", write(table), "column 'where': the file is damaged or cut off: Invalid UTF8"


def other_digits():
    for text in ("١٢", "１２", "۷"):
        yield f"{text}.csv", with_value(150, "wind", text), f"line 150, column 'wind': {text!r} is not a number, unlike most"
        yield (
            f"target {text}.csv",
            with_value(150, "load", text),
            f"the target must be a number, got {text!r}",
        )
        lines = ["x,load", *[f"{text},{t % 3}" for t in range(50)]]
        yield (
            f"all {text}.csv",
            "\n".join(lines).encode(),
            f"line 2, column 'x': {text!r} looks like a number",
        )
    yield "space.csv", with_value(150, "wind", "5\u00a0"), "line 150, column 'wind': '5\\xa0' is not a number, unlike most"


def ragged():
    for number in (2, 3, 50, 201):
        yield (
            f"short {number}.csv",
            with_line(number, "1,2"),
            f"line {number}: the line has 2 values, the header has 5 names",
        )
        yield f"long {number}.csv", with_line(number, "1,2,3,4,5,6,7"), f"line {number}: the line has 7 values"
        semicolons = LINES[number - 1].replace(",", ";")
        yield f"semicolons {number}.csv", with_line(number, semicolons), f"line {number}: the line has 1 value, "
    for mark, name in ((";", "semicolon"), ("\t", "tab"), ("|", "bar")):
        text = CSV.decode().replace(",", mark).splitlines()
        text[9] += mark
        yield f"ragged {name}.csv", "\n".join(text).encode(), "line 10: the line has 6 values, the header has 5 names"
        yield f"commas over {name}s.csv", "\n".join([LINES[0], *text[1:]]).encode(), "the line has"
    yield "packed.csv.gz", gzip.compress(with_line(9, "1,2")), "line 9: the line has 2 values"
    yield "old line ends.csv", CSV.replace(b"\n", b"\r"), "line 1: lines end in CR alone; convert them"
    yield "packed old line ends.csv.gz", gzip.compress(CSV.replace(b"\n", b"\r")), "line 1: lines end in CR alone"
    yield "spaces.csv", CSV.replace(b",", b" "), "there is no column 'load'"
    for number in (2, 100, 201):
        yield f"open quote {number}.csv", with_value(number, "where", '"north'), f"line {number:,}: "


def mixed_types():
    for number in (2, 3, 60, 199, 201):
        for word in ("abc", "12O", "1.2.3", "1 000", "--", "2026-01-01"):
            message = f"line {number}, column 'wind': '{word}' is not a number"
            yield f"{word} {number}.csv", with_value(number, "wind", word), message
        yield (
            f"maybe {number}.csv",
            with_value(number, "on", "perhaps"),
            f"line {number}, column 'on': 'perhaps' is not true or false",
        )
        yield f"target {number}.csv", with_value(number, "load", "much"), f"line {number}, column 'load': the target must be"
    for number in (1, 2, 40):
        rows = [{"wind": 1.5, "load": 2.0} for _ in range(60)]
        for value in ("text", True, [1], {"a": 1}):
            rows[number] = {"wind": value, "load": 2.0}
            text = "".join(json.dumps(row) + "\n" for row in rows)
            yield f"{type(value).__name__} {number}.jsonl", text.encode(), f"line {number + 1}, column 'wind'"
    yield (
        "text target.parquet",
        parquet(TABLE.set_column(4, "load", [["x"] * 200])),
        "column 'load': the target must hold numbers",
    )
    yield "text target.jsonl", b'{"a": 1, "load": "x"}\n', "column 'load': the target must hold numbers"
    yield "lists.parquet", parquet(TABLE.append_column("l", [[[1]] * 200])), "column 'l': holds list"
    yield "bytes.parquet", parquet(TABLE.append_column("l", [[b"x"] * 200])), "column 'l': holds binary"
    yield "struct.arrow", arrow(TABLE.append_column("l", [[{"a": 1}] * 200])), "column 'l': holds struct"


def infinite():
    for word in ("inf", "-inf", "Infinity"):
        for number in (2, 77):
            yield (
                f"{word} {number}.csv",
                with_value(number, "wind", word),
                f"line {number}, column 'wind': the number is infinite",
            )
        yield f"target {word}.csv", with_value(5, "load", word), "line 5, column 'load': the target is infinite"
    for number in (2, 77):
        yield (
            f"too large {number}.csv",
            with_value(number, "wind", "1e999"),
            f"line {number}, column 'wind': the number is infinite",
        )
    yield "infinite.jsonl", b'{"wind": 1.0, "load": 2}\n{"wind": Infinity, "load": 2}\n', "line 2, column 'wind'"
    yield "too large.jsonl", b'{"wind": 1.0, "load": 2}\n{"wind": 1e999, "load": 2}\n', "line 2, column 'wind'"
    wind = np.ones(200)
    wind[123] = np.inf
    for name, write in (("parquet", parquet), ("arrow", arrow), ("arrows", stream)):
        yield (
            f"infinite.{name}",
            write(TABLE.set_column(0, "wind", [wind])),
            "row 123, column 'wind': the number is infinite",
        )
        yield f"target.{name}", write(TABLE.set_column(4, "load", [wind])), "row 123, column 'load': the target is infinite"


def names():
    yield "no target.csv", b"a,b\n1,2\n", "there is no column 'load'. There are: a, b"
    yield "near target.csv", b"a,Laod\n1,2\n", "Did you mean Laod?"
    yield "no target.jsonl", b'{"a": 1}\n', "there is no column 'load'"
    yield "no target.parquet", parquet(TABLE.drop_columns(["load"])), "there is no column 'load'"
    yield "no target.arrow", arrow(TABLE.drop_columns(["load"])), "there is no column 'load'"
    yield "numbers for names.csv", b"1,2.5\n3,4\n", "The first line holds numbers"
    yield "one column.csv", b"a:load\n1:2\n", "Its one column is 'a:load'"
    for header in ("load,load", "a,load,a", "a,a,a,load", "load,b,load", "x, x,load"):
        yield f"twice {header}.csv", header.encode() + b"\n1,2,3,4\n", "two columns are called"
    yield "twice.jsonl", b'{"a": 1, "load": 2}\n{"a": 1, "load": 2, "a": 3}\n', "line 2: the key 'a' appears twice"
    twice = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0]), pa.array([3.0])], names=["a", "a", "load"])
    yield "twice.arrow", arrow(twice), "two columns are called 'a'"
    yield "twice.arrows", stream(twice), "two columns are called 'a'"


def bad_json():
    good = '{"a": 1, "load": 2}'
    for number in (1, 2, 30):
        for bad in (
            "{",
            '{"a": 1',
            "[1, 2]",
            "7",
            '"text"',
            "{'a': 1}",
            '{"a": 1,}',
            '{"a" 1}',
            good + good + "}",
            "garbage",
        ):
            if number == 1 and not bad.startswith(("{", "[")):
                continue
            rows = [good] * (number - 1) + [bad] + [good] * 40
            yield f"{bad[:8]} {number}.jsonl".replace("/", ""), "\n".join(rows).encode(), f"line {number}"
    yield "one array.jsonl", b'[{"a": 1, "load": 2}]', "line 1"
    yield "deep.jsonl", b"[" * 5000, "line 1"


def foreign():
    starts = (
        b"PK\x03\x04",
        b"BZh9",
        b"\xfd7zXZ\0",
        b"(\xb5/\xfd",
        b"FEA1",
        b"\x89PNG\r\n",
        b"%PDF-1.7",
        b"SQLite format 3\0",
        b"\x89HDF",
    )
    for place, start in enumerate(starts):
        yield f"foreign {place}", start + bytes(range(1, 200)) * 20, "is "
    rng = np.random.default_rng(5)
    for place in range(12):
        yield f"noise {place}", rng.integers(0, 256, 4000).astype(np.uint8).tobytes(), ""
    yield "page.html", b"<!DOCTYPE html>\n<html><body>Not found</body></html>\n", "there is no column 'load'"


def huge_lines(limit):
    yield "one line.csv", b"a" * (2 * limit), "the line is longer than"
    yield "one value.csv", b"a,load\n" + b"1" * (3 * limit), "the line is longer than"
    yield "one object.jsonl", b'{"a": "' + b"x" * (2 * limit), "the line is longer than"
    yield "packed.csv.gz", gzip.compress(b"a" * (2 * limit)), "the line is longer than"
    yield "one quote.csv", b'a,load\n"' + b"1,2\n" * limit, ""


KINDS = (empty, cut_off, not_utf_8, half_characters, other_digits, ragged, mixed_types, infinite, names, bad_json, foreign)
