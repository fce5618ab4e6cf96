"""Forecasts by key."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import driftline as dl
from driftline.features import Calendar
from tests.cases import for_each

from .test_pooled import panel


def test_each_key_has_the_forecasts_of_a_forecaster_of_its_own():
    keys, X, y = panel(keys=3, rows=90)
    f = dl.FleetForecaster(dl.Fleet(dl.RLS(), intervals=True), steps=3)
    run = f.run(keys, X, y, level=0.8, quantiles=[0.2, 0.5])
    for key in range(3):
        mine, alone = keys == key, dl.Forecaster(dl.RLS(), steps=3)
        own = alone.run(X[mine], y[mine], level=0.8, quantiles=[0.2, 0.5])
        due = ~np.isnan(own.predictions)
        for name in ("predictions", "lower", "quantiles"):
            np.testing.assert_array_equal(getattr(run, name)[mine][due], getattr(own, name)[due])
        forecast, expected = f.forecast(key, X[:3], quantiles=[0.1]), alone.forecast(X[:3], quantiles=[0.1])
        for name in ("predictions", "lower", "upper", "quantiles"):
            np.testing.assert_array_equal(getattr(forecast, name), getattr(expected, name))


@for_each("learner", [dl.RLS(), dl.Auto()])
def test_the_first_step_is_the_fleet_and_pieces_and_copies_change_nothing(learner):
    keys, X, y = panel()
    names = np.array(["oslo", "rome", "lima", "bonn", "cork", "kobe"])[keys]
    fleet, f = dl.Fleet(learner, pooled=True), dl.FleetForecaster(dl.Fleet(learner, pooled=True), steps=3)
    run, whole = fleet.run(names, X, y, level=0.9), f.run(names, X, y, level=0.9)
    np.testing.assert_array_equal(whole.predictions[:, 0], run.predictions)
    np.testing.assert_array_equal(whole.lower[:, 0], run.lower)
    one, found = dl.FleetForecaster(dl.Fleet(learner, pooled=True), steps=3), []
    ways = [lambda f: dl.from_bytes(f.to_bytes()), lambda f: pickle.loads(pickle.dumps(f)), copy.deepcopy]
    for start, way in zip((0, 50, 100), ways, strict=True):
        part = slice(start, start + 50)
        one.forecast("oslo", X[:3])
        found.append(one.run(names[part], X[part], y[part]).predictions)
        one = way(one)
    np.testing.assert_array_equal(np.concatenate(found), whole.predictions)
    for key in ("oslo", "kobe", "a new one"):
        np.testing.assert_array_equal(one.forecast(key, X[:3]).predictions, f.forecast(key, X[:3]).predictions)
    assert f.forecast("oslo", X[:1]).predictions[0] == fleet.predict_one("oslo", X[0])
    assert (one.n_seen_, one.keys_) == (150, fleet.keys_)


def test_a_new_key_is_forecast_from_its_first_row():
    keys, X, y = panel(keys=30, rows=1500, spread=1.0)
    f = dl.FleetForecaster(dl.Fleet(dl.RLS(), pooled=True, named=True), steps=4)
    run = f.run(keys.tolist(), X, y, level=0.9)
    first = np.unique(keys, return_index=True)[1][12:]
    assert np.isfinite(run.lower[first]).all()
    assert (run.losses[first].mean(axis=0) < 0.7 * np.mean(y[first] ** 2)).all()
    forecast = f.forecast("new", X[:4], level=0.9)
    assert np.isfinite([forecast.lower, forecast.upper]).all()
    known = f.forecast(0, X[:4], level=0.9)
    assert (known.upper - known.lower < forecast.upper - forecast.lower).all()
    inside = (run.lower[300:] <= y[300:, None]) & (y[300:, None] <= run.upper[300:])
    assert ((inside.mean(axis=0) > 0.85) & (inside.mean(axis=0) < 0.96)).all()


def test_rows_by_name():
    keys, X, y = panel(rows=60)
    plain, named = (dl.FleetForecaster(dl.Fleet(dl.RLS(), pooled=True), steps=2) for _ in range(2))
    frame = pd.DataFrame(X, columns=["price", "rain"])
    expected = plain.run(keys, X, y).predictions
    np.testing.assert_array_equal(named.run(keys[:50], frame[:50], y[:50]).predictions, expected[:50])
    for row in range(50, 60):
        named.learn_one(int(keys[row]), frame.iloc[row].to_dict(), y[row])
    next_rows = [{"price": 1.0, "rain": 2.0}, {"price": 0.0, "rain": 1.0}]
    forecast = plain.forecast(0, [[1.0, 2.0], [0.0, 1.0]])
    np.testing.assert_array_equal(named.forecast(0, next_rows).predictions, forecast.predictions)


def test_a_refused_call_changes_nothing():
    keys, X, y = panel(rows=60)
    f = dl.FleetForecaster(dl.Fleet(dl.RLS(), pooled=True, named=True), steps=3)
    f.run(keys.tolist(), X, y)
    before, bad, late = f.to_bytes(), X.copy(), y.copy()
    bad[40, 1], late[30] = np.nan, np.inf
    for call, error, words in [
        (lambda: f.run(keys.tolist(), bad, y), ValueError, "NaN"),
        (lambda: f.run(keys.tolist(), X, late), ValueError, "y"),
        (lambda: f.run([*keys.tolist()[1:], None], X, y), ValueError, "missing value"),
        (lambda: f.forecast(0, X[:4]), ValueError, "X_next has 4 rows, but the forecaster has 3 steps"),
        (lambda: f.forecast(0, X[:2, :1]), ValueError, "1 features?, expected 2"),
        (lambda: dl.FleetForecaster(dl.RLS(), 2), TypeError, "fleet must be a fleet of regressors"),
        (lambda: dl.FleetForecaster(dl.Fleet(dl.RLS()), 0), ValueError, "steps"),
        (lambda: dl.FleetForecaster(f.fleets_[0], 2), ValueError, "fleet must be untrained"),
    ]:
        with pytest.raises(error, match=words):
            call()
    assert f.to_bytes() == before


def test_a_calendar_reads_the_times_of_each_keys_rows():
    days = pd.date_range("2024-01-01", periods=60, freq="D")
    frame, y = pd.DataFrame({"day": days}), np.where(days.day_of_week == 6, 1.0, 5.0)
    f = dl.FleetForecaster(dl.Fleet(Calendar() | dl.Ridge()), steps=2)
    for day in range(58):
        f.run(["a", "b"], frame.iloc[[day, day]], [y[day], -y[day]])
    alone = dl.Forecaster(Calendar() | dl.Ridge(), steps=2)
    alone.run(frame[:58], y[:58])
    same = alone.forecast(frame[58:]).predictions
    np.testing.assert_allclose(f.forecast("a", frame[58:]).predictions, same, rtol=1e-9)
    np.testing.assert_allclose(f.forecast("b", frame[58:]).predictions, -same, rtol=1e-9)
