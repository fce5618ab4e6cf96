"""Frames of several libraries, and other tables of numbers."""

import array
from itertools import cycle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import driftline as dl
from tests.conftest import FAMILIES

NAMES = ["a", "b", "c"]
FRAMES = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas_nullable": lambda X: pd.DataFrame(X, columns=NAMES).astype("Float64"),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES, orient="row"),
    "arrow": lambda X: pa.table({name: X[:, j] for j, name in enumerate(NAMES)}),
}


@pytest.fixture(params=FRAMES)
def make(request):
    return FRAMES[request.param]


@pytest.mark.parametrize(("name", "library"), list(zip(FAMILIES, cycle(FRAMES), strict=False)))
def test_a_frame_equals_its_array_with_names(name, library, rows):
    """One module reads the frames of all libraries, before a learner sees them."""
    (X, y), make = rows, FRAMES[library]
    framed, plain = FAMILIES[name](), FAMILIES[name]()
    assert np.array_equal(framed.run(make(X), y).predictions, plain.run(X, y).predictions)
    assert framed.feature_names_in_.tolist() == NAMES
    assert np.array_equal(framed.predict(make(X[:5])), plain.predict(X[:5]))
    assert framed.score(make(X), y) == plain.score(X, y)
    framed.partial_fit(make(X), y)
    framed.fit(make(X), y)
    assert np.array_equal(framed._weights, plain._weights)


def test_a_frame_in_small_blocks_gives_the_same_results(make, rows, in_blocks_of):
    X, y = rows
    wanted = dl.ARCOR().run(X, y)
    for block in (1, 7, 64):
        in_blocks_of(block)
        run = dl.ARCOR().run(make(X), y)
        assert np.array_equal(run.predictions, wanted.predictions)
        assert np.array_equal(run.resets, wanted.resets)


def test_small_blocks_are_really_used(rows, in_blocks_of, monkeypatch):
    """Otherwise the tests of blocks would prove nothing."""
    sizes, replay = [], dl.RLS._replay_block

    def spy(self, block, *arguments):
        sizes.append(len(block))
        return replay(self, block, *arguments)

    monkeypatch.setattr(dl.RLS, "_replay_block", spy)
    in_blocks_of(64)
    dl.RLS().run(FRAMES["pandas"](rows[0]), rows[1])
    assert sizes == [64, 64, 64, 8]


def test_columns_in_another_order_or_with_other_names_are_refused(make, rows):
    X, y = rows
    model = dl.RLS()
    model.run(make(X), y)
    before = model.__getstate__()
    native = pd.DataFrame(X, columns=NAMES)
    with pytest.raises(ValueError, match=r"RLS\.predict: .*\n.*must be in the same order"):
        model.predict(native[["b", "a", "c"]])
    with pytest.raises(ValueError, match=r"RLS\.run: .*\n.*unseen at fit time:\n- d\n.*now missing:\n- c"):
        model.run(native.rename(columns={"c": "d"}), y)
    with pytest.raises(ValueError, match=r"RLS\.partial_fit: .*\n.*now missing:\n- c"):
        model.partial_fit(native[["a", "b"]], y)
    assert dl.checks.tools.same(before, model.__getstate__())


def test_every_numeric_column_type_is_accepted(rows):
    _, y = rows
    whole = np.random.default_rng(3).integers(0, 2, size=(200, 3))
    wanted = dl.RLS().run(whole.astype(float), y).predictions
    typed = pd.DataFrame(whole, columns=NAMES).astype({"a": "int8", "b": "bool", "c": "float32"})
    nullable = pd.DataFrame(whole, columns=NAMES).astype({"a": "Int64", "b": "boolean", "c": "Float32"})
    frames = [typed, nullable, pl.from_pandas(typed), pa.Table.from_pandas(typed)]
    for frame in frames:
        assert np.array_equal(dl.RLS().run(frame, y).predictions, wanted)


@pytest.mark.parametrize(
    "labels", [pd.Series, pl.Series, pa.array, list, tuple, lambda y: pd.Series(y, index=range(5, 205))]
)
def test_labels_may_be_any_kind_of_column(labels, rows):
    X, y = rows
    assert np.array_equal(dl.RLS().run(X, labels(y)).predictions, dl.RLS().run(X, y).predictions)


def test_a_column_of_labels_warns_as_in_scikit_learn(rows):
    X, y = rows
    with pytest.warns(UserWarning, match="column-vector y was passed"):
        run = dl.RLS().run(X, y[:, None])
    assert np.array_equal(run.predictions, dl.RLS().run(X, y).predictions)


def test_missing_cells_are_named_by_row_and_column(make, rows):
    X, y = rows
    X[11, 1] = np.nan
    with pytest.raises(ValueError, match=r"RLS\.run: X has NaN in row 11, feature 'b'"):
        dl.RLS().run(make(X), y)
    model = dl.RLS(missing="skip")
    assert model.run(make(X), y).skipped == 1


