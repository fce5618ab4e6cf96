"""Sweeps: each setting gives the result of a separate run."""

import math
import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import polars
import pytest
from scipy import sparse

import driftline as dl
from driftline.features import Hashing, Standardize


@pytest.fixture
def short_blocks(monkeypatch):
    """Blocks of 7 rows."""
    monkeypatch.setattr("driftline.evaluate.sweep_rows.FEWEST_ROWS", 7)
    monkeypatch.setattr("driftline.evaluate.sweep_rows.BLOCK_BYTES", 1)


@pytest.mark.parametrize("jobs", [1, 2, 7])
def test_every_setting_equals_a_separate_run(rows, jobs):
    X, y = rows
    grid = {"forgetting": [0.5, 0.9, 0.99], "ridge": [0.1, 1.0]}
    result = dl.sweep(dl.RLS(intercept=False), grid, X, y, jobs=jobs)
    assert result.settings == [{"forgetting": f, "ridge": r} for f in (0.5, 0.9, 0.99) for r in (0.1, 1.0)]
    for setting, loss, model in zip(result.settings, result.losses, result.models, strict=True):
        alone = dl.RLS(intercept=False, **setting)
        assert loss == pytest.approx(alone.run(X, y).losses.mean(), rel=1e-12)
        assert np.array_equal(model.coef_, alone.coef_)
    assert result.best == result.settings[int(np.argmin(result.losses))]
    first = result.table().records()[0]
    assert first == {**result.best, "mse": result.losses.min()}
    assert np.array_equal(result.best_model.coef_, result.models[int(np.argmin(result.losses))].coef_)
    assert result.reasons == [None] * 6
    assert len(result.table(2).rows) == 2
    assert str(result).splitlines()[0].split() == ["forgetting", "ridge", "mse"]


def test_blocks_of_any_size_change_nothing(rows, short_blocks):
    X, y = rows
    result = dl.sweep(dl.Kalman(), {"drift": [0.0, 1e-3]}, X, y)
    for setting, loss, model in zip(result.settings, result.losses, result.models, strict=True):
        alone = dl.Kalman(**setting)
        assert loss == pytest.approx(alone.run(X, y).losses.mean(), rel=1e-12)
        assert np.array_equal(model.coef_, alone.coef_)


@pytest.mark.parametrize("library", [pd, polars])
def test_every_model_gets_the_feature_names_of_a_frame(rows, library, short_blocks):
    X, y = rows
    frame = library.DataFrame({name: X[:, j] for j, name in enumerate("abc")})
    alone = dl.RLS()
    alone.run(frame, library.Series(y))
    model = dl.sweep(dl.RLS(), {"forgetting": [0.99]}, frame, library.Series(y)).best_model
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    x = {"c": 2.0, "a": 1.0}
    assert model.predict_one(x) == alone.predict_one(x)


@pytest.mark.parametrize("make", [pd.DataFrame, polars.DataFrame, lambda rows: rows])
def test_text_is_passed_to_learners_that_accept_it(rows, make, short_blocks):
    X, y = rows
    mappings = [{"a": float(a), "town": "oslo" if b > 0 else "rome"} for a, b in X[:, :2]]
    model = Hashing(16) | Standardize() | dl.RLS()
    run = model.run(make(mappings), y)
    result = dl.sweep(model, {"learner__forgetting": [0.99, 0.9]}, make(mappings), y)
    assert result.losses[0] == pytest.approx(run.losses.mean(), rel=1e-12)
    assert result.models[0].predict_one(mappings[3]) == model.predict_one(mappings[3])


def test_a_sweep_takes_several_labels_per_row(rows, short_blocks):
    X, y = rows
    Y = np.column_stack([y, -2 * y])
    alone = dl.RLS()
    run = alone.run(X, Y)
    result = dl.sweep(dl.RLS(), {"forgetting": [0.99]}, X, Y)
    assert result.losses[0] == pytest.approx(run.losses.mean(), rel=1e-12)
    assert np.array_equal(result.best_model.coef_, alone.coef_)


