"""Runs as frames of the user's library."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import driftline as dl

KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
MAKE = {
    "pandas": lambda X: pd.DataFrame(X, columns=["a", "b"], index=range(100, 100 + len(X))),
    "polars": lambda X: pl.DataFrame(X, schema=["a", "b"], orient="row"),
    "pyarrow": lambda X: pa.table({"a": X[:, 0], "b": X[:, 1]}),
}


def stream(rows=600):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 2))
    return X, np.where(np.arange(rows) < 400, X[:, 0], -9 * X[:, 0]) + 0.1 * rng.normal(size=rows)


def column(frame, name):
    return np.asarray(frame[name])


@pytest.mark.parametrize("library", KINDS)
def test_a_run_returns_the_kind_of_frame_that_it_was_given(library):
    X, y = stream()
    run = dl.CRRLS(period=150).run(MAKE[library](X), y, level=0.8)
    frame = run.to_frame()
    assert isinstance(frame, KINDS[library])
    names = list(frame.column_names if library == "pyarrow" else frame.columns)
    assert names == ["prediction", "error", "lower", "upper", "reset", "alarm"]
    for name, values in (("prediction", run.predictions), ("error", run.errors), ("lower", run.lower), ("upper", run.upper)):
        np.testing.assert_array_equal(column(frame, name), values)
    assert len(run.resets) > 1
    assert len(run.alarms) >= 1
    np.testing.assert_array_equal(np.flatnonzero(column(frame, "reset")), run.resets)
    np.testing.assert_array_equal(np.flatnonzero(column(frame, "alarm")), run.alarms)


@pytest.mark.parametrize("library", KINDS)
def test_another_library_can_be_requested(library):
    X, y = stream(50)
    run = dl.RLS().run(X, y)
    for like in (library, MAKE[library](X)):
        frame = run.to_frame(like)
        assert isinstance(frame, KINDS[library])
        np.testing.assert_array_equal(column(frame, "prediction"), run.predictions)


def test_the_index_of_a_pandas_frame_is_kept():
    X, y = stream(50)
    table = MAKE["pandas"](X)
    run = dl.RLS().run(table, y)
    assert run.to_frame(table).index.equals(table.index)
    with pytest.raises(ValueError, match=r"^Run\.to_frame: like has 49 rows instead of 50$"):
        run.to_frame(table[1:])


@pytest.mark.parametrize("library", MAKE)
def test_encoded_and_hashed_rows_remember_their_library_too(library):
    X, y = stream(50)
    for model in (dl.RLS(missing="mean"), dl.features.Hashing(8) | dl.RLS()):
        run = model.run(MAKE[library](X), y)
        assert type(run.to_frame()) is type(MAKE[library](X))


def test_without_a_frame_the_first_imported_library_is_used(monkeypatch):
    X, y = stream(20)
    run = dl.RLS().run(X, y)
    assert run.frames is None
    monkeypatch.delitem(sys.modules, "pandas")
    assert isinstance(run.to_frame(), pl.DataFrame)


def test_several_labels_are_numbered_and_classes_are_labels():
    X, y = stream(60)
    run = dl.RLS().run(X, np.column_stack([y, -y]))
    frame = run.to_frame("pandas")
    assert [*frame][:4] == ["prediction_0", "prediction_1", "error_0", "error_1"]
    np.testing.assert_array_equal(frame["error_1"], run.errors[:, 1])
    labelled = dl.Classifier(dl.RLS()).run(X, np.where(y > 0, "up", "down"))
    assert set(labelled.to_frame("pandas")["prediction"].dropna()) <= {"up", "down"}


@pytest.mark.parametrize("like", ["dask", 7, np.zeros((2, 2))], ids=["another library", "a number", "an array"])
def test_anything_but_a_frame_is_refused(like):
    run = dl.RLS().run(*stream(20))
    with pytest.raises(ValueError, match=r"^Run\.to_frame: like must be a frame of pandas, polars, pyarrow, or one of"):
        run.to_frame(like)
