"""Sweeps: each setting is what its own run gives."""

import math

import numpy as np
import pandas as pd
import pytest

import driftline as dl


@pytest.mark.parametrize("jobs", [1, 2, 7])
def test_every_setting_is_its_own_run(rows, jobs):
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
    assert float(first["forgetting"]) == result.best["forgetting"]
    assert len(result.table(2).rows) == 2
    assert str(result).splitlines()[0].split() == ["forgetting", "ridge", "mse"]


def test_blocks_of_any_size_change_nothing(rows, monkeypatch):
    X, y = rows
    whole = dl.sweep(dl.Kalman(), {"drift": [0.0, 1e-3]}, X, y)
    monkeypatch.setattr("driftline.sweeps._rows_at_once", lambda columns: 7)
    parts = dl.sweep(dl.Kalman(), {"drift": [0.0, 1e-3]}, X, y)
    assert parts.losses == pytest.approx(whole.losses, rel=1e-12)
    for one, other in zip(whole.models, parts.models, strict=True):
        assert np.array_equal(one.coef_, other.coef_)


def test_settings_may_be_listed_and_differ_in_what_they_name(rows):
    result = dl.sweep(dl.RLS(), [{"ridge": 2.0}, {"forgetting": 0.9}], *rows)
    assert [model.get_params()["ridge"] for model in result.models] == [2.0, 1.0]
    assert result.table().columns == ["ridge", "forgetting", "mse"]


def test_frames_weights_and_missing_values(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=list("abc"))
    frame.loc[3, "b"] = math.nan
    weight = np.linspace(0, 2, len(y))
    result = dl.sweep(dl.RLS(missing="skip"), {"ridge": [1.0]}, frame, y, sample_weight=weight)
    alone = dl.RLS(missing="skip")
    run = alone.run(frame, y, sample_weight=weight)
    assert result.losses[0] == pytest.approx(np.nanmean(run.losses), rel=1e-12)
    assert np.array_equal(result.models[0].coef_, alone.coef_)


def test_a_setting_that_diverges_ends_alone(rows):
    X, y = rows[0] * 100, rows[1]
    result = dl.sweep(dl.LMS(), {"rate": [1e-5, 1.0]}, X, y)
    assert np.isfinite(result.losses[0])
    assert result.losses[1] == math.inf
    assert result.models[1] is None
    assert result.best == {"rate": 1e-5}
    with pytest.raises(ValueError, match="every setting diverged"):
        _ = dl.sweep(dl.LMS(), {"rate": [1.0]}, X, y).best


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"forgetting": [1.2]}, "forgetting must be"),
        ({"forget": [0.9]}, "has no parameter 'forget'"),
        ({"forgetting": 0.9}, "needs a list of values for forgetting"),
        ({"forgetting": "0.9"}, "needs a list of values for forgetting"),
        ({"forgetting": []}, "the grid is empty"),
        ([], "the grid is empty"),
    ],
)
def test_a_bad_grid_is_said(grid, message, rows):
    with pytest.raises((ValueError, TypeError), match=message):
        dl.sweep(dl.RLS(), grid, *rows)


def test_the_learner_is_not_changed_and_bad_rows_are_said(rows):
    X, y = rows
    model = dl.RLS().fit(X, y)
    dl.sweep(model, {"ridge": [1.0, 2.0]}, X, y)
    assert model.n_seen_ == len(y)
    X[7, 1] = math.nan
    with pytest.raises(ValueError, match=r"X has NaN in row 7, feature 1"):
        dl.sweep(model, {"ridge": [1.0, 2.0]}, X, y)
    with pytest.raises(ValueError, match="jobs must be"):
        dl.sweep(model, {"ridge": [1.0]}, X, y, jobs=0)
