"""The forecaster for sktime: sktime's own checks, and the library's forecasts. ``make test-sktime`` runs them."""

import numpy as np
import pandas as pd
import pytest
from sktime.utils.estimator_checks import check_estimator

import driftline as dl
from driftline.features import Calendar
from driftline.sktime import DriftlineForecaster

DAYS = pd.period_range("2024-01-01", periods=120, freq="D")
RNG = np.random.default_rng(0)
Y = pd.Series(10 + 3 * (DAYS.dayofweek == 6) + 0.1 * RNG.standard_normal(120), index=DAYS, name="visits")


def test_sktimes_own_checks_pass():
    results = check_estimator(DriftlineForecaster, raise_exceptions=False, verbose=False)
    failed = {name: result for name, result in results.items() if result != "PASSED"}
    assert failed == {}
    assert len(results) > 50


def test_forecasts_are_those_of_the_library():
    f = DriftlineForecaster().fit(Y, fh=[1, 3, 7])
    same = dl.Forecaster(dl.Auto(missing="mean"), 7).fit(Y.to_numpy())
    found = f.predict()
    assert found.index.equals(pd.PeriodIndex(["2024-04-30", "2024-05-02", "2024-05-06"], freq="D"))
    np.testing.assert_array_equal(found, same.predict([1, 3, 7]))
    interval = f.predict_interval(coverage=0.9)
    forecast = same.forecast(quantiles=[0.05, 0.95])
    np.testing.assert_allclose(interval.to_numpy(), forecast.quantiles[[0, 2, 6]])
    more = pd.Series([9.0, 8.0], index=pd.period_range("2024-04-30", periods=2, freq="D"))
    f.update(more)
    np.testing.assert_array_equal(f.predict(), same.update(more.to_numpy()).predict([1, 3, 7]))


def test_features_of_the_horizon_alone_are_enough():
    X = pd.DataFrame({"promo": (np.arange(130) % 4 == 0) * 1.0}, index=pd.period_range("2024-01-01", periods=130, freq="D"))
    y = Y + 5 * X["promo"][:120]
    f = DriftlineForecaster(dl.RLS()).fit(y, X[:120], fh=[2, 5])
    same = dl.Forecaster(dl.RLS(), 5).fit(y.to_numpy(), X[:120].reset_index(drop=True))
    np.testing.assert_array_equal(f.predict(X=X.iloc[[121, 124]]), same.predict([2, 5], X[120:125].reset_index(drop=True)))


@pytest.mark.parametrize("index", [DAYS, DAYS.to_timestamp()])
def test_a_calendar_reads_the_index(index):
    y = Y.set_axis(index)
    f = DriftlineForecaster(Calendar() | dl.Ridge()).fit(y, fh=range(1, 8))
    sundays = f.predict().index.dayofweek == 6
    assert f.predict()[sundays].min() > f.predict()[~sundays].max() + 2
