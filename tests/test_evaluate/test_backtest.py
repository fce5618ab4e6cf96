"""Backtests from rolling origins."""

import numpy as np
import pytest

import driftline as dl
from driftline.evaluate import backtest, crps, interval_score

STEPS, ORIGINS = 4, [40, 47, 70]


def labels(rows=80):
    t = np.arange(rows)
    return 50 + 10 * np.sin(2 * np.pi * t / 12) + np.random.default_rng(0).standard_normal(rows)


def features(rows=80):
    return np.random.default_rng(1).standard_normal((rows, 2))


@pytest.mark.parametrize("X", [None, features()])
def test_each_forecast_is_that_of_a_forecaster_which_learned_the_rows_before(X):
    y, found = labels(), None
    forecaster = dl.Forecaster(dl.Auto(), STEPS)
    found = backtest(forecaster, y, X, origins=ORIGINS, level=0.8)
    assert forecaster.n_seen_ == 0
    for place, origin in enumerate(ORIGINS):
        alone = dl.Forecaster(dl.Auto(), STEPS).fit(y[:origin], None if X is None else X[:origin])
        forecast = alone.forecast(None if X is None else X[origin : origin + STEPS], level=0.8)
        for name in ("predictions", "lower", "upper"):
            np.testing.assert_array_equal(getattr(found, name)[place], getattr(forecast, name))
        np.testing.assert_array_equal(found.labels[place], y[origin : origin + STEPS])


def test_scores_follow_from_the_forecasts():
    """MASE and RMSSE by their definitions; CRPS and interval scores as elsewhere in the library."""
    y = labels()
    found = backtest(dl.Forecaster(dl.Auto(), STEPS), y, origins=ORIGINS, season=12)
    errors, apart = found.labels - found.predictions, y[12:40] - y[:28]
    assert found.mase == pytest.approx(np.abs(errors).mean() / np.abs(apart).mean())
    assert found.rmsse == pytest.approx(np.sqrt((errors**2).mean() / (apart**2).mean()))
    flat = found.labels.ravel()
    levels = np.arange(5, 100, 10) / 100
    assert found.crps == pytest.approx(crps(found.quantiles.reshape(-1, 10), levels, flat).mean())
    scores = interval_score(found.lower.ravel(), found.upper.ravel(), flat, 0.9)
    assert found.interval_score == pytest.approx(scores.mean())
    assert found.coverage == pytest.approx(((found.lower <= found.labels) & (found.labels <= found.upper)).mean())
    for place, origin in enumerate(ORIGINS):
        np.testing.assert_array_equal(found.naive[place], y[origin - 12 : origin - 12 + STEPS])
    rows = str(found).splitlines()
    assert any("label 12 rows ago" in row for row in rows)


def test_missing_labels_are_not_judged():
    y = labels()
    y[[20, 35, 41, 60]] = np.nan
    found = backtest(dl.Forecaster(dl.Auto(missing="mean"), STEPS), y, origins=ORIGINS, season=12)
    assert np.isfinite([found.mase, found.rmsse, found.crps, found.coverage]).all()
    assert found.naive[1, 0] == y[35 - 12]  # the row of the last season has no label


def test_origins_are_spread_over_the_second_half():
    found = backtest(dl.Forecaster(dl.RLS(), STEPS), labels(), origins=3)
    assert found.origins.tolist() == [40, 58, 76]
    assert found.season == 1


@pytest.mark.parametrize("origins", [0, [1], [77], [], -3])
def test_bad_origins_are_refused(origins):
    with pytest.raises(ValueError, match=r"evaluate\.backtest: origins must be"):
        backtest(dl.Forecaster(dl.RLS(), STEPS), labels(), origins=origins)


def test_what_cannot_be_tested_is_refused():
    with pytest.raises(TypeError, match="forecaster must be a Forecaster"):
        backtest(dl.RLS(), labels())
    with pytest.raises(ValueError, match="5 rows are too few"):
        backtest(dl.Forecaster(dl.RLS(), STEPS), labels(5))
    with pytest.raises(ValueError, match="no two labels before row 20 are 30 rows apart"):
        backtest(dl.Forecaster(dl.RLS(), STEPS), labels(), origins=[20], season=30)
