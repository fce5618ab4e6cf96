"""Batches as tables: when they are one, and what is in it."""

import numpy as np
import pytest

from driftline.serve.requests import block_of, row_of


def rows(*xs, y=1.0):
    """Ten rows that repeat some features."""
    return [{"x": xs[number % len(xs)], "y": y} for number in range(10)]


@pytest.mark.parametrize(
    "parts",
    [
        rows({"a": 1.5, "b": 2}),
        rows({"a": 1.0, "b": 2.0}, {"b": 4.0, "a": 3.0}),
        rows([1.0, 2.0], [3, 4]),
        [{"y": number, "x": {"a": float(number)}} for number in range(8)],
    ],
)
def test_a_batch_of_the_same_features_is_a_table_of_its_rows(parts):
    block = block_of(parts)
    assert len(block) == len(parts)
    for found, part in zip(block, parts, strict=True):
        assert found == row_of(part)
    assert block.X.dtype == block.y.dtype == np.float64


@pytest.mark.parametrize(
    "parts",
    [
        rows({"a": 1.0})[:7],
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
        [{**row, "id": "a"} for row in rows([1.0])],
        [*rows([1.0]), 5],
        [*rows([1.0]), {"y": 1.0}],
    ],
)
def test_other_batches_go_row_by_row(parts):
    assert block_of(parts) is None
