"""Missing values: None, NaN, NA and null are refused, or skipped and counted."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from tests.cases import for_each
from tests.conftest import FAMILIES


def with_holes(rows):
    X, y = rows
    X[[0, 40, 41], [1, 0, 2]] = np.nan
    y[[1, 77]] = np.nan
    return X, y, np.isfinite(X).all(axis=1) & np.isfinite(y)


@pytest.mark.parametrize(
    "frame",
    [
        lambda X: X.astype(object),
        lambda X: [[None if np.isnan(cell) else cell for cell in row] for row in X.tolist()],
        lambda X: pd.DataFrame(X, columns=list("abc")).astype("Float64"),
        lambda X: pd.DataFrame(X, columns=list("abc")),
        lambda X: pl.DataFrame(X, schema=list("abc"), orient="row").fill_nan(None),
        lambda X: pa.table({name: pa.array(X[:, j], from_pandas=True) for j, name in enumerate("abc")}),
        lambda X: np.asfortranarray(X).astype(np.float64),
    ],
    ids=["objects", "lists", "pandas_nullable", "pandas", "polars", "arrow", "array"],
)
def test_every_spelling_of_a_missing_value_counts_as_missing(frame, rows):
    X, y, whole = with_holes(rows)
    model, wanted = dl.RLS(missing="skip"), dl.RLS()
    run = model.run(frame(X), y)
    wanted.run(X[whole], y[whole])
    assert run.skipped == model.n_skipped_ == 5
    assert np.array_equal(model._weights, wanted._weights)
    assert np.array_equal(np.isnan(run.predictions), np.isnan(X).any(axis=1))


@pytest.mark.parametrize("block", [1, 16, 41])
def test_blocks_do_not_change_what_is_skipped(rows, block, in_blocks_of):
    X, y, _ = with_holes(rows)
    wanted = dl.ARCOR(missing="skip").run(X, y, weights_every=10)
    in_blocks_of(block)
    run = dl.ARCOR(missing="skip").run(X, y, weights_every=10)
    assert np.array_equal(run.predictions, wanted.predictions, equal_nan=True)
    assert np.array_equal(run.weights, wanted.weights)
    assert np.array_equal(run.resets, wanted.resets)
    assert run.skipped == wanted.skipped == 5


def test_the_count_of_skipped_rows_spans_calls_survives_copies_and_is_reset_by_fit(rows, tmp_path):
    X, y, _ = with_holes(rows)
    model = dl.RLS(missing="skip")
    model.run(X, y)
    model.learn_one([np.nan, 1.0, 1.0], 1.0)
    model.learn_one(X[50], None)
    model.partial_fit(X, y)
    assert model.n_skipped_ == 12
    assert model.n_seen_ == 390
    assert pickle.loads(pickle.dumps(model)).n_skipped_ == 12
    model.save(tmp_path / "model")
    assert dl.load(tmp_path / "model").n_skipped_ == 12
    model.fit(X, y)
    assert model.n_skipped_ == 5


def test_a_failed_call_counts_nothing(rows):
    X, y, _ = with_holes(rows)
    model = dl.RLS(missing="skip")
    model.run(X, y)
    with pytest.raises(ValueError, match="sample_weight"):
        model.run(X, y, sample_weight=[*[1.0] * 199, -1.0])
    with pytest.raises(ValueError, match=r"expected 3"):
        model.learn_one([np.nan], 1.0)
    assert model.n_skipped_ == 5


def test_incomplete_rows_are_predicted_as_nan_and_left_out_of_the_score(rows):
    X, y, whole = with_holes(rows)
    model = dl.RLS(missing="skip")
    model.run(X, y)
    predictions = model.predict(X)
    assert np.array_equal(np.isnan(predictions), np.isnan(X).any(axis=1))
    assert np.isnan(model.predict_one(X[0]))
    assert model.score(X, y) == model.score(X[whole], y[whole])
    with pytest.raises(ValueError, match=r"RLS\.score: every row has zero sample_weight or a missing value"):
        model.score(X[:1], y[:1])


def test_incomplete_mappings_are_skipped_and_add_no_name():
    model = dl.RLS(missing="skip")
    model.learn_one({"a": 1.0, "b": None}, 1.0)
    assert model.n_skipped_ == 1
    assert not model.__sklearn_is_fitted__()
    model.learn_one({"a": 1.0}, 1.0)
    model.learn_one({"a": 1.0, "c": float("nan")}, 1.0)
    assert model.feature_names_in_.tolist() == ["a"]
    assert np.isnan(model.predict_one({"a": None}))
    assert np.isfinite(model.predict_one({"a": 1.0, "unknown": float("nan")}))


def test_the_first_row_that_counts_sets_wemms_ridge(rows):
    """Its default comes from the first row; a skipped row or one of weight 0 must not set it."""
    X, y = rows
    wanted = dl.WEMM()
    wanted.run(X[2:], y[2:])
    hole = X.copy()
    hole[:2] = np.nan
    skipping = dl.WEMM(missing="skip")
    skipping.run(hole, y)
    X[:2] *= 50
    weighted = dl.WEMM()
    weighted.run(X, y, sample_weight=[0.0, 0.0, *[1.0] * 198])
    assert skipping.ridge_ == weighted.ridge_ == wanted.ridge_
    assert np.array_equal(weighted.coef_, wanted.coef_)
    looped = dl.WEMM()
    looped.learn_one(X[0], 1.0, sample_weight=0.0)
    looped.learn_one(X[2], y[2])
    assert looped.ridge_ == wanted.ridge_


def test_fit_without_a_complete_row_raises_and_keeps_the_model(rows):
    model = dl.RLS(missing="skip")
    model.run(*rows)
    before = model.coef_
    with pytest.raises(ValueError, match=r"RLS\.fit: nothing to learn"):
        model.fit(np.full((3, 3), np.nan), [1.0, 2.0, 3.0])
    assert np.array_equal(model.coef_, before)


def test_missing_can_change_while_a_model_learns(learner, rows):
    X, y, _ = with_holes(rows)
    learner.run(X[2:40], y[2:40])
    with pytest.raises(ValueError, match="NaN in row"):
        learner.run(X, y)
    learner.set_params(missing="skip")
    assert learner.run(X, y).skipped == 5


@pytest.mark.parametrize("make", FAMILIES.values(), ids=FAMILIES)
@given(data=st.data(), dtype=st.sampled_from(["float64", "float32"]), features=st.integers(1, 9))
@settings(max_examples=15)
def test_rows_with_missing_values_or_without_weight_leave_no_trace(make, data, dtype, features):
    """For any pattern of missing values: the state depends on complete rows alone, and every row with an x is predicted.

    Learners that use earlier rows and labels keep the place of a row with a missing value: they are compared with
    the same rows one by one.
    """
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    X, y = rng.uniform(-1, 1, (40, features)), rng.uniform(-1, 1, 40)
    holes = data.draw(st.lists(st.tuples(st.integers(0, 39), st.integers(0, features + 1)), max_size=60))
    weight = np.ones(40)
    bad = np.array([np.nan, np.inf, -np.inf] + ([1e39] if dtype == "float32" else []))
    for row, column in holes:
        if column < features:
            X[row, column] = rng.choice(bad)
        elif column == features:
            y[row] = rng.choice(bad)
        else:
            weight[row] = 0.0
    largest = np.finfo(dtype).max
    seen = (np.abs(X) <= largest).all(axis=1)
    labelled = np.abs(y) <= largest
    learned = seen & labelled & (weight > 0)

    model, wanted = (make().set_params(missing="skip", dtype=dtype) for _ in range(2))
    run = model.run(X, y, sample_weight=weight)
    assert run.skipped == 40 - (seen & labelled).sum()
    assert np.array_equal(np.isnan(run.predictions), ~seen)
    for row in range(40):
        if seen[row]:
            assert run.predictions[row] == pytest.approx(wanted.predict_one(X[row]), rel=1e-6, abs=1e-6)
        if learned[row] or (model._traits.looks_back and not (seen[row] and labelled[row])):
            wanted.learn_one(X[row], y[row], sample_weight=1.0)
    assert model.n_seen_ == learned.sum()
    if learned.any():
        assert np.allclose(model._weights, wanted._weights, rtol=1e-6, atol=1e-6)


SKIP = '; missing="skip" leaves out such rows'
REMEDIES = {
    "run": lambda model, X, y: model.run(X, y),
    "fit": lambda model, X, y: model.fit(X, y),
    "learn_one": lambda model, X, y: [model.learn_one(x, label) for x, label in zip(X, y, strict=True)],
    "learn_one of mappings": lambda model, X, y: [
        model.learn_one(dict(zip("abc", x, strict=True)), label) for x, label in zip(X, y, strict=True)
    ],
    "tell": lambda model, X, y: [model.tell(model.ask(x), label) for x, label in zip(X, y, strict=True)],
    "a frame": lambda model, X, y: model.run(pd.DataFrame(X, columns=list("abc")), y),
    "a fleet": lambda model, X, y: dl.Fleet(model).run(np.zeros(len(y), int), X, y),
    "a forecaster": lambda model, X, y: dl.Forecaster(model, steps=2).run(X, y),
}


@pytest.mark.parametrize("how", REMEDIES)
@for_each("kind", [dl.RLS, dl.NLMS, dl.Averaged, dl.Auto])
def test_the_error_for_a_missing_value_names_ways_out_that_work(kind, how, rows):
    X, y = rows[0][:20].copy(), rows[1][:20].copy()
    act, holed, unlabelled, infinite = REMEDIES[how], X.copy(), y.copy(), X.copy()
    holed[7, 1], unlabelled[7], infinite[7, 1] = np.nan, np.nan, np.inf
    for table, labels, value, ways in (
        (holed, y, "NaN", ("skip", "mean")),
        (X, unlabelled, "NaN", ("skip",)),
        (infinite, y, "infinity", ("skip",)),
    ):
        with pytest.raises(ValueError, match=value) as caught:
            act(kind(), table, labels)
        assert re.findall(r'missing="(\w+)"', str(caught.value)) == list(ways)
        for way in ways:
            act(kind(missing=way), table, labels)


def test_a_transformer_which_cannot_skip_rows_promises_nothing():
    with pytest.raises(ValueError, match=r"^Standardize\.run: x has NaN in row 1, feature 0$"):
        dl.features.Standardize().run([[1.0], [np.nan]])


def test_the_error_for_several_labels_a_row_says_what_to_do(rows):
    X, y = rows
    both = np.column_stack([y, -y])
    words = "NLMS takes one; use one model for each label, or a learner that takes several, such as RLS"
    for act in (lambda: dl.NLMS().run(X, both), lambda: dl.NLMS().learn_one(X[0], both[0]), lambda: dl.NLMS().fit(X, both)):
        with pytest.raises(ValueError, match=words):
            act()
    with pytest.raises(
        ValueError, match="y must have one dimension, got 2, 2 in a row, where one is expected; use one model"
    ):
        dl.Forecaster(dl.RLS(), steps=2).run(X, both)
    assert dl.RLS().run(X, both).predictions.shape == both.shape


@pytest.mark.parametrize("row", [0, 1, 50, 199])
@pytest.mark.parametrize("kind", [dl.RLS, dl.Kalman, dl.NLMS])
def test_a_bad_value_is_named_by_row_and_column_and_nothing_is_learned(kind, rows, row):
    X, y = rows
    model = kind().fit(X, y)
    before = pickle.dumps(model)
    holed = X.copy()
    holed[row, 1] = np.inf
    with pytest.raises(ValueError, match=rf"X has infinity in row {row}, feature 1{SKIP}$"):
        model.run(holed, y)
    with pytest.raises(ValueError, match=rf"predict: X has infinity in row {row}, feature 1{SKIP}$"):
        model.predict(holed)
    y[row] = np.nan
    with pytest.raises(ValueError, match=rf"y is NaN in row {row}{SKIP}$"):
        model.run(X, y)
    assert pickle.dumps(model) == before
