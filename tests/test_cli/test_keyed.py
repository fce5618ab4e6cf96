"""``run --key``: a model for each value of a column, compared with separate models."""

import html
import json
import re

import numpy as np
import pandas as pd
import pytest

import driftline as dl
from driftline.report.pool_facts import pool_facts
from tests.test_cli.calling import call, outcome
from tests.test_cli.test_resume import StopAt, parts, same

MODELS = {"rls": dl.RLS, "auto": dl.Auto, "nlms": dl.NLMS}
DRIFTING = ("pump 1", "pump <4>")


def meters(rows=3000, keys=6, seed=0):
    """Meters with two features. Half-way, two meters get ten times the noise. Some labels and features are missing."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, keys, size=rows)
    frame = pd.DataFrame({"meter": [f"pump <{k}>" if k == 4 else f"pump {k}" for k in which]})
    frame["heat"], frame["wind"] = rng.normal(size=(2, rows))
    drifted = frame["meter"].isin(DRIFTING) & (np.arange(rows) > rows // 2)
    frame["load"] = (1 + which) * frame["heat"] - frame["wind"] + np.where(drifted, 3.0, 0.3) * rng.normal(size=rows)
    frame.loc[5::97, "load"] = np.nan
    frame.loc[50::101, "wind"] = np.nan
    return frame


def by_hand(frame, model, level):
    """One model and one alarm per key, row by row."""
    models, alarms, predicted = {}, {}, []
    for row in frame.itertuples():
        own = models.setdefault(row.meter, model(missing="skip"))
        alarm = alarms.setdefault(row.meter, dl.Alarm())
        whole = not np.isnan(row.wind)
        x = {"heat": row.heat, "wind": row.wind}
        learned = whole and not np.isnan(row.load)
        prediction = own.predict_one(x) if whole else np.nan
        ends = own.predict_interval(x, level) if whole else (np.nan, np.nan)
        raised = learned and alarm.update(row.load - prediction)
        predicted.append((prediction, *ends, int(raised)))
        own.learn_one(x, row.load)
    return models, pd.DataFrame(predicted, columns=["prediction", "lower", "upper", "alarm"])


def informed(frame):
    """The rows that follow a labelled row of their key."""
    return frame.groupby("meter")["load"].transform(lambda own: own.notna().cumsum().shift(fill_value=0)) > 0


def arguments(tmp_path, frame, *more):
    frame.to_csv(tmp_path / "a.csv", index=False)
    return ["run", tmp_path / "a.csv", "-t", "load", "--key", "meter", *more]


@pytest.mark.parametrize("name", MODELS)
def test_predictions_intervals_and_alarms_match_one_model_per_key(capsys, tmp_path, name):
    frame, out, state = meters(), tmp_path / "out.csv", tmp_path / "m.drift"
    given = arguments(tmp_path, frame, "-m", name, "--level", "0.8", "--out", out, "--state", state)
    found = outcome(capsys, *given)
    models, expected = by_hand(frame, MODELS[name], 0.8)
    table = pd.read_csv(out)
    assert table["key"].tolist() == frame["meter"].tolist()
    for column in ("prediction", "lower", "upper"):
        np.testing.assert_allclose(table[column], expected[column], rtol=1e-12)
    assert table["alarm"].tolist() == expected["alarm"].tolist()
    raised = {key: own.index[-1] for key, own in frame[expected["alarm"] == 1].groupby("meter")}
    assert {entry["key"]: entry["last_alarm"] for entry in found["keys_with_alarms"]} == raised
    assert set(DRIFTING) <= set(raised)
    errors = (frame["load"] - expected["prediction"])[informed(frame)].dropna()
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert found["keys"] == 6
    fleet = dl.load(state)
    for key, model in models.items():
        assert fleet[key].n_seen_ == model.n_seen_
        assert fleet[key].predict_one([1.0, 2.0]) == pytest.approx(model.predict_one({"heat": 1.0, "wind": 2.0}), rel=1e-12)


def test_the_figures_of_a_key_follow_from_its_errors(capsys, tmp_path):
    frame, out = meters(), tmp_path / "out.csv"
    found = outcome(capsys, *arguments(tmp_path, frame, "-m", "rls", "--out", out))["keys_with_alarms"]
    table = pd.read_csv(out).assign(error=lambda t: t["target"] - t["prediction"])
    table = table[informed(frame)]
    for entry in found:
        own = table[(table["key"] == entry["key"]) & table["error"].notna()]
        before, since = own[own["row"] <= entry["last_alarm"]], own[own["row"] > entry["last_alarm"]]
        assert (entry["rows"], entry["alarms"]) == (len(own), own["alarm"].sum())
        assert own["row"][own["alarm"] == 1].max() == entry["last_alarm"]
        for name, some in (("rmse", own), ("before", before), ("since", since)):
            assert entry[name] == pytest.approx(np.sqrt(np.mean(some["error"] ** 2)), rel=1e-9)
    factors = [entry["since"] / entry["before"] for entry in found]
    assert factors == sorted(factors, reverse=True)


def test_the_summary_compares_with_baselines_of_each_key_over_the_rows_that_they_predict(capsys, tmp_path):
    """The first row of a key is predicted as 0 without knowing any label: it says nothing about a model."""
    frame, out = meters(), tmp_path / "out.csv"
    frame["load"] += 1000.0
    given = arguments(tmp_path, frame, "-m", "rls", "--out", out)
    found = outcome(capsys, *given)
    by_key, predicted = frame.groupby("meter")["load"], pd.read_csv(out)["prediction"]
    last = by_key.transform(lambda own: own.ffill().shift())
    mean = by_key.transform(lambda own: own.expanding().mean().shift())
    rows = informed(frame) & frame["load"].notna() & predicted.notna()
    for name, values in {"rmse": predicted, "last_value_rmse": last, "running_mean_rmse": mean}.items():
        assert found[name] == pytest.approx(np.sqrt(np.mean((frame["load"] - values)[rows] ** 2)), rel=1e-9), name
    assert found["rows_scored"] == rows.sum()
    assert "seasonal_value_rmse" not in found
    printed = call(capsys, *given)[1]
    assert re.search(r"% (below|above) the last value's, ", printed)
    assert re.search(r"% (below|above) the running mean's, ", printed)


@pytest.mark.parametrize("name", ["rls", "auto"])
def test_a_stopped_run_resumes_with_the_same_bits(capsys, tmp_path, monkeypatch, name):
    given = arguments(tmp_path, meters(), "-m", name, "--level", "0.8", "--save-every", "211")
    for folder in ("whole", "part"):
        (tmp_path / folder).mkdir()

    def files(folder):
        at = tmp_path / folder
        return ["--out", at / "out.csv", "--state", at / "state", "--report", at / "page.html"]

    outcome(capsys, *given, *files("whole"))
    for stop in (300, 1000, 2500):
        with monkeypatch.context() as patch:
            StopAt(patch, stop)
            assert outcome(capsys, *given, *files("part"), "--resume")["interrupted"]
    outcome(capsys, *given, *files("part"), "--resume")
    assert (tmp_path / "part/out.csv").read_bytes() == (tmp_path / "whole/out.csv").read_bytes()
    (one, extra), (other, resumed) = parts(tmp_path / "whole/state"), parts(tmp_path / "part/state")
    assert one == other
    assert same(extra.arrays, resumed.arrays)
    pages = [(tmp_path / folder / "page.html").read_text() for folder in ("whole", "part")]
    tables = [re.search(r'<section class="card" id="keys">.*id="again"', page, re.DOTALL)[0] for page in pages]
    assert tables[0] == tables[1]


def test_the_report_opens_with_the_keys_whose_alarm_went_off(capsys, tmp_path):
    page = tmp_path / "page.html"
    found = outcome(capsys, *arguments(tmp_path, meters(), "-m", "rls", "--report", page))["keys_with_alarms"]
    text = page.read_text()
    listed = re.findall(r'<a href="#(key-\d+)">(.*?)</a>', text)
    assert [html.unescape(key) for _, key in listed][: len(found)] == [entry["key"] for entry in found]
    assert len(listed) == 6
    assert all(f'id="{place}"' in text for place, _ in listed)
    assert "pump <4>" not in text
    assert f"The alarm went off in {len(found)} of 6 keys." in text
    assert text.count('class="mark alarms"') == 2 * sum(entry["alarms"] for entry in found)


def test_the_summary_names_the_keys_whose_alarm_went_off(capsys, tmp_path):
    code, out, _ = call(capsys, *arguments(tmp_path, meters(), "-m", "rls"))
    assert (code, "RLS for each of 6 keys" in out) == (0, True)
    assert all(key in out for key in DRIFTING)
    quiet = meters()[lambda frame: ~frame["meter"].isin(DRIFTING)]
    code, out, _ = call(capsys, *arguments(tmp_path, quiet, "-m", "rls"))
    assert (code, "No alarm went off" in out) == (0, True)


def test_the_next_rows_of_each_key_are_predicted_from_the_state(capsys, tmp_path):
    frame, state, out = meters(), tmp_path / "m.drift", tmp_path / "next.csv"
    outcome(capsys, *arguments(tmp_path, frame, "-m", "rls", "--level", "0.8", "--state", state))
    rows = pd.DataFrame({"wind": [0.5, 1.0, 2.0], "heat": [1.0, 2.0, 3.0], "meter": ["pump 2", "never seen", "pump <4>"]})
    rows.to_csv(tmp_path / "b.csv", index=False)
    assert call(capsys, "predict", state, tmp_path / "b.csv", "--level", "0.8", "--out", out)[0] == 0
    models, _ = by_hand(frame, dl.RLS, 0.8)
    for row, predicted in zip(rows.itertuples(), pd.read_csv(out).itertuples(), strict=True):
        model, x = models.get(row.meter, dl.RLS()), {"heat": row.heat, "wind": row.wind}
        assert predicted.key == row.meter
        assert predicted.prediction == pytest.approx(model.predict_one(x), rel=1e-12)
        assert (predicted.lower, predicted.upper) == pytest.approx(model.predict_interval(x, 0.8), rel=1e-12)
    code, text, _ = call(capsys, "inspect", state)
    assert (code, "6 keys" in text, "pump 1: 1" in text) == (0, True, True)
    assert json.loads(call(capsys, "inspect", state, "--json")[1])["keys"] == 6


def with_modes(rows=600):
    """Meters with a text column of modes, and with times; each meter sees the modes in its own order."""
    frame = meters(rows).drop(columns="wind")
    rng = np.random.default_rng(1)
    frame["mode"] = rng.choice(["eco", "full", "off"], size=rows)
    frame["load"] += frame["mode"].map({"eco": 1.0, "full": 5.0, "off": 0.0})
    frame["when"] = pd.date_range("2026-01-01", periods=rows, freq="h")
    return frame.dropna()


@pytest.mark.parametrize(("name", "missing"), [("auto", "skip"), ("rls", "skip"), ("rls", "mean")])
def test_text_and_times_are_encoded_by_each_model_from_the_rows_of_its_key(capsys, tmp_path, name, missing):
    frame, out, state = with_modes(), tmp_path / "out.csv", tmp_path / "m.drift"
    frame.loc[frame.index[40::9], "heat"] = np.nan
    past, coming = frame[:-30], frame[-30:]
    given = arguments(tmp_path, past, "-m", name, "--missing", missing, "--out", out, "--state", state)
    outcome(capsys, *given)
    predicted, models = pd.read_csv(out)["prediction"].to_numpy(), {}
    for key in past["meter"].unique():
        own = (past["meter"] == key).to_numpy()
        models[key] = MODELS[name](missing=missing)
        run = models[key].run(past.loc[own, ["heat", "mode", "when"]], past["load"][own])
        np.testing.assert_allclose(predicted[own], run.predictions, rtol=1e-12)
    assert np.nanmean((predicted - past["load"])[-200:] ** 2) < 0.5 * np.var(past["load"])
    coming.drop(columns="load").to_csv(tmp_path / "b.csv", index=False)
    assert call(capsys, "predict", state, tmp_path / "b.csv", "--out", out)[0] == 0
    for key, own in coming.assign(predicted=pd.read_csv(out)["prediction"].to_numpy()).groupby("meter"):
        first = own.iloc[0]
        assert first["predicted"] == pytest.approx(
            models[key].predict_one(first[["heat", "mode", "when"]].to_dict()), rel=1e-12, nan_ok=True
        )


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--delay", "3"], "--delay cannot be combined with --key"),
        (["--steps", "3"], "--steps cannot be combined with --key"),
        (["--id", "heat"], "--id cannot be combined with --key"),
        (["--drop", "meter"], "meter is the key"),
    ],
)
def test_options_that_conflict_with_keys_are_refused_by_name(capsys, tmp_path, more, words):
    code, _, err = call(capsys, *arguments(tmp_path, meters(50), *more))
    assert (code, words in " ".join(err.split())) == (2, True)


def test_compare_refuses_keys(capsys, tmp_path):
    _, source, *rest = arguments(tmp_path, meters(50))
    code, _, err = call(capsys, "compare", source, *rest)
    assert (code, "--key" in err) == (2, True)


def test_errors_name_the_bad_row(capsys, tmp_path):
    frame = meters(50)
    frame.loc[7, "meter"] = None
    code, _, err = call(capsys, *arguments(tmp_path, frame, "-m", "rls"))
    assert (code, "the key is missing" in err, "line 9" in err) == (1, True, True)


def test_a_state_of_a_run_without_keys_or_a_report_is_refused(capsys, tmp_path):
    given = arguments(tmp_path, meters(200), "-m", "rls")
    state = tmp_path / "m.drift"
    outcome(capsys, *given, "--state", state)
    code, _, err = call(capsys, *given, "--state", state, "--resume", "--report", tmp_path / "page.html")
    assert (code, "without --report" in err) == (2, True)
    plain = [*given[:4], "-m", "rls", "--drop", "meter"]
    code, _, err = call(capsys, *plain, "--state", state, "--resume")
    assert (code, "was saved by a run with no --drop" in err) == (2, True)
    code, _, err = call(capsys, *given[:4], "--key", "meter", "--drop", "wind", "-m", "rls", "--state", state, "--resume")
    assert (code, "was saved by a run with no --drop" in err) == (2, True)
    code, _, err = call(capsys, *given[:4], "-m", "rls", "--missing", "skip", "--state", state, "--resume")
    assert (code, "was saved by a run with --key meter, not no --key" in err) == (2, True)


def test_keys_that_learn_from_each_other(capsys, tmp_path):
    """The file's answers are those of a pooled fleet, and a stopped run goes on with its pool."""
    frame, out, state = meters(), tmp_path / "p.csv", tmp_path / "m.drift"
    pooled = [*arguments(tmp_path, frame, "-m", "rls", "--pooled", "--level", "0.8", "--out", out, "--state", state)]
    found = outcome(capsys, *pooled)
    fleet = dl.Fleet(dl.RLS(missing="skip"), pooled=True, named=True)
    run = fleet.run(frame["meter"].tolist(), frame[["heat", "wind"]], frame["load"], level=0.8)
    table = pd.read_csv(out)
    np.testing.assert_allclose(table["prediction"], run.predictions, rtol=1e-12)
    lower = np.where(np.isnan(run.lower), -np.inf, run.lower)
    np.testing.assert_allclose(table["lower"].fillna(-np.inf), lower, rtol=1e-12)
    assert found["keys"] == 6
    loaded = dl.load(state)
    assert loaded.pooled
    assert loaded.pool_.n_seen_ == fleet.pool_.n_seen_
    frame.iloc[:1000].to_csv(tmp_path / "a.csv", index=False)
    call(capsys, *pooled)
    frame.to_csv(tmp_path / "a.csv", index=False)
    call(capsys, *pooled, "--resume")
    assert pd.read_csv(out).equals(table)
    new = frame.iloc[:1].assign(meter="new")
    new.to_csv(tmp_path / "new.csv", index=False)
    call(capsys, "predict", state, tmp_path / "new.csv", "--out", tmp_path / "next.csv")
    asked = dl.load(state).predict_one("new", {"heat": new["heat"][0], "wind": new["wind"][0]})
    assert pd.read_csv(tmp_path / "next.csv")["prediction"][0] == pytest.approx(asked, rel=1e-12)
    code, _, err = call(capsys, *pooled[:4], "--pooled")
    assert code == 2
    assert "--pooled needs --key" in err


