"""Times of a series: those that follow, against pandas; and what is refused."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest

import driftline as dl
from driftline.features import Calendar

FREQUENCIES = [
    ("2023-01-02", "D"), ("2023-01-02", "W"), ("2023-01-02", "h"), ("2023-01-02 00:15", "15min"), ("2024-02-20 10:00", "7h"),
    ("2023-01-01", "MS"), ("2023-01-31", "ME"), ("2023-02-01", "2MS"), ("2023-01-01", "QS"), ("2023-03-31", "QE"),
    ("2000-01-01", "YS"), ("2000-12-31", "YE"), ("2023-01-02", "B"),
]  # fmt: skip


def trained(index, learner=None, steps=5):
    return dl.Forecaster(learner or dl.RLS(), steps).fit(pd.Series(np.arange(float(len(index))), index=index))


@pytest.mark.parametrize(("start", "frequency"), FREQUENCIES)
def test_the_times_that_follow_are_those_of_pandas(start, frequency):
    whole = pd.date_range(start, periods=45, freq=frequency)
    assert trained(whole[:40]).forecast().times.tolist() == whole[40:].tolist()


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "UTC"])
@pytest.mark.parametrize("frequency", ["h", "30min", "D", "MS"])
def test_clocks_that_change_move_no_forecast(zone, frequency):
    begin = {"h": "2024-03-29", "30min": "2024-11-02", "D": "2024-10-10", "MS": "2024-01-01"}[frequency]
    whole = pd.date_range(begin, periods=85, freq=frequency, tz=zone)
    for cut in (40, 60, 80):
        found = trained(whole[:cut], Calendar(zone=zone) | dl.RLS()).forecast().times
        assert found.tolist() == whole[cut : cut + 5].tolist()


def test_a_day_of_the_month_that_some_months_lack():
    days = [date(2023, month, min(day, 30)) for month, day in zip(range(1, 13), [30, 28] + [30] * 10, strict=True)]
    found = trained(pd.DatetimeIndex(days)).forecast().times
    assert [str(time.date()) for time in found] == ["2024-01-30", "2024-02-29", "2024-03-30", "2024-04-30", "2024-05-30"]


def test_times_come_back_in_the_library_that_they_came_from():
    days = [date(2024, 1, 1) + timedelta(days=day) for day in range(30)]
    y = np.arange(30.0)
    forecaster = dl.Forecaster(dl.RLS(), 2)
    assert isinstance(forecaster.fit(y, times=pl.Series("when", days)).forecast().times, pl.Series)
    assert isinstance(forecaster.fit(y, times=pd.Series(pd.to_datetime(days))).forecast().times, pd.Series)
    for times in (days, np.array(days, dtype="datetime64[D]")):
        found = forecaster.fit(y, times=times).forecast().times
        assert found.astype("datetime64[D]").tolist() == [date(2024, 1, 31), date(2024, 2, 1)]
    months = pd.period_range("2020-01", periods=30, freq="M")
    assert trained(months).forecast(1).times.tolist() == [pd.Timestamp("2022-07-01")]
    assert dl.Forecaster(dl.RLS(), 2).fit(y).forecast().times is None


def test_a_calendar_needs_no_rows_and_its_times_move_on():
    """The forecast of a series by its index alone is that of a forecaster that got the times as a feature."""
    days = pd.date_range("2023-01-01", periods=400, freq="D", name="day")
    y = np.where(days.day_of_week == 6, 4.0, 9.0) + np.random.default_rng(0).normal(scale=0.1, size=400)
    learner = Calendar(holidays="2024-01-01") | dl.RLS()
    by_index = dl.Forecaster(learner, 7).fit(pd.Series(y[:380], index=days[:380]))
    by_feature = dl.Forecaster(learner, 7)
    by_feature.run(pd.DataFrame({"day": days[:380].date}), y[:380])
    given = pd.DataFrame({"day": days[380:387].date})
    np.testing.assert_array_equal(by_index.forecast(7).predictions, by_feature.forecast(given).predictions)
    by_index.update(pd.Series(y[380:390], index=days[380:390]))
    by_index.update(y[390:392])  # without times: the rows that follow
    by_index.learn_one({"day": days[392]}, y[392])
    restored = dl.from_bytes(by_index.to_bytes())
    for forecaster in (by_index, restored):
        forecast = forecaster.forecast(5)
        assert forecast.times.tolist() == days[393:398].tolist()
        sundays = days[393:398].day_of_week == 6
        assert (np.abs(forecast.predictions - np.where(sundays, 4.0, 9.0)) < 0.6).all()
    np.testing.assert_array_equal(restored.predict([1, 4]), by_index.forecast(5).predictions[[0, 3]])


def test_other_features_known_ahead_come_with_the_next_rows():
    days = pd.date_range("2023-01-01", periods=200, freq="D")
    frame = pd.DataFrame({"promo": np.arange(200) % 5 == 0, "load": np.sin(np.arange(200.0))}, index=days)
    y = pd.Series(3.0 * frame["promo"] + 0.01 * frame["load"], index=days)
    f = dl.Forecaster(Calendar() | dl.RLS(), 5, known=["promo"]).fit(y, frame)
    assert f.known == ["promo", "time"]
    following = pd.DataFrame({"promo": [True, False, False]}, index=pd.date_range("2023-07-20", periods=3))
    assert (np.abs(f.forecast(following).predictions - [3, 0, 0]) < 0.3).all()
    with pytest.raises(ValueError, match="row 0 of X_next has no value for 'promo'"):
        f.forecast(3)
    with pytest.raises(ValueError, match=r"row 0 is of 2023-07-21, but .* followed by one of 2023-07-20"):
        f.forecast(following.set_axis(following.index + pd.Timedelta(days=1)))
    with pytest.raises(ValueError, match="has 6 rows, but the forecaster has 5 steps"):
        f.forecast(6)


def test_what_is_known_ahead_is_what_was_given_when_it_starts_afresh():
    days = pd.date_range("2023-01-01", periods=60, freq="D")
    frame = pd.DataFrame({"promo": np.arange(60) % 5 == 0, "load": np.sin(np.arange(60.0))})
    f = dl.Forecaster(Calendar() | dl.RLS(), 5, known=["promo"]).fit(frame["load"], frame, times=days)
    assert (f.known, f.clone().known) == (["promo", "time"], ["promo"])
    assert f.fit(frame["load"], frame).known == ["promo"]


def test_an_index_with_gaps_counts_rows_unless_a_calendar_reads_it():
    """Trading days: there are holidays among the weekdays."""
    index = pd.bdate_range("2023-01-02", periods=200).delete([50, 120])
    prices = pd.Series(np.random.default_rng(0).normal(size=198).cumsum(), index=index)
    with pytest.warns(dl.DriftlineWarning, match="evenly spaced .* rows are counted, and forecasts have no times"):
        found = dl.Forecaster(dl.RLS(), 3).fit(prices).update(prices[-5:]).forecast()
    assert found.times is None
    plain = dl.Forecaster(dl.RLS(), 3).fit(prices.to_numpy()).update(prices[-5:].to_numpy()).forecast()
    assert np.array_equal(found.predictions, plain.predictions)
    with pytest.raises(ValueError, match="evenly spaced"):
        dl.Forecaster(Calendar() | dl.RLS(), 3).fit(prices)


def refused(index, words, **options):
    with pytest.raises(ValueError, match=words):
        dl.Forecaster(dl.RLS(), 2).fit(np.arange(float(len(index))), times=index, **options)


def test_gaps_disorder_and_lack_of_times_are_named():
    days = pd.date_range("2024-01-01", periods=30, freq="D")
    refused(days.delete(17), r"row 17 \(2024-01-19\) comes 2 days after the row before, and most others 1 day")
    refused(days[::-1], r"times must increase, but row 1 \(2024-01-29\) is not after row 0 \(2024-01-30\)")
    refused(days.insert(4, pd.NaT), "the time of row 4 is missing")
    refused(["a", "b"], "times must be dates")
    refused(np.arange(3.0), "times must be dates")
    refused(pd.Series([1, 2, 3]), "times must be dates")
    local = pd.date_range("2024-03-30", periods=60, freq="h", tz="Europe/Berlin").tz_localize(None)
    refused(local, r"row 26 \(2024-03-31 03:00:00\) comes 2 hours after .* if clocks changed there, give the times with")
    with pytest.raises(ValueError, match="times has 30 values, but y has 3"):
        dl.Forecaster(dl.RLS(), 2).fit(np.arange(3.0), times=days)


def test_an_update_must_follow_and_a_refused_one_changes_nothing():
    days = pd.date_range("2024-01-01", periods=40, freq="D")
    f = dl.Forecaster(dl.RLS(), 2).fit(pd.Series(np.arange(30.0), index=days[:30]))
    before = f.to_bytes()
    with pytest.raises(ValueError, match=r"row 0 is of 2024-02-01, but .* followed by one of 2024-01-31"):
        f.update(pd.Series(np.arange(9.0), index=days[31:]))
    with pytest.raises(ValueError, match="y is NaN in row 1"):
        f.update(pd.Series([1.0, np.nan], index=days[30:32]))
    assert f.to_bytes() == before
    assert f.update(pd.Series([1.0], index=days[30:31])).forecast(1).times[0] == days[31]


def test_features_without_names_cannot_stand_beside_times():
    days = pd.date_range("2024-01-01", periods=30, freq="D")
    f = dl.Forecaster(Calendar() | dl.RLS(), 2)
    with pytest.raises(ValueError, match="features must have names"):
        f.fit(np.arange(30.0), np.ones((30, 1)), times=days)
    with pytest.raises(ValueError, match="the feature 'time' has the name of the rows' times"):
        f.fit(np.arange(30.0), pd.DataFrame({"time": np.ones(30)}), times=days)


def test_predict_takes_a_horizon_as_statsforecast_and_sktime_do():
    f = dl.Forecaster(dl.Auto(), 6).fit(np.sin(np.arange(90.0)))
    whole = f.forecast().predictions
    np.testing.assert_array_equal(f.predict(), whole)
    np.testing.assert_array_equal(f.predict(3), whole[:3])
    np.testing.assert_array_equal(f.predict(fh=[2, 6]), whole[[1, 5]])
    for wrong in ([0], [7], 7, []):
        with pytest.raises(ValueError, match=r"^Forecaster\.predict: "):
            f.predict(wrong)


def test_a_forecast_with_times_is_drawn_along_them():
    days = pd.date_range("2024-01-01", periods=90, freq="D")
    forecast = dl.Forecaster(dl.Auto(), 6).fit(pd.Series(np.sin(np.arange(90.0)), index=days)).forecast()
    axes = forecast.plot(actual=[0.0, 1.0])
    drawn = {line.get_label(): line.get_xdata() for line in axes.lines}
    assert drawn["prediction"].astype("datetime64[D]").tolist() == [date(2024, 3, 31) + timedelta(days=k) for k in range(6)]
    assert drawn["labels"].astype("datetime64[D]").tolist() == days[-24:].date.tolist()
    assert len(drawn["labels that came"]) == 2
    rows = forecast.plot(np.zeros(60)).lines[0].get_xdata()  # more labels than it has times of
    assert rows.tolist() == [1, 2, 3, 4, 5, 6]


def test_times_that_say_nothing_are_left_out():
    """One row does not say how far apart rows are; an offset is not the name of a zone."""
    assert dl.Forecaster(dl.RLS(), 2).fit(pd.Series([1.0], index=pd.DatetimeIndex(["2024-01-01"]))).forecast().times is None
    with pytest.raises(ValueError, match="the times of two rows or more"):
        dl.Forecaster(Calendar() | dl.RLS(), 2).fit(pd.Series([1.0], index=pd.DatetimeIndex(["2024-01-01"])))
    hours = pd.date_range("2024-01-01", periods=30, freq="h", tz="+02:00")
    assert dl.Forecaster(dl.RLS(), 2).fit(pd.Series(np.arange(30.0), index=hours)).forecast().times[0].isoformat() == (
        "2024-01-02T06:00:00"
    )
