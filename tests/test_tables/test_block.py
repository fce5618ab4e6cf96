"""Rows of every kind as one kind of block."""

import gc
import weakref

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import driftline as dl
from driftline.tables.block import as_block, as_sparse_block, of_columns
from driftline.tables.cells import Given

X = np.random.default_rng(0).normal(size=(50, 2))
KINDS = {
    "array": lambda: as_block(X, "test"),
    "whole numbers": lambda: as_block(np.round(100 * X).astype(int), "test"),
    "pandas": lambda: as_block(pd.DataFrame(X, columns=["a", "b"]), "test"),
    "polars": lambda: as_block(pl.DataFrame(X, schema=["a", "b"], orient="row"), "test"),
    "pyarrow": lambda: as_block(pa.table({"a": X[:, 0], "b": X[:, 1]}), "test"),
    "sparse": lambda: as_block(sp.csr_array(X), "test"),
    "columns": lambda: of_columns(
        {name: Given("number", X[:, j].copy()) for j, name in enumerate("ab")}, 50, begins={"b": 20}
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [slice(10, 30), slice(0, 0), np.array([3, 4, 20, 21, 49]), np.arange(50)], ids=str)
def test_some_rows_of_a_block_are_a_block_of_these_rows(kind, rows):
    block = KINDS[kind]()
    part = block[rows]
    np.testing.assert_array_equal(part.block(0, len(part)), block.block(0, 50)[rows])
    by_column = {name: given.values[rows] for name, given in block.given(0, 50, "test").items()}
    assert part.given(0, len(part), "test").keys() == by_column.keys()
    for name, given in part.given(0, len(part), "test").items():
        np.testing.assert_array_equal(given.values, by_column[name])
    if kind == "columns":  # b begins with the first of these rows that is not before row 20
        before = np.count_nonzero(np.arange(50)[rows] < 20)
        assert (part.open, part.begins.get("b", 0)) == (True, before)


def test_sparse_rows_are_handed_out_as_they_are():
    for start, rows in as_sparse_block(sp.csr_array(X), "test").blocks():
        np.testing.assert_array_equal(rows.values.reshape(-1, 2), X[start : start + len(rows)])


@pytest.mark.parametrize(
    "make",
    [dl.RLS, lambda: dl.RLS(missing="mean"), lambda: dl.features.Hashing(4) | dl.RLS()],
    ids=["plain", "encoded", "hashed"],
)
def test_rows_are_freed_with_their_last_reference(make):
    """A cycle among blocks would keep large tables until the garbage collector comes by."""
    rows = X.view(type("Watched", (np.ndarray,), {}))
    watched, model = weakref.ref(rows), make()
    gc.disable()
    try:
        model.run(rows, np.ones(50))
        model.predict(rows)
        del rows
        assert watched() is None
    finally:
        gc.enable()