def test_a_common_shock_is_told_apart_from_keys_that_differ(capsys, tmp_path):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"meter": np.tile([f"m{key}" for key in range(20)], 300), "heat": rng.uniform(size=6000)})
    odd, later = (rows["meter"] == "m7").to_numpy(), np.arange(6000) >= 4000
    rows["load"] = 10 + 5 * rows["heat"] * np.where(odd, -1, 1) + 20 * odd + 2 * later + 0.2 * rng.standard_normal(6000)
    page, state = tmp_path / "page.html", tmp_path / "m.drift"
    given = [*arguments(tmp_path, rows, "-m", "rls", "--pooled", "--features", "heat", "--state", state)]
    found = outcome(capsys, *given, "--report", page)
    assert found["pool_alarms"] >= 1
    assert 4000 <= found["last_pool_alarm"] < 4040
    assert len(found["keys_with_alarms"]) < 10  # whose own models take long to forget the level before
    text = page.read_text()
    assert re.search(rf"The alarm of the pool went off .* at row {found['last_pool_alarm']:,}", text)
    assert "Keys that differ from the others" in text
    differing = text[text.index('id="apart"') : text.index('id="keys"')]
    assert differing.count("heat: ") == 1
    assert '<th scope="row">m7</th>' in differing[: differing.index("heat: ")]
    fact = next(fact for fact in pool_facts(dl.load(state)) if fact.key == "m7")
    assert fact.feature == "heat"
    assert fact.level == pytest.approx(15, abs=0.5)  # 20 above the others, and a heat of 0.5 on average counts 5 less
    assert fact.weight < 0 < fact.usual
    rows.iloc[:5000].to_csv(tmp_path / "a.csv", index=False)
    call(capsys, *given, "--report", page)
    rows.to_csv(tmp_path / "a.csv", index=False)
    resumed = outcome(capsys, *given, "--report", page, "--resume")
    assert {name: resumed[name] for name in ("pool_alarms", "last_pool_alarm", "rmse")} == {
        name: found[name] for name in ("pool_alarms", "last_pool_alarm", "rmse")
    }
    _, out, _ = call(capsys, *given)
    assert "The alarm of the pool went off" in out
