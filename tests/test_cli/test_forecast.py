"""``run --steps`` and ``forecast``: the same results as plain loops, and clear errors."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import driftline as dl
from tests.test_cli.calling import call, outcome, predictions
from tests.test_cli.tables import mixed, write
from tests.test_evaluate.test_scores import one_season_ago

STEPS = 4


def series(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    hours = np.arange(rows)
    frame = pd.DataFrame({"hour": hours % 24.0, "wind": rng.normal(size=rows)})
    frame["load"] = 10 + 3 * np.sin(hours * np.pi / 12) + frame["wind"] + 0.3 * rng.normal(size=rows)
    return frame


def plainly(model, table, known, step, level):
    """One step by ask and tell, over the rows as mappings. Columns not known ahead come from the origin."""
    rows, waiting, predicted = table.to_pylist(), [], []
    labels = [row.pop("load") for row in rows]
    for t, (row, label) in enumerate(zip(rows, labels, strict=True)):
        if known is not None and t < step:
            predicted.append((np.nan,) * 3)
            continue
        x = {name: value if known is None or name in known else rows[t - step][name] for name, value in row.items()}
        ticket = model.ask(x, delay=step - 1)
        predicted.append((ticket.prediction, *ticket.interval(level)) if t >= step - 1 else (np.nan,) * 3)
        waiting.append((ticket, np.nan if label is None else label))
        if len(waiting) >= step:
            model.tell(*waiting.pop(0))
    return np.array(predicted)


@pytest.mark.parametrize(("name", "known"), [("rls", None), ("rls", ("on", "when")), ("kalman", ("when",))])
def test_a_run_matches_plain_loops(capsys, tmp_path, name, known):
    """Text and gaps add features along the way, and some labels are missing."""
    source, out = write(mixed(300), tmp_path / "a.csv"), tmp_path / "out.parquet"
    more = [] if known is None else ["--known", ",".join(known)]
    outcome(capsys, "run", source, "-t", "load", "-m", name, "--steps", STEPS, "--level", 0.8, "--out", out, *more)
    found = predictions(out)
    for step in range(1, STEPS + 1):
        model = {"rls": dl.RLS, "kalman": dl.Kalman}[name](missing="mean")
        expected = plainly(model, mixed(300), known, step, 0.8)
        columns = [found[f"{column}_{step}"].to_numpy() for column in ("prediction", "lower", "upper")]
        np.testing.assert_allclose(np.transpose(columns), expected, rtol=1e-9)


def test_the_scores_of_each_step_follow_from_its_predictions(capsys, tmp_path):
    frame = series()
    frame.loc[[5, 77, 200], "load"] = np.nan
    source, out = tmp_path / "a.csv", tmp_path / "out.csv"
    frame.to_csv(source, index=False)
    found = outcome(capsys, "run", source, "-t", "load", "-m", "kalman", "--steps", STEPS, "--out", out)
    table, y = pd.read_csv(out), frame["load"].to_numpy()
    assert [own["step"] for own in found["steps"]] == [1, 2, 3, 4]
    assert found["rmse"] == found["steps"][0]["rmse"]
    for step, own in enumerate(found["steps"], 1):
        late = pd.Series(y).shift(step)
        last, mean = late.ffill().to_numpy(), late.expanding().mean().ffill().to_numpy()
        counted = np.isfinite(y) & np.isfinite(last)
        predicted = table[f"prediction_{step}"].to_numpy()

        def rmse(values, counted=counted):
            return np.sqrt(np.mean((y - values)[counted] ** 2))

        assert own["rmse"] == pytest.approx(rmse(predicted))
        assert own["last_value_rmse"] == pytest.approx(rmse(last))
        assert own["running_mean_rmse"] == pytest.approx(rmse(mean))
        assert own["seasonal_value_rmse"] == pytest.approx(rmse(one_season_ago(y, step - 1)))
        lower, upper = table[f"lower_{step}"].to_numpy(), table[f"upper_{step}"].to_numpy()
        judged = counted & np.isfinite(lower)
        assert own["coverage"] == pytest.approx(np.mean(((lower <= y) & (y <= upper))[judged]))
        assert 0.8 < own["coverage"] < 0.97


def test_the_summary_has_a_line_for_each_of_some_steps(capsys, tmp_path):
    source = tmp_path / "a.csv"
    series().to_csv(source, index=False)
    code, out, err = call(capsys, "run", source, "-t", "load", "-m", "rls", "--steps", 6)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].endswith("400 rows, 2 features, RLS, 6 steps ahead")
    assert lines[1].split("  ")[0] == "step"
    assert [int(line.split()[0]) for line in lines[2:6]] == [1, 2, 4, 6]
    assert lines[6] == "--json has every step"


def saved(frame, path):
    frame.to_csv(path, index=False)
    return path


def trained(capsys, tmp_path, frame, *more):
    past, state = tmp_path / "past.csv", tmp_path / "m.drift"
    frame.to_csv(past, index=False)
    outcome(capsys, "run", past, "-t", "load", "-m", "rls", "--steps", STEPS, "--state", state, *more)
    return state


@pytest.mark.parametrize("known", [None, ["hour"]])
def test_the_forecast_matches_the_library(capsys, tmp_path, known):
    frame = series()
    state = trained(capsys, tmp_path, frame[:396], *([] if known is None else ["--known", "hour"]))
    before = state.read_bytes()
    future = frame[396:].drop(columns="load" if known is None else ["load", "wind"])
    future.to_csv(tmp_path / "future.csv", index=False)
    code, out, err = call(capsys, "forecast", state, tmp_path / "future.csv", "--level", 0.8)
    assert (code, err) == (0, "")
    forecaster = dl.Forecaster(dl.RLS(missing="skip"), STEPS, known=known)
    forecaster.run(frame[:396][["hour", "wind"]], frame["load"][:396])
    expected = forecaster.forecast(future, level=0.8)
    rows = [line.split(",") for line in out.splitlines()]
    assert [name.strip('"') for name in rows[0]] == ["row", "step", "prediction", "lower", "upper"]
    found = np.array(rows[1:], dtype=float)
    assert found[:, :2].tolist() == [[396, 1], [397, 2], [398, 3], [399, 4]]
    np.testing.assert_allclose(
        found[:, 2:], np.transpose([expected.predictions, expected.lower, expected.upper]), rtol=1e-12
    )
    assert state.read_bytes() == before


def test_a_short_file_with_text_and_times_is_encoded_as_it_was_learned(capsys, tmp_path):
    table = mixed(400)
    state = tmp_path / "m.drift"
    past, future = write(table.slice(0, 397), tmp_path / "past.csv"), table.slice(397).drop_columns(["load", "wind", "one"])
    options = ["--steps", STEPS, "--known", "where,on", "--time", "when", "--state", state]
    outcome(capsys, "run", past, "-t", "load", "-m", "rls", *options)
    for name in ("future.jsonl", "future.csv", "future.parquet"):
        out = tmp_path / "out.parquet"
        call(capsys, "forecast", state, write(future, tmp_path / name), "--out", out, "--quiet")
        found = predictions(out)
        assert found["step"].to_pylist() == [1, 2, 3]
        assert found["time"].to_pylist() == table["when"].slice(397).to_pylist()
        predicted = dl.load(state).forecast(future.to_pylist())
        np.testing.assert_allclose(found["prediction"].to_numpy(), predicted.predictions, rtol=1e-12)


def test_a_series_without_features_needs_no_file_of_the_next_rows(capsys, tmp_path):
    frame = series()[["load"]]
    state = trained(capsys, tmp_path, frame)
    code, out, _ = call(capsys, "forecast", state)
    assert (code, len(out.splitlines())) == (0, 1 + STEPS)
    model = dl.load(state)
    assert float(out.splitlines()[1].split(",")[2]) == model.forecast(np.empty((STEPS, 0))).predictions[0]
    state = trained(capsys, tmp_path, series(), "--known", "")
    assert len(call(capsys, "forecast", state)[1].splitlines()) == 1 + STEPS
    state = trained(capsys, tmp_path, series())
    code, out, err = call(capsys, "forecast", state)
    assert (code, out) == (1, "")
    assert "needs a file with the next rows. They are: hour, wind\n" in err


def test_a_number_that_orders_the_rows_is_not_needed_ahead(capsys, tmp_path):
    frame = series().assign(when=timed(np.arange(400), False))
    code, out, _ = call(capsys, "forecast", trained(capsys, tmp_path, frame, "--known", "", "--time", "when"))
    assert (code, len(out.splitlines())) == (0, 1 + STEPS)


FREQUENCIES = [("D", None), ("h", None), ("ME", None), ("QS", None), ("B", None), ("h", "UTC")]


@pytest.mark.parametrize(("frequency", "zone"), FREQUENCIES)
@pytest.mark.parametrize("more", [(), ("--holidays", "DE,2024-02-12", "--zone", "Europe/Berlin")])
def test_evenly_spaced_times_go_on_by_themselves(capsys, tmp_path, frequency, zone, more):
    """The forecast without a file of the next rows is that with one."""
    times = pd.date_range("2023-12-20", periods=80 + STEPS, freq=frequency, tz=zone)
    frame = pd.DataFrame({"when": times, "load": np.sin(np.arange(len(times)))})
    state = trained(capsys, tmp_path, frame[:80], "--known", "", "--time", "when", *more)
    future = saved(frame[80:].drop(columns="load"), tmp_path / "future.csv")
    one, other = tmp_path / "alone.parquet", tmp_path / "with.parquet"
    assert (
        call(capsys, "forecast", state, "--out", one)[0] == call(capsys, "forecast", state, future, "--out", other)[0] == 0
    )
    alone, given = pd.read_parquet(one), pd.read_parquet(other)
    assert alone["time"].tolist() == given["time"].tolist() == times[80:].tolist()
    np.testing.assert_array_equal(alone["prediction"], given["prediction"])
    names = dl.load(state).learners_[0].feature_names_in_
    assert ("when: holiday" in names and "when: clock change" in names) == bool(more)


def test_uneven_times_need_a_file_of_the_next_rows(capsys, tmp_path):
    times = pd.date_range("2024-01-01", periods=80, freq="D").delete(75)
    frame = pd.DataFrame({"when": times, "load": np.sin(np.arange(79))})
    code, out, err = call(capsys, "forecast", trained(capsys, tmp_path, frame, "--time", "when"))
    assert (code, out) == (1, "")
    assert "so it needs a file with the next rows. They are: when\n" in err


def test_smoothing_and_seasons_are_those_of_the_forecaster(capsys, tmp_path):
    y = np.tile([1.0, 5.0, 2.0, 8.0, 3.0, 9.0], 30) + 0.1 * np.random.default_rng(0).normal(size=180)
    path, state = saved(pd.DataFrame({"load": y}), tmp_path / "y.csv"), tmp_path / "s.drift"
    for options, smoothing, seasons in (
        (["--seasons", "6,30"], None, [6, 30]),
        (["--no-smoothing"], False, None),
        (["--smoothing", "-m", "rls"], True, None),
    ):
        code, *_ = call(capsys, "run", path, "-t", "load", "--steps", "3", "--state", state, *options)
        model = dl.load(state)
        learner = dl.RLS(missing="mean") if "rls" in options else dl.Auto(missing="mean")
        same = dl.Forecaster(learner, 3, smoothing=smoothing, seasons=seasons).fit(y)
        assert (code, model.smoothing, model.seasons_) == (0, same.smoothing, same.seasons_)
        np.testing.assert_allclose(model.forecast().predictions, same.forecast().predictions, rtol=1e-9)
        state.unlink()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--seasons", "7"], "--seasons needs --steps"),
        (["--no-smoothing"], "--smoothing needs --steps"),
        (["--steps", "3", "--seasons", "1"], "--seasons must be one or two numbers of rows, got 1"),
        (["--steps", "3", "--seasons", "7,8,9"], "--seasons must be one or two numbers of rows"),
        (["--holidays", "XX"], "'XX' is neither a day nor a country"),
        (["--zone", "Mars"], "zone must be None or the name of a time zone"),
    ],
)
def test_wrong_options_of_forecasts_are_named(capsys, tmp_path, options, words):
    path = saved(series(30), tmp_path / "y.csv")
    code, _, err = call(capsys, "run", path, "-t", "load", *options)
    assert code == 2
    assert words in err


def test_rows_are_forecast_before_the_first_label_is_known(capsys, tmp_path):
    """As in Forecaster.run, a cell is empty only if its forecast was due before the first row, or has no origin."""
    frame, out = series(20), tmp_path / "out.csv"
    for known in (None, ["hour"]):
        trained(capsys, tmp_path, frame, "--out", out, *([] if known is None else ["--known", "hour"]))
        run = dl.Forecaster(dl.RLS(), STEPS, known).run(frame[["hour", "wind"]], frame["load"], level=0.9)
        found = pd.read_csv(out)
        for name, expected in (("prediction", run.predictions), ("lower", run.lower), ("upper", run.upper)):
            columns = found[[f"{name}_{step}" for step in range(1, STEPS + 1)]].to_numpy()
            np.testing.assert_allclose(columns, expected, rtol=1e-9)
        first = [t for t in range(STEPS) if np.isfinite(found[f"prediction_{t + 1}"][t])]
        assert first == ([0, 1, 2, 3] if known is None else [])
        assert np.isfinite([found[f"prediction_{k}"][k] for k in range(1, STEPS + 1)]).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda future: future, "future.csv: has more rows than the 4 steps that were learned"),
        (
            lambda future: future[:2].drop(columns="hour"),
            "there is no column 'hour', which is known ahead (run --known says which",
        ),
        (lambda future: future[:0], "future.csv: has a header but no rows"),
    ],
)
def test_files_with_the_wrong_rows_or_columns_are_refused(capsys, tmp_path, change, words):
    frame = series()
    state = trained(capsys, tmp_path, frame[:390])
    change(frame[390:]).to_csv(tmp_path / "future.csv", index=False)
    out = tmp_path / "out.csv"
    code, printed, err = call(capsys, "forecast", state, tmp_path / "future.csv", "--out", out)
    assert (code, printed, out.exists()) == (1, "", False)
    assert err.startswith("driftline forecast: ")
    assert words in err
    assert len(err.splitlines()) == 1


def test_rows_of_the_past_are_refused(capsys, tmp_path):
    table, state = mixed(100), tmp_path / "m.drift"
    past = write(table, tmp_path / "past.csv")
    outcome(capsys, "run", past, "-t", "load", "-m", "rls", "--steps", 2, "--time", "when", "--state", state)
    code, _, err = call(capsys, "forecast", state, write(table.slice(50, 2), tmp_path / "future.csv"))
    assert (code, "goes back in time" in err) == (1, True)


KNOWN = [
    {"when": 400, "hour": 16.0, "price": 1.0, "where": "north"},
    {"when": 401, "hour": 17.0, "price": 1.0, "where": "north"},
]


def without(row, name):
    return [{key: value for key, value in each.items() if (number, key) != (row, name)} for number, each in enumerate(KNOWN)]


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
@pytest.mark.parametrize(
    ("change", "policy", "column"),
    [
        (without(1, "hour"), "", "hour"),
        (without(0, "hour"), "skip", "hour"),
        (without(1, "where"), "", "where"),
        (without(0, "when"), "", "when"),
        (without(1, "price"), "zero", None),
        (KNOWN, "", None),
    ],
)
def test_a_value_that_is_known_ahead_must_be_present(capsys, tmp_path, ending, change, policy, column):
    """Otherwise the last value would silently replace it; --missing can choose another rule."""
    frame = series().assign(when=np.arange(400), price=1.0, where="north")
    missing = ["--missing", policy] if policy else []
    state = trained(capsys, tmp_path, frame, "--time", "when", "--known", "hour,price,where", *missing)
    future = write(pa.Table.from_pylist(change, pa.Table.from_pylist(KNOWN).schema), tmp_path / f"future{ending}")
    if ending == ".jsonl":
        future.write_text("".join(json.dumps(row) + "\n" for row in change))
    code, out, err = call(capsys, "forecast", state, future)
    if column is None:
        assert (code, len(out.splitlines())) == (0, 2 if ending == ".jsonl" else 3)
        return
    row = next(number for number, each in enumerate(change) if column not in each)
    place = {".jsonl": f"line {1 + row}", ".csv": f"line {2 + row}", ".parquet": f"row {row}"}[ending]
    assert (code, out) == (1, "")
    assert f"{future}, {place}, column '{column}': the value is missing, but must be known ahead\n" in err


def test_a_text_that_was_missing_before_may_be_missing_again(capsys, tmp_path):
    """A missing text is a category of its own: most days have no holiday."""
    frame = series().assign(holiday=np.where(np.arange(400) % 50, None, "yes"))
    state = trained(capsys, tmp_path, frame, "--known", "hour,holiday")
    (tmp_path / "future.csv").write_text("hour,holiday\n16,\n")
    assert call(capsys, "forecast", state, tmp_path / "future.csv")[0] == 0


@pytest.mark.parametrize("ending", [".jsonl", ".csv"])
def test_a_forecaster_from_python_needs_the_values_known_ahead(capsys, tmp_path, ending):
    frame = series()
    forecaster = dl.Forecaster(dl.RLS(), 3, known=[1, 0])
    forecaster.run(frame[["wind", "hour"]], frame["load"])
    forecaster.save(tmp_path / "m.drift")
    rows = [{"hour": 16.0, "wind": 0.5}, {"hour": 17.0}]
    next_rows = tmp_path / f"next{ending}"
    write(pa.Table.from_pylist(rows), next_rows)
    if ending == ".jsonl":
        next_rows.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, _, err = call(capsys, "forecast", tmp_path / "m.drift", next_rows)
    assert (code, "column 'wind': the value is missing, but must be known ahead" in err) == (1, True)


def timed(numbers, dates):
    return pd.to_datetime(3600 * np.asarray(numbers), unit="s") if dates else np.asarray(numbers)


@pytest.mark.parametrize("dates", [False, True])
@pytest.mark.parametrize(
    ("past", "first", "words"),
    [
        (np.arange(400), 400, ""),
        (np.arange(400), 398, "goes back in time"),
        (np.arange(400), 399, "forecast takes the rows after the last one learned"),
        (np.arange(400), 700, "It is forecast as the next row, though rows were closer together"),
        (np.arange(400) // 2, 199, ""),  # two rows have the same time
        (np.arange(400) + 2 * (np.arange(400) // 5), 560, ""),  # five days out of seven
        (np.arange(400) + 2 * (np.arange(400) // 5), 563, "It is forecast as the next row"),
    ],
)
def test_the_first_row_must_be_the_next_one(capsys, tmp_path, past, first, words, dates):
    frame = series().assign(when=timed(past, dates))
    state = trained(capsys, tmp_path, frame, "--time", "when")
    future = frame[["hour", "wind"]][:2].assign(when=timed([first, first + 1], dates))
    future.to_csv(tmp_path / "future.csv", index=False)
    code, out, err = call(capsys, "forecast", state, tmp_path / "future.csv")
    refused = first <= past[-1] and bool(words)
    assert (code, len(out.splitlines())) == ((1, 0) if refused else (0, 3))
    assert words in err if words else err == ""
    assert err.startswith("driftline forecast: Warning: ") == (bool(words) and not refused)
    assert call(capsys, "forecast", state, tmp_path / "future.csv", "--quiet")[2] == (err if refused else "")


def test_times_of_another_type_are_refused(capsys, tmp_path):
    frame = series().assign(when=timed(np.arange(400), True))
    state, future = trained(capsys, tmp_path, frame, "--time", "when"), tmp_path / "future.parquet"
    zoned = timed([400, 401], True).tz_localize("UTC")
    for when, words in ((zoned, "times with an offset"), ([400, 401], "numbers")):
        frame[["hour", "wind"]][:2].assign(when=when).to_parquet(future)
        code, _, err = call(capsys, "forecast", state, future)
        assert (code, f"column 'when': holds {words}, but the run had times without an offset" in err) == (1, True)


@pytest.mark.parametrize("command", ["forecast", "predict"])
def test_errors_suggest_no_option_that_the_command_lacks(capsys, tmp_path, command):
    steps = ["--steps", 2] if command == "forecast" else []
    series().to_csv(tmp_path / "past.csv", index=False)
    outcome(capsys, "run", tmp_path / "past.csv", "-t", "load", "-m", "rls", "--state", tmp_path / "m.drift", *steps)
    (tmp_path / "next.csv").write_text("hour,wind\n1,abc\n")
    code, _, err = call(capsys, command, tmp_path / "m.drift", tmp_path / "next.csv")
    assert (code, "next.csv, line 2, column 'wind': 'abc' is not a number" in err) == (1, True)
    assert "--" not in err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--known", "hour"], "--known needs --steps"),
        (
            ["--steps", "4", "--delay", "3"],
            "--delay cannot be combined with --steps: if labels come 3 rows late, add 3 to --steps",
        ),
        (["--steps", "4", "--known", "load"], "load is the target"),
        (
            ["--steps", "4", "--known", "hour", "--drop", "hour"],
            "hour is among --known, but --features or --drop",
        ),
        (["--steps", "4", "--known", "hou"], "there is no column 'hou', which --known names. Did you mean hour?"),
        (["--steps", "0"], "greater than or equal to 1"),
    ],
)
def test_conflicting_options_are_refused(capsys, tmp_path, more, words):
    source = tmp_path / "a.csv"
    series(50).to_csv(source, index=False)
    code, _, err = call(capsys, "run", source, "-t", "load", "-m", "rls", *more)
    assert code in (1, 2)
    assert words in " ".join(err.replace("│", " ").split())


def test_a_known_column_that_is_in_no_line_is_refused(capsys, tmp_path):
    source = tmp_path / "a.jsonl"
    source.write_text("".join(f'{{"x": {t}, "y": {t}}}\n' for t in range(50)))
    code, _, err = call(capsys, "run", source, "-t", "y", "-m", "rls", "--steps", 2, "--known", "z")
    assert (code, "there is no column 'z', which --known names." in err) == (1, True)


def test_each_kind_of_model_has_its_own_command(capsys, tmp_path):
    frame = series()
    state = trained(capsys, tmp_path, frame)
    frame[:2].to_csv(tmp_path / "b.csv", index=False)
    code, _, err = call(capsys, "predict", state, tmp_path / "b.csv")
    assert (code, "holds a forecaster of 4 steps; use driftline forecast" in err) == (1, True)
    plain = tmp_path / "plain.drift"
    outcome(capsys, "run", tmp_path / "past.csv", "-t", "load", "-m", "rls", "--state", plain)
    code, _, err = call(capsys, "forecast", plain, tmp_path / "b.csv")
    assert (code, "which is not a forecaster; driftline run --steps makes one" in err) == (1, True)
    code, out, _ = call(capsys, "inspect", state, "--json")
    assert (code, json.loads(out)["steps"]) == (0, STEPS)
    assert "4 steps ahead" in call(capsys, "inspect", state)[1]


@pytest.mark.parametrize("known", [["hour"], [1]])
def test_a_forecaster_saved_from_python_finds_its_columns_by_name(capsys, tmp_path, known):
    frame = series()
    forecaster = dl.Forecaster(dl.RLS(), 3, known=known)
    forecaster.run(frame[["wind", "hour"]], frame["load"])
    forecaster.save(tmp_path / "m.drift")
    frame[["hour"]][:3].to_csv(tmp_path / "next.csv", index=False)
    _, out, _ = call(capsys, "forecast", tmp_path / "m.drift", tmp_path / "next.csv")
    predicted = [float(line.split(",")[2]) for line in out.splitlines()[1:]]
    np.testing.assert_allclose(predicted, forecaster.forecast(frame[["hour"]][:3]).predictions, rtol=1e-12)


def sales(rows, seed=4):
    """Daily sales by holiday and town, whose values the calendar knows, and the wind, which it does not."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"day": pd.date_range("2026-01-01", periods=rows, freq="D"), "town": rng.choice(["Rome", "Oslo"], rows)}
    )
    frame["wind"] = rng.normal(size=rows)
    weekend = np.arange(rows) % 7 >= 5
    return frame, 50 + 9 * weekend + 4 * (frame["town"] == "Oslo").to_numpy() + rng.normal(scale=0.1, size=rows)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("known", [None, ["day", "town"], ["town"], []])