@pytest.mark.parametrize(
    "make", [list, np.array, pd.Series, lambda labels: pd.Series(labels, index=np.arange(len(labels)) / 2)]
)
def test_a_sweep_takes_class_labels(rows, make, short_blocks):
    X, y = rows
    labels = ["up" if value > 0 else "down" for value in y]
    alone = dl.Classifier(dl.RLS())
    run = alone.run(X, make(labels))
    result = dl.sweep(dl.Classifier(dl.RLS()), {"learner__ridge": [1.0]}, X, make(labels))
    assert result.losses[0] == np.mean(run.predictions != np.array(labels))
    assert np.array_equal(result.best_model.coef_, alone.coef_)
    assert result.best_model.predict_one(X[0]) == alone.predict_one(X[0])
    assert result.table().columns == ["learner__ridge", "error rate"]


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.coo_array, sparse.csc_array])
def test_a_sweep_takes_sparse_rows(rows, kind, short_blocks):
    X, y = rows
    X = kind(np.where(np.abs(X) > 0.3, X, 0.0))
    alone = dl.LMS()
    run = alone.run(X, y)
    result = dl.sweep(dl.LMS(), {"rate": [0.01, 0.1]}, X, y)
    assert result.losses[0] == pytest.approx(run.losses.mean(), rel=1e-12)
    assert np.array_equal(result.models[0].coef_, alone.coef_)
    dense = dl.sweep(dl.RLS(), {"ridge": [1.0]}, X.toarray(), y)
    assert np.array_equal(dl.sweep(dl.RLS(), {"ridge": [1.0]}, X, y).losses, dense.losses)


def test_settings_may_be_listed_and_set_different_parameters(rows):
    result = dl.sweep(dl.RLS(), [{"ridge": 2.0}, {"forgetting": 0.9}], *rows)
    assert [model.get_params()["ridge"] for model in result.models] == [2.0, 1.0]
    assert result.table().columns == ["ridge", "forgetting", "mse"]


def test_a_sweep_takes_frames_weights_and_missing_values(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=list("abc"))
    frame.loc[3, "b"] = math.nan
    weight = np.linspace(0, 2, len(y))
    result = dl.sweep(dl.RLS(missing="skip"), {"ridge": [1.0]}, frame, y, sample_weight=weight)
    alone = dl.RLS(missing="skip")
    run = alone.run(frame, y, sample_weight=weight)
    assert result.losses[0] == pytest.approx(np.nanmean(run.losses), rel=1e-12)
    assert np.array_equal(result.models[0].coef_, alone.coef_)


def test_a_setting_that_diverges_does_not_end_the_others(rows):
    X, y = rows[0] * 100, rows[1]
    result = dl.sweep(dl.LMS(), {"rate": [1e-5, 1.0]}, X, y)
    assert np.isfinite(result.losses[0])
    assert result.losses[1] == math.inf
    assert result.models[1] is None
    assert "rate=1.0 is too large" in result.reasons[1]
    assert result.best == {"rate": 1e-5}
    with pytest.raises(ValueError, match=r"^sweep: no setting has a finite loss.* rate=1.0 is too large"):
        _ = dl.sweep(dl.LMS(), {"rate": [1.0]}, X, y).best


def test_a_setting_that_cannot_learn_a_row_does_not_end_the_others(rows, short_blocks):
    X, y = rows
    X[60] *= 100
    result = dl.sweep(dl.WEMM(), {"ridge": [10.0, 1e6]}, X, y)
    assert result.losses[0] == math.inf
    assert result.models[0] is None
    assert result.reasons[0].startswith("sweep: in the rows from 56 on, numbered from there, WEMM.run: row 4 has x'Sx >= 1")
    alone = dl.WEMM(ridge=1e6)
    assert result.losses[1] == pytest.approx(alone.run(X, y).losses.mean(), rel=1e-12)
    assert result.best == {"ridge": 1e6}


def test_an_infinite_loss_counts_even_if_rows_are_skipped(rows):
    X, y = rows
    X[3, 1], y[50] = math.nan, 1e300
    result = dl.sweep(dl.RLS(missing="skip"), {"ridge": [1.0]}, X, y)
    assert result.losses[0] == math.inf
    assert result.models[0].n_skipped_ == 1
    with pytest.raises(ValueError, match=r"no setting has a finite loss.* beyond the range of float64"):
        _ = result.best


