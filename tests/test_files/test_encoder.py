"""The encoding of columns depends neither on how the rows are cut into blocks nor on the file format."""

import json
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.files import Options
from driftline.files.block import BlockMaker
from driftline.files.raw import Block
from driftline.files.types import type_name
from driftline.tables.encoder import Columns

values = {
    "number": st.one_of(st.none(), st.floats(-1e6, 1e6, allow_nan=False)),
    "text": st.one_of(st.none(), st.sampled_from(["a", "b", "c", "other", "missing", "=", ""])),
    "truth": st.one_of(st.none(), st.booleans()),
    "when": st.one_of(st.none(), st.datetimes()),
}
TYPES = {"number": pa.float64(), "text": pa.string(), "truth": pa.bool_(), "when": pa.timestamp("us")}
SETTINGS = [("mean", 50), ("last", 2), ({"": "mean", "number": "zero", "truth": "skip"}, 0)]


@st.composite
def tables(draw):
    rows = draw(st.integers(1, 30))
    columns = {name: draw(st.lists(value, min_size=rows, max_size=rows)) for name, value in values.items()}
    table = pa.table({name: pa.array(column, TYPES[name]) for name, column in columns.items()})
    cuts = sorted(draw(st.lists(st.integers(0, rows), max_size=4)))
    return table, [0, *cuts, rows]


def raw(table, start):
    kinds = {name: type_name(kind) for name, kind in zip(table.schema.names, table.schema.types, strict=True)}
    return Block(table=table, start=start, kinds=kinds, place=lambda row: f"row {row}")


def encoded(table, cuts, missing="mean", limit=50, copied=False):
    """All rows as mappings, each with the features known by then, and the columns."""
    maker, columns, rows = BlockMaker(Options(categories=limit)), Columns(missing, limit=limit), []
    for first, last in pairwise(cuts):
        if first == last:
            continue
        X, width = maker.block(raw(table.slice(first, last - first), first)).X, len(columns.names)
        block, growth = columns.table(X.values, "", np.ones(len(X), dtype=bool))
        widths = dict(growth)
        for row, x in enumerate(block):
            width = widths.get(row, width)
            assert not x[width:].any()
            rows.append(dict(zip(columns.names[:width], x.tolist(), strict=False)))
        if copied:
            state = json.loads(json.dumps(columns.state(), sort_keys=True))  # as files sort mappings
            columns = Columns(missing)
            columns.restore(state)
    return rows, columns


@given(tables(), st.sampled_from(SETTINGS))
def test_neither_block_boundaries_nor_saving_change_the_encoding(case, settings):
    table, cuts = case
    whole, encoder = encoded(table, [0, len(table)], *settings)
    for copied in (False, True):
        rows, other = encoded(table, cuts, *settings, copied=copied)
        assert other.names == encoder.names
        assert other.state() == encoder.state()
        np.testing.assert_equal(rows, whole)


@given(tables())
def test_a_text_value_sets_only_its_own_indicator(case):
    table, _ = case
    rows, encoder = encoded(table, [0, len(table)])
    seen = False
    for row, value in zip(rows, table["text"].to_pylist(), strict=True):
        hot = {name for name, x in row.items() if name.startswith("text") and x}
        seen = seen or value is not None
        assert hot == ({"text is missing"} if value is None and seen else set() if value is None else {f"text={value}"})
    assert len(set(encoder.names)) == len(encoder.names)


def test_categories_beyond_the_limit_share_a_feature():
    table = pa.table({"text": ["a", "b", "c", "a", "d", "other"]})
    rows, encoder = encoded(table, [0, 6], limit=2)
    assert encoder.names == ["text=a", "text=b", "text is other"]
    assert [row.get("text is other", 0.0) for row in rows] == [0.0, 0.0, 1.0, 0.0, 1.0, 1.0]


def test_colliding_feature_names_are_made_unique():
    table = pa.table({"a=b": [1.0], "a": ["b"], "a is missing": [2.0]})
    _, encoder = encoded(table, [0, 1])
    assert encoder.names == ["a=b", "a=b'", "a is missing"]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (pa.int8(), -3, -3.0),
        (pa.uint64(), 2**40, 2.0**40),
        (pa.float32(), 0.5, 0.5),
        (pa.float16(), np.float16(0.5), 0.5),
        (pa.decimal128(10, 2), __import__("decimal").Decimal("1.25"), 1.25),
        (pa.duration("ms"), 1500, 1.5),
        (pa.bool_(), True, 1.0),
        (pa.dictionary(pa.int8(), pa.float64()), 2.5, 2.5),
    ],
)
def test_every_numeric_type_becomes_a_number(kind, value, expected):
    array = pa.array([value, None, value], kind.value_type).dictionary_encode() if pa.types.is_dictionary(kind) else None
    table = pa.table({"x": pa.array([value, None, value], kind) if array is None else array})
    rows, encoder = encoded(table, [0, 1, 3])
    assert encoder.names == ["x", "x is missing"]
    assert [row["x"] for row in rows] == [expected] * 3
    assert [row.get("x is missing", 0.0) for row in rows] == [0.0, 1.0, 0.0]


def test_the_time_of_day_is_local_to_the_time_zone():
    noon = pa.array([1767268800], pa.int64()).cast(pa.timestamp("s", tz="America/New_York"))  # 12:00 UTC, 7:00 local time
    rows, _ = encoded(pa.table({"t": noon}), [0, 1])
    assert rows[0]["t: day sin"] == pytest.approx(np.sin(2 * np.pi * 7 / 24))
    assert rows[0]["t: day cos"] == pytest.approx(np.cos(2 * np.pi * 7 / 24))


def test_rows_that_go_back_in_time_are_counted():
    maker = BlockMaker(Options(time="t"))
    for start, times in ((0, [3.0, 1.0, 2.0]), (3, [1.5, None, 9.0])):
        block = maker.block(raw(pa.table({"t": pa.array(times), "x": [1.0] * 3}), start))
    assert (maker.backwards, block.names) == (2, ["x"])
    assert block.times[2] == 9.0


@pytest.mark.parametrize("settings", [{"missing": {"": "men"}}, {"missing": {"a": ""}}, {"categories": -1}])
def test_invalid_settings_are_refused(settings):
    with pytest.raises(ValueError, match="must be"):
        Options(**settings)
