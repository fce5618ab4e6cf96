"""Calendar features: against Python's calendar, the package holidays, and in every place where models read times."""

from __future__ import annotations

import copy
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import holidays
import numpy as np
import pandas as pd
import polars as pl
import pytest

import driftline as dl
from driftline.features import Calendar, Hashing, Standardize

DAYS = [date(2023, 1, 1) + timedelta(days=day) for day in range(800)]
RNG = np.random.default_rng(3)
GERMAN = holidays.country_holidays("DE", years=range(2022, 2027))
SALES = np.array([10.0 - 4 * (day in GERMAN) + 3 * (day.weekday() == 5) + day.month / 6 for day in DAYS])
SALES += 0.05 * RNG.standard_normal(len(DAYS))
FRAME = pd.DataFrame({"when": pd.to_datetime(DAYS)})


def features_of(calendar, when):
    return {name.removeprefix("when: "): value for name, value in calendar.transform_one({"when": when}).items()}


def test_weekdays_and_months_are_those_of_python():
    for day in DAYS[::13]:
        found = features_of(Calendar(), day)
        on = {name: value for name, value in found.items() if value and "year" not in name}
        assert on == {f"{day:%A}": 1.0, f"{day:%B}": 0.25}


@pytest.mark.parametrize("code", ["DE", "DE-BY", "US-CA", "XNYS"])
def test_holidays_and_the_days_around_them(code):
    country, _, part = code.partition("-")
    if code == "XNYS":
        known = holidays.financial_holidays(code, years=range(2022, 2027))
    else:
        known = holidays.country_holidays(country, subdiv=part or None, years=range(2022, 2027))
    calendar = Calendar(holidays=code, around=2)
    for day in DAYS:
        distance = next((d for d in range(10) for sign in (-1, 1) if day + timedelta(days=d * sign) in known), 10)
        expected = {"holiday": distance == 0}
        for away, words in ((1, "1 day"), (2, "2 days")):
            here = distance == away
            expected[f"{words} before a holiday"] = here and day + timedelta(days=away) in known
            expected[f"{words} after a holiday"] = here and day - timedelta(days=away) in known
        found = features_of(calendar, day)
        assert {name: found[name] for name in expected} == expected, day


def test_days_of_the_users_own_are_holidays_with_those_of_a_country():
    calendar = Calendar(holidays=["DE", "2024-02-12"], around=0)
    assert features_of(calendar, date(2024, 2, 12))["holiday"] == 1.0
    assert features_of(calendar, date(2024, 12, 25))["holiday"] == 1.0
    assert features_of(calendar, date(2024, 12, 24))["holiday"] == 0.0
    assert not any("before" in name for name in features_of(calendar, date(2024, 12, 24)))


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Europe/Dublin", "Australia/Lord_Howe", "Asia/Tokyo"])
def test_daylight_saving_time_is_that_of_the_zone(zone):
    info, calendar = ZoneInfo(zone), Calendar(zone=zone)
    least = min(datetime(2024, month, 1, tzinfo=info).utcoffset() for month in (1, 7))
    for day in (date(2024, 1, 1) + timedelta(days=k) for k in range(366)):
        noon = datetime(day.year, day.month, day.day, 12)
        found = features_of(calendar, noon)
        assert found["summer time"] == (noon.replace(tzinfo=info).utcoffset() > least)
        ends = [datetime(d.year, d.month, d.day, tzinfo=info).astimezone(UTC) for d in (day, day + timedelta(days=1))]
        assert found["clock change"] == (ends[1] - ends[0]) / timedelta(hours=1) - 24


def test_times_in_utc_are_converted_to_the_zone():
    utc, local = Calendar(zone="Europe/Berlin", utc=True), Calendar(zone="Europe/Berlin")
    for hours in range(0, 24 * 366, 7):
        moment = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=hours)
        there = moment.astimezone(ZoneInfo("Europe/Berlin"))
        if there.fold == 0:  # a local time that comes twice is taken for the first
            assert features_of(utc, moment.replace(tzinfo=None)) == features_of(local, there.replace(tzinfo=None))


def test_dates_have_no_time_of_day_and_clocks_nothing_else():
    assert not any("day" in name.split() for name in features_of(Calendar(), date(2024, 5, 1)))
    assert set(features_of(Calendar(), datetime(2024, 5, 1, 6).time())) == {
        "day sin",
        "day cos",
        "half-day sin",
        "half-day cos",
    }


def test_the_loop_the_run_a_frame_of_polars_and_a_file_of_the_model_give_the_same():
    model = Calendar(holidays="DE") | dl.Ridge()
    run = model.run(FRAME, SALES)
    loop = Calendar(holidays="DE") | dl.Ridge()
    for when, y in zip(FRAME["when"], SALES, strict=True):
        loop.learn_one({"when": when}, y)
    other = Calendar(holidays="DE") | dl.Ridge()
    other.fit(pl.DataFrame({"when": FRAME["when"].to_numpy().astype("datetime64[us]")}), SALES)
    later = {"when": datetime(2025, 10, 3)}
    assert loop.predict_one(later) == model.predict_one(later) == other.predict_one(later)
    for same in (dl.from_bytes(model.to_bytes()), copy.deepcopy(model)):
        assert same.predict_one(later) == model.predict_one(later)
        same.learn_one(later, 5.0)
    assert np.mean(run.losses[-200:]) < 0.04  # the noise alone has 0.0025
    plain = dl.Ridge()
    assert np.mean(plain.run(FRAME, SALES).losses[-200:]) > 0.3


