"""Batches that are read as tables."""

import json
import random
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.serve.limits import Limits
from driftline.serve.problems import Problem
from driftline.serve.requests import Requests, row_of, rows_of, table_of
from driftline.serve.schema import parse
from tests.cases import for_each
from tests.test_serve.tools import SEED


def rows(*xs, y=1.0):
    """Ten rows that cycle through the given features."""
    return [{"x": xs[number % len(xs)], "y": y} for number in range(10)]


def body(parts):
    return json.dumps({"rows": parts}).encode()


def bits(values):
    return [struct.pack("d", value) for value in values]


@pytest.mark.parametrize(
    "parts",
    [
        rows({"a": 1.5, "b": 2}),
        rows([1.0, 2.0], [3, 4]),
        rows({"é\n\"\\": 1.0, "": 2.0, "😀": 3.0}),
        [{"y": number, "x": {"a": float(number)}} for number in range(8)],
        [*rows([1.0]), {"y": 2, "x": [3]}],
        [{"id": f"r {number}", "x": {"b%": number / 3, "a'": -0.0}, "y": 1.0} for number in range(8)],
        [{"x": [number, 1e300], "y": 1.0, "id": f"r{number}"} for number in range(8)],
    ],
)  # fmt: skip
def test_a_batch_of_equal_features_is_read_as_a_table(parts):
    block = table_of(body(parts))
    assert len(block) == len(parts)
    for found, part in zip(block, parts, strict=True):
        assert found == row_of(part)
    assert block.digests() == [row_of(part).digest() for part in parts]
    assert block.X.dtype == block.y.dtype == np.float64


@for_each(
    "parts",
    [
        rows({"a": 1.0})[:7],
        rows({"a": 1.0, "b": 2.0}, {"b": 4.0, "a": 3.0}),
        rows({"a": 1.0}, {"b": 1.0}),
        rows({"a": 1.0}, {"a": 1.0, "b": 1.0}),
        rows({"a": 1.0}, [1.0]),
        rows([1.0], [1.0, 2.0]),
        rows([]),
        rows({}),
        rows([True]),
        rows({"a": None}),
        rows(["1"]),
        rows([10**400]),
        rows([1.0], y=True),
        rows([1.0], y=None),
        rows([float("nan")]),
        rows([1.0], y=float("inf")),
        [*rows([1.0]), {"id": "a", "x": [1.0], "y": 1.0}],
        [{**row, "id": "é"} for row in rows([1.0])],
        [{**row, "id": "a\n"} for row in rows([1.0])],
        [{**row, "id": 5} for row in rows([1.0])],
        [{**row, "key": "a"} for row in rows([1.0])],
        [*rows([1.0]), 5],
        [*rows([1.0]), {"y": 1.0}],
    ],
)
def test_other_batches_are_read_row_by_row(parts):
    assert table_of(body(parts)) is None


@pytest.mark.parametrize("name", ['"a": 1.0, "a"', '"\\x"', '"\n"', '"\\ud8"'])
def test_duplicate_or_invalid_names_are_left_to_the_parser(name):
    row = f'{{"x": {{{name}: 2.0}}, "y": 1.0}}'
    assert table_of(f'{{"rows": [{", ".join([row] * 10)}]}}'.encode()) is None


number = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.from_regex(r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.sampled_from(["-0", "-0.0", "0e0", "1E400", "-1e-400", "5e-324", "2.4703282292062328e-324", "9007199254740993"]),
)


@given(st.lists(number, min_size=16, max_size=16))
def test_numbers_are_parsed_as_python_parses_them_bit_for_bit(texts):
    pairs = list(zip(texts[::2], texts[1::2], strict=True))
    text = ", ".join(f'{{"x": {{"a": {x}}}, "y": {y}}}' for x, y in pairs)
    block = table_of(f'{{"rows": [{text}]}}'.encode())
    plain = [float(json.loads(each)) for each in texts]
    if block is not None:
        assert bits(block.X[:, 0]) == bits(plain[::2])
        assert bits(block.y) == bits(plain[1::2])
    else:  # overflows, or underflows to zero
        assert any(
            np.isinf(value) or (value == 0 and text.strip("-0.eE+") != "") for value, text in zip(plain, texts, strict=True)
        )


def test_a_damaged_batch_is_read_as_a_table_only_if_the_parser_agrees():
    rng, requests, tables = random.Random(SEED), Requests(Limits()), 0
    whole = body(rows({"a": 1.5, "b\u00e9": -2}, y=3e-2))
    for _ in range(3000):
        text = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(text))
            text[at : at + rng.randrange(2)] = rng.choice(
                [b"", b"0", b"1", b"-", b".", b"e", b" ", b'"', b",", b"\\", b"\xff"]
            )
        block = table_of(bytes(text))
        if block is not None:
            tables += 1
            assert list(block) == [row_of(part) for part in parse(bytes(text))["rows"]]
            try:
                assert list(requests.read_rows("learn", bytes(text))[0]) == list(block)
            except Problem as problem:  # a name that is too long or has control characters
                assert problem.row == 0  # noqa: PT017
    assert tables > 100


def test_logs_of_earlier_versions_may_have_names_twice():
    assert rows_of(b'{"x": {"a": 1, "a": 2}, "y": 1}') == [row_of({"x": {"a": 2}, "y": 1})]