@pytest.mark.parametrize("make_lists", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_that_cannot_be_encoded_is_named(make_lists):
    with pytest.raises((TypeError, ValueError), match=r"RLS\.run: column 'b'.*must be a number"):
        dl.RLS().run(make_lists({"a": [1.0, 2.0], "b": [[1.0, 2.0], [3.0]]}), [1.0, 2.0])
    with pytest.raises((TypeError, ValueError), match=r"RLS\.run: column 'b'.*must be a number"):
        dl.RLS().run(make_lists({"a": ["x", "y"], "b": [b"1", b"2"]}), [1.0, 2.0])


def test_frames_that_are_not_in_memory_are_refused_by_name():
    with pytest.raises(TypeError, match=r"RLS\.run: X cannot be read as a frame: .*LazyFrame"):
        dl.RLS().run(pl.LazyFrame({"a": [1.0]}), [1.0])
    with pytest.raises(ValueError, match=r"RLS\.run: X cannot be read as a frame: .*unique column names"):
        dl.RLS().run(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), [1.0])
    with pytest.raises(ValueError, match=r"RLS\.run: X has 0 sample"):
        dl.RLS().run(pd.DataFrame({"a": []}), [])


def test_columns_named_by_numbers_count_as_unnamed(rows):
    X, y = rows
    model = dl.RLS()
    model.run(pd.DataFrame(X), y)
    assert not hasattr(model, "feature_names_in_")
    assert np.array_equal(model.predict(pd.DataFrame(X)), model.predict(X))


@pytest.mark.parametrize("labels", [[0, "where", 2], [0, 1, 2], [None, ("a", "b"), 2.5]])
def test_any_label_is_a_name_beside_text(rows, labels):
    """A loop over the rows gets them as mappings, in which any label is a name."""
    X, y = rows
    frame = pd.DataFrame({"a": X[:, 0], "where": np.where(X[:, 1] > 0, "up", "down"), "b": X[:, 2]})
    frame.columns = pd.Index(labels, dtype=object)
    framed, looped, by_series = dl.RLS(), dl.RLS(), dl.RLS()
    run, predictions = framed.run(frame, y), []
    for place, label in enumerate(y):
        row = dict(zip(labels, frame.iloc[place], strict=True))
        predictions.append(looped.predict_one(row))
        looped.learn_one(row, label)
        by_series.learn_one(frame.iloc[place], label)
    assert np.array_equal(run.predictions, predictions)
    assert framed.feature_names_in_.tolist() == looped.feature_names_in_.tolist()
    assert np.array_equal(framed.coef_, by_series.coef_)
    assert np.array_equal(framed.predict(frame[:9]), [looped.predict_one(row) for row in frame[:9].to_dict("records")])


def test_a_row_of_a_frame_is_accepted_as_a_row(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=NAMES)
    model = dl.RLS()
    model.run(frame, y)
    assert model.predict_one(frame.iloc[0]) == model.predict_one(X[0])
    assert model.predict_one(frame.iloc[0].to_dict()) == model.predict_one(X[0])
    assert model.predict_one(pl.Series(X[0])) == model.predict_one(X[0])


class Wrapped:
    """Anything with __array__."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


def test_anything_with_dunder_array_is_an_array(rows):
    X, y = rows
    wanted = dl.RLS().run(X, y).predictions
    for form in (Wrapped(X), memoryview(X), X.tolist()):
        assert np.array_equal(dl.RLS().run(form, y).predictions, wanted)
    assert np.array_equal(dl.RLS().run(X, Wrapped(y)).predictions, wanted)
    assert np.array_equal(dl.RLS().run(X, array.array("d", y)).predictions, wanted)
    model = dl.RLS()
    model.run(X, y)
    for row in (Wrapped(X[0]), array.array("d", X[0]), memoryview(X[0]), range(3)):
        assert model.predict_one(row) == model.predict_one(np.array(row))


def test_unaligned_arrays_are_copied(rows):
    """A field of a packed record has odd addresses, and strides that are not multiples of its size."""
    X, y = rows
    packed = np.zeros(200, dtype=[("flag", "i1"), ("x", "f8", (3,)), ("y", "f8")])
    packed["x"], packed["y"] = X, y
    assert packed["x"].strides == (33, 8)
    model = dl.RLS()
    assert np.array_equal(model.run(packed["x"], packed["y"]).predictions, dl.RLS().run(X, y).predictions)
    assert model.predict_one(packed["x"][0]) == model.predict_one(X[0])


def test_long_doubles_beyond_float64_are_infinite_and_refused():
    row = np.array([np.longdouble("1e400") if np.finfo(np.longdouble).max > 1e400 else np.inf, 1.0])
    with pytest.raises(ValueError, match=r"RLS\.learn_one: x has infinity in feature 0"):
        dl.RLS().learn_one(row, 1.0)


@pytest.mark.parametrize("columns", [["a", "where", "b"], ["b", "a", "where"]])
def test_the_first_bad_row_is_named_whatever_the_order_of_the_columns(columns):
    """As a loop over the rows would name it."""
    frame = pd.DataFrame({"a": [1.0, 2.0, np.nan, 4.0], "where": ["x", "y", "x", "z"], "b": [1.0, np.nan, 3.0, np.nan]})
    with pytest.raises(ValueError, match=r"RLS\.run: X has NaN in row 1, feature 'b'"):
        dl.RLS().run(frame[columns], np.ones(4))