def test_predictions_see_a_holiday_that_comes():
    model = (Calendar(holidays="DE") | dl.Ridge()).fit(FRAME, SALES)
    unity, friday = model.predict_one({"when": date(2025, 10, 3)}), model.predict_one({"when": date(2025, 10, 10)})
    assert unity == pytest.approx(friday - 4, abs=0.3)


@pytest.mark.parametrize("learner", [dl.Ridge(), dl.RLS(), dl.Auto()])
def test_a_month_that_is_new_is_predicted_like_the_others(learner):
    level = 50 + np.random.default_rng(0).normal(size=90)
    model = (Calendar() | learner).fit(FRAME[:90], level)  # January to March
    assert model.predict_one({"when": DAYS[90]}) == pytest.approx(50, abs=2.5)


def test_threads_may_copy_a_calendar_that_models_share():
    calendar = Calendar(holidays="DE")
    with calendar._guard.claim(), ThreadPoolExecutor(1) as other:
        assert other.submit(copy.deepcopy, Calendar() | dl.RLS()).result() is not None
        assert other.submit(copy.deepcopy, calendar | dl.RLS()).result().parts[0].holidays == "DE"


def test_a_model_around_the_pipeline_reads_times_the_same_way():
    inside = Calendar(holidays="DE") | dl.Ridge()
    model = dl.Transformed(inside, "log").fit(FRAME, SALES)
    assert "when: holiday" in model.feature_names_in_
    assert "when: holiday" in dl.from_bytes(model.to_bytes()).feature_names_in_
    experts = dl.Auto(experts=[Standardize() | Calendar(holidays="DE") | dl.RLS(), dl.Ridge()]).fit(FRAME, SALES)
    assert "when: holiday" in experts.feature_names_in_


def test_fleets_read_times_the_same_way():
    model, fleet = Calendar(holidays="DE") | dl.Ridge(), dl.Fleet(Calendar(holidays="DE") | dl.Ridge())
    for when, y in zip(FRAME["when"][:300], SALES, strict=False):
        model.learn_one({"when": when}, y)
        fleet.learn_one("a", {"when": when}, y)
        fleet.learn_one("b", {"when": when}, -y)
    later = {"when": datetime(2023, 12, 25)}
    assert fleet.predict_one("a", later) == model.predict_one(later)
    assert fleet.predict_one("b", later) == pytest.approx(-model.predict_one(later))


def test_alone_it_transforms_frames_and_leaves_numbers_as_they_are():
    frame = FRAME[:40].assign(price=np.arange(40.0))
    X = Calendar(holidays="DE").transform(frame)
    names = list(Calendar(holidays="DE").transform_one(dict(frame.iloc[0])))
    for row in range(40):
        assert dict(zip(names, X[row].tolist(), strict=True)) == Calendar(holidays="DE").transform_one(dict(frame.iloc[row]))
    np.testing.assert_array_equal(Calendar().run(frame), Calendar().transform(frame))
    assert Calendar().transform_one([1.0, 2.0]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"holidays": "XX"}, "'XX' is neither a day nor a country"),
        ({"holidays": ["DE-XX"]}, "'DE-XX' is neither a day nor a country"),
        ({"holidays": "2024-13-01"}, "'2024-13-01' is neither a day"),
        ({"holidays": 3}, "holidays must be None or a code"),
        ({"zone": "Mars"}, "zone must be None or the name of a time zone"),
        ({"utc": True}, "utc=True needs a zone"),
        ({"around": -1}, "around must be a whole number"),
    ],
)
def test_wrong_parameters_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        Calendar(**options)


@pytest.mark.parametrize("when", [date.min, date.max, np.datetime64("20000-02-03"), np.datetime64("-5000-02-03")])
def test_times_that_pythons_calendar_does_not_reach_have_features(when):
    for calendar in (Calendar(holidays="DE", zone="Europe/Berlin"), Calendar(zone="Europe/Berlin", utc=True)):
        assert np.isfinite(list(calendar.transform_one({"when": when}).values())).all()


def test_text_and_missing_times_are_named_where_it_stands_alone():
    with pytest.raises(ValueError, match="column 'shop' holds text"):
        Calendar().transform_one({"when": date(2024, 1, 1), "shop": "a"})
    with pytest.raises(ValueError, match="column 'when' has no value in row 1"):
        Calendar().transform(pd.DataFrame({"when": [pd.Timestamp("2024-01-01"), pd.NaT]}))


def test_a_pipeline_takes_one_calendar_and_none_with_hashing():
    with pytest.raises(ValueError, match="one Calendar, and none with Hashing"):
        Hashing(8) | Calendar() | dl.RLS()
    with pytest.raises(ValueError, match="one Calendar, and none with Hashing"):
        Calendar() | Calendar(holidays="DE") | dl.RLS()


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "holidays", None)
    with pytest.raises(ImportError, match=r'pip install "driftline\[holidays\]"'):
        Calendar(holidays="FR")
    Calendar(holidays="2024-12-24")  # needs no package