def test_no_setting_is_best_if_all_rows_are_skipped(rows):
    X, y = rows
    result = dl.sweep(dl.RLS(missing="skip"), {"ridge": [1.0, 2.0]}, np.full_like(X, math.nan), y)
    assert np.isnan(result.losses).all()
    with pytest.raises(ValueError, match=r"^sweep: every row was skipped"):
        _ = result.best


class _Interrupting:
    """A loss that counts its calls, and interrupts the process at the 3,000th, when all threads have begun.

    After the interrupt it is slow, so that the main thread notices long before the rows end, even on a busy machine.
    """

    def __init__(self):
        self.calls = 0

    def value(self, y, prediction):
        return (y - prediction) ** 2

    def gradient(self, y, prediction):
        self.calls += 1
        if self.calls == 3000:
            os.kill(os.getpid(), signal.SIGINT)
        if self.calls >= 3000:
            time.sleep(0.01)
        return 2 * (prediction - y)


@pytest.mark.usefixtures("heeds_interrupts")
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_ends_all_threads_soon(rows, jobs, short_blocks):
    X, y = rows
    loss, before = _Interrupting(), threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        dl.sweep(dl.GD(loss=loss), {"rate": [0.01, 0.02, 0.03, 0.04]}, np.tile(X, (50, 1)), np.tile(y, 50), jobs=jobs)
    assert loss.calls < 50 * len(y)  # out of four times as many
    assert threading.active_count() == before


def test_a_bad_row_ends_all_threads(rows, short_blocks):
    X, y = rows
    X[60, 1] = math.nan
    words = r"^sweep: in the rows from 56 on, numbered from there, RLS\.run: X has NaN in row 4, feature 1"
    with pytest.raises(ValueError, match=words):
        dl.sweep(dl.RLS(), {"ridge": [1.0, 2.0, 3.0]}, X, y)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"forgetting": [1.2]}, "forgetting must be"),
        ({"forget": [0.9]}, "has no parameter 'forget'"),
        ({"forgetting": 0.9}, "needs a list of values for forgetting"),
        ({"forgetting": "0.9"}, "needs a list of values for forgetting"),
        ({"forgetting": []}, "the grid is empty"),
        ([], "the grid is empty"),
        (None, "grid must hold lists of values by parameter, or settings, got None"),
        ("abc", "grid must hold lists of values by parameter, or settings, got 'abc'"),
        ([0.9], "grid must hold lists of values by parameter, or settings, got 0.9"),
    ],
)
def test_a_bad_grid_is_refused(grid, message, rows):
    with pytest.raises((ValueError, TypeError), match=message):
        dl.sweep(dl.RLS(), grid, *rows)


def test_the_learner_is_not_changed_and_bad_arguments_are_refused(rows):
    X, y = rows
    model = dl.RLS().fit(X, y)
    dl.sweep(model, {"ridge": [1.0, 2.0]}, X, y)
    assert model.n_seen_ == len(y)
    X[7, 1] = math.nan
    with pytest.raises(ValueError, match=r"X has NaN in row 7, feature 1"):
        dl.sweep(model, {"ridge": [1.0, 2.0]}, X, y)
    with pytest.raises(ValueError, match="jobs must be"):
        dl.sweep(model, {"ridge": [1.0]}, X, y, jobs=0)
    with pytest.raises(TypeError, match=r"^sweep: learner must be a driftline learner, such as RLS\(\), got <class"):
        dl.sweep(dl.RLS, {"ridge": [1.0]}, X, y)


def test_the_table_holds_every_setting(rows):
    settings = [{"forgetting": np.float64(0.123456)}, {"forgetting": [0.5, 0.9]}, {"ridge": 2}]
    records = dl.sweep(dl.RLS(), settings, *rows).table().records()
    found = {(record["forgetting"], record["ridge"]) for record in records}
    assert found == {(0.123456, None), ("[0.5, 0.9]", None), (None, 2)}
    assert "0.123456" in str(dl.sweep(dl.RLS(), settings, *rows))