def test_a_forecaster_that_learned_text_and_times_in_python_forecasts_files(capsys, tmp_path, known, ending):
    frame, y = sales(123)
    model = dl.Forecaster(dl.Ridge(), steps=3, known=known)
    model.run(frame[:120], y[:120])
    model.save(tmp_path / "m")
    future = frame[120:] if known is None else frame.loc[120:, known] if known else frame.loc[120:, ["wind"]]
    future = future.assign(town=["Oslo", "Bern", "Rome"]) if "town" in future else future
    source = write(pa.Table.from_pandas(future, preserve_index=False), tmp_path / f"future{ending}")
    code, _, err = call(capsys, "forecast", tmp_path / "m", source, "--out", tmp_path / "out.parquet", "--level", "0.8")
    assert (code, "error" in err) == (0, False)
    expected = model.forecast(3 if known == [] else future, level=0.8)
    found = predictions(tmp_path / "out.parquet")
    for name, values in (("prediction", expected.predictions), ("lower", expected.lower), ("upper", expected.upper)):
        np.testing.assert_allclose(found[name].to_numpy(), values, rtol=1e-12)
    if known:
        lacking = write(
            pa.Table.from_pandas(future.drop(columns="town").assign(other=1.0), preserve_index=False),
            tmp_path / f"b{ending}",
        )
        code, out, err = call(capsys, "forecast", tmp_path / "m", lacking)
        assert (code, out, "'town'" in err) == (1, "", True)


def test_a_forecast_is_drawn(capsys, tmp_path):
    source, state, picture = tmp_path / "a.csv", tmp_path / "m.drift", tmp_path / "fan.png"
    series(60).drop(columns=["hour", "wind"]).to_csv(source, index=False)
    call(capsys, "run", source, "-t", "load", "--steps", STEPS, "--state", state, "--quiet")
    call(capsys, "forecast", state, "--plot", picture, "--out", tmp_path / "out.csv", "--quiet")
    assert picture.read_bytes().startswith(b"\x89PNG")
