"""``run --id``: labels in rows or in a separate file, compared with a plain loop over a Pending."""

import functools

import numpy as np
import pandas as pd
import pytest

import driftline as dl
from driftline.cli import running
from tests.test_cli.calling import call, outcome, predictions
from tests.test_cli.killing import killer
from tests.test_cli.test_resume import StopAt, parts


def orders(rows=300, seed=0):
    """Orders with a number and a text as features. Each is delivered some hours later, in another order."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"order": [f"o {t}" for t in range(rows)], "hour": np.arange(rows, dtype=float)})
    frame["items"] = rng.integers(1, 9, size=rows).astype(float)
    frame["where"] = [("north", "south, far", "east")[min(int(rng.integers(0, 3)), t // 40)] for t in range(rows)]
    frame["days"] = 3 * frame["items"] + 5 * (frame["where"] == "east") + rng.normal(size=rows)
    frame["came"] = frame["hour"] + rng.integers(0, 30, size=rows)
    return frame


def in_one_file(frame):
    """Orders and deliveries as rows of one file, sorted by time; at the same time, orders come first."""
    asked = frame.assign(days=np.nan, at=frame["hour"], kind=0)
    told = frame.assign(items=np.nan, where=None, at=frame["came"], kind=1)
    rows = pd.concat([asked, told]).sort_values(["at", "kind"], kind="stable")
    return rows[["order", "at", "items", "where", "days"]].reset_index(drop=True)


def plainly(frame, model, level, before=np.inf):
    """Passes the same events to a Pending by hand, except labels that do not arrive before the time ``before``."""
    pending, predicted, told, labels, known_at = dl.Pending(model), [], [], [], []
    for row in in_one_file(frame).itertuples():
        if row.at >= before and not np.isnan(row.days):
            continue
        if np.isnan(row.days):
            x = {"items": row.items, "where": row.where}
            ends = pending.predict_interval(row.order, x, level)
            predicted.append((row.order, pending.predict_one(row.order, x), *ends))
            known_at.append(len(labels))
        else:
            asked = next(number for number, s in enumerate(predicted) if s[0] == row.order)
            known = labels[: known_at[asked]]
            baselines = (known[-1], np.mean(known)) if known else (np.nan, np.nan)
            told.append((row.days, *predicted[asked][1:], pending._tickets[row.order].labels, *baselines))
            labels.append(row.days)
            pending.learn_one(row.order, row.days)
    return pending, pd.DataFrame(predicted, columns=["id", "prediction", "lower", "upper"]), np.array(told)


def files(tmp_path, frame, separate):
    if separate:
        frame[["order", "hour", "items", "where"]].rename(columns={"hour": "at"}).to_csv(tmp_path / "a.csv", index=False)
        told = frame.sort_values("came", kind="stable")[["order", "came", "days"]].rename(columns={"came": "at"})
        told.to_csv(tmp_path / "labels.csv", index=False)
        return [tmp_path / "a.csv", "--labels", tmp_path / "labels.csv"]
    in_one_file(frame).to_csv(tmp_path / "a.csv", index=False)
    return [tmp_path / "a.csv"]


OPTIONS = ["-t", "days", "--id", "order", "--time", "at", "--level", "0.8"]


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("name", ["rls", "auto"])
def test_labels_by_id_are_learned_as_in_a_plain_loop(capsys, tmp_path, name, separate):
    frame, out, state = orders(), tmp_path / "out.csv", tmp_path / "m.drift"
    found = outcome(capsys, "run", *files(tmp_path, frame, separate), *OPTIONS, "-m", name, "--out", out, "--state", state)
    model = {"rls": dl.RLS, "auto": dl.Auto}[name](missing="mean")
    before = frame["hour"].iloc[-1] if separate else np.inf  # labels in a separate file wait for a later row
    pending, expected, told = plainly(frame, model, 0.8, before)
    table = pd.read_csv(out)
    assert table["id"].tolist() == expected["id"].tolist()
    for column in ("prediction", "lower", "upper"):
        np.testing.assert_allclose(table[column], expected[column], rtol=1e-12)
    assert table["time"].tolist() == frame["hour"].tolist()
    y, predicted, lower, upper, labels, last, mean = told.T
    counted = labels > 0
    judged = counted & np.isfinite(lower)
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((y - predicted)[counted] ** 2)))
    assert found["last_value_rmse"] == pytest.approx(np.sqrt(np.mean((y - last)[counted] ** 2)))
    assert found["running_mean_rmse"] == pytest.approx(np.sqrt(np.mean((y - mean)[counted] ** 2)))
    assert found["coverage"] == pytest.approx(np.mean(((lower <= y) & (y <= upper))[judged]))
    assert found["labels_learned"] == len(told) == pending.learner.n_seen_ == dl.load(state).learner.n_seen_
    assert found["rows_waiting"] == len(pending) == (sum(frame["came"] >= 299) if separate else 0)
    assert found["labels_held_back"] == len(pending)
    assert found["rows_scored"] == counted.sum()
    assert found["model"] == repr(pending.learner)


def test_rows_whose_labels_have_not_arrived_wait_in_the_state(capsys, tmp_path):
    """Labels added later reach rows that an earlier process predicted."""
    frame, state, out = orders(100), tmp_path / "m.drift", tmp_path / "out.jsonl"
    frame["came"] = np.minimum(frame["came"], 98)
    arguments = ["run", *files(tmp_path, frame, True), *OPTIONS, "-m", "rls", "--state", state, "--resume", "--out", out]
    lines = (tmp_path / "labels.csv").read_text().splitlines(keepends=True)
    (tmp_path / "labels.csv").write_text("".join(lines[:41]))
    first = outcome(capsys, *arguments)
    assert (first["labels_learned"], first["rows_waiting"]) == (40, 60)
    assert len(dl.load(state)) == 60
    assert "60 rows are waiting for their labels" in call(capsys, "inspect", state)[1]
    written = out.read_bytes()
    (tmp_path / "labels.csv").write_text("".join(lines))
    code, text, _ = call(capsys, *arguments)
    assert (code, "100 labels learned, 0 rows still waiting for their labels" in text) == (0, True)
    assert out.read_bytes() == written
    assert dl.load(state).learner.n_seen_ == 100
    again = outcome(capsys, *arguments)
    assert (again["labels_learned"], again["rmse"] is not None) == (100, True)
    code, predicted, _ = call(capsys, "predict", state, tmp_path / "a.csv")
    assert (code, len(predicted.splitlines())) == (0, 101)


@pytest.mark.parametrize("separate", [False, True])
def test_a_stopped_run_resumes_with_the_same_bits(capsys, tmp_path, monkeypatch, separate):
    frame = orders()
    arguments = ["run", *files(tmp_path, frame, separate), *OPTIONS, "-m", "auto", "--save-every", "41"]
    (tmp_path / "whole").mkdir()
    outcome(capsys, *arguments, "--out", tmp_path / "whole" / "out.csv", "--state", tmp_path / "whole" / "state")
    more = ["--out", tmp_path / "out.csv", "--state", tmp_path / "state", "--resume"]
    for stop in (3, 90, 91, 200):
        with monkeypatch.context() as patch:
            StopAt(patch, stop)
            outcome(capsys, *arguments, *more)
    outcome(capsys, *arguments, *more)
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole" / "out.csv").read_bytes()
    (model, extra), (expected, kept) = parts(tmp_path / "state"), parts(tmp_path / "whole" / "state")
    assert model == expected
    assert extra.plain == kept.plain


@pytest.fixture(scope="module")
def kill():
    with killer() as function:
        yield function


@pytest.mark.parametrize("separate", [False, True])
def test_a_killed_run_resumes_with_the_same_bits(kill, tmp_path, separate):
    source = [str(part) for part in files(tmp_path, orders(), separate)]
    (tmp_path / "whole").mkdir()
    arguments = ["run", *source, *OPTIONS, "-m", "rls", "--save-every", "20", "--quiet"]
    whole, killed = (
        [*arguments, "--out", str(folder / "out.csv"), "--state", str(folder / "state")]
        for folder in (tmp_path / "whole", tmp_path)
    )
    assert kill(1, 12, whole, [*killed, "--resume"]) > 0
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole" / "out.csv").read_bytes()
    assert parts(tmp_path / "state")[0] == parts(tmp_path / "whole" / "state")[0]


def test_a_row_with_features_and_label_is_predicted_and_learned_at_once(capsys, tmp_path):
    frame = orders(60)
    frame[["order", "items", "days"]].to_csv(tmp_path / "a.csv", index=False)
    out = tmp_path / "out.parquet"
    outcome(capsys, "run", tmp_path / "a.csv", "-t", "days", "--id", "order", "-m", "rls", "--out", out)
    run = dl.RLS().run(frame[["items"]].to_numpy(), frame["days"].to_numpy())
    np.testing.assert_allclose(predictions(out)["prediction"].to_numpy(), run.predictions, rtol=1e-9)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_a_block_with_only_labels_is_learned(capsys, tmp_path, ending):
    source, out, state = tmp_path / "a.csv", tmp_path / f"out{ending}", tmp_path / "m.drift"
    arguments = ["run", source, "-t", "y", "--id", "id", "-m", "rls", "--out", out, "--state", state, "--resume"]
    pieces = ["id,x,where,y\nA,1,here,\nB,2,there,\n", "A,,,3\nB,,,4\n", "C,5,here,\n"]
    for number in range(1, 4):
        source.write_text("".join(pieces[:number]))
        found = outcome(capsys, *arguments)
    assert (found["labels_learned"], found["rows_waiting"], found["resumed_at"]) == (2, 1, 4)
    model = dl.RLS()
    rows = [{"x": 1.0, "where=here": 1.0}, {"x": 2.0, "where=there": 1.0}, {"x": 5.0, "where=here": 1.0}]
    tickets = [model.ask(row) for row in rows[:2]]
    for ticket, label in zip(tickets, (3.0, 4.0), strict=True):
        model.tell(ticket, label)
    table = predictions(out)
    assert table["id"].to_pylist() == ["A", "B", "C"]
    np.testing.assert_allclose(table["prediction"].to_numpy(), [0.0, 0.0, model.predict_one(rows[2])], rtol=1e-12)


def test_all_rows_first_and_all_labels_last_are_learned_in_small_blocks(capsys, tmp_path):
    rows = [f"{t},{t % 7}," for t in range(120)]
    labels = [f"{t},,{3 * (t % 7)}" for t in range(120)]
    (tmp_path / "a.csv").write_text("\n".join(["id,x,y", *rows, *labels]) + "\n")
    arguments = ["-t", "y", "--id", "id", "-m", "rls", "--state", tmp_path / "m.drift", "--save-every", 50]
    found = outcome(capsys, "run", tmp_path / "a.csv", *arguments)
    assert (found["labels_learned"], found["rows_waiting"]) == (120, 0)


def test_rows_added_later_are_not_predicted_with_labels_from_their_future(capsys, tmp_path):
    """Resuming day by day equals one run: labels later than the last row wait until a later row arrives."""
    frame, out, state = orders(200), tmp_path / "out.csv", tmp_path / "m.drift"
    arguments = ["run", *files(tmp_path, frame, True), *OPTIONS, "-m", "rls"]
    whole = outcome(capsys, *arguments, "--out", tmp_path / "whole.csv")
    lines = (tmp_path / "a.csv").read_text().splitlines(keepends=True)
    for rows in (70, 71, 200):
        (tmp_path / "a.csv").write_text("".join(lines[: 1 + rows]))
        found = outcome(capsys, *arguments, "--out", out, "--state", state, "--resume")
        assert found["labels_learned"] == sum(frame["came"] < rows - 1)
        assert found["labels_held_back"] == sum(frame["came"] >= rows - 1)
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()
    for figure in ("rmse", "coverage", "last_value_rmse", "running_mean_rmse"):
        assert found[figure] == whole[figure]
    held = f"{found['labels_held_back']} labels not earlier than the last row were held back until a later row arrives"
    text = call(capsys, *arguments)[1]
    assert held in text
    assert "below the last value's" in text


def test_labels_added_later_must_not_go_back_in_time(capsys, tmp_path):
    (tmp_path / "a.csv").write_text(LATER)
    labels = tmp_path / "labels.csv"
    labels.write_text("id,at,y\na,5,1\n")
    arguments = [tmp_path / "a.csv", "-t", "y", "--id", "id", "--time", "at", "-m", "rls", "--labels", labels]
    outcome(capsys, "run", *arguments, "--state", tmp_path / "m.drift")
    labels.write_text("id,at,y\na,5,1\nb,4,1\n")
    code, _, err = call(capsys, "run", *arguments, "--state", tmp_path / "m.drift", "--resume")
    assert (code, "labels.csv, line 3: goes back in time" in err) == (1, True)


def test_dropped_rows_are_forgotten_by_the_baselines_too(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(running, "Pending", functools.partial(dl.Pending, most=2))
    rows = ["a,1,", "b,2,", "c,3,", "d,4,", "c,,6", "d,,8", "e,5,", "e,,10"]
    (tmp_path / "a.csv").write_text("\n".join(["id,x,y", *rows]) + "\n")
    arguments = [tmp_path / "a.csv", "-t", "y", "--id", "id", "-m", "rls", "--state", tmp_path / "m.drift"]
    found = outcome(capsys, "run", *arguments, "--save-every", 1)
    assert (found["labels_learned"], found["rows_waiting"], found["rows_scored"]) == (3, 0, 1)
    assert (found["last_value_rmse"], found["running_mean_rmse"]) == (2.0, 3.0)
    assert "the 2 rows that waited longest were dropped" in call(capsys, "run", *arguments)[1]


ROWS = "id,at,x,y\na,1,1,\nb,2,2,\n"
LATER = ROWS + "c,9,2,\n"
DATED = "id,at,x,y\na,2026-01-01 00:00,1,\nb,2026-01-02 00:00,2,\n"


@pytest.mark.parametrize(
    ("rows", "labels", "words"),
    [
        (ROWS + "c,3,,5\n", None, "a.csv, line 4: no row with the id 'c' is waiting"),
        (ROWS + "a,3,,5\na,4,,6\n", None, "a.csv, line 5: the id 'a' already has its label"),
        (ROWS + "a,3,7,\n", None, "a.csv, line 4: the id 'a' belongs to an earlier row that waits for its label"),
        (ROWS + "a,3,,5\na,4,7,\n", None, "a.csv, line 5: the id 'a' already has its label"),
        (ROWS + ",3,7,\n", None, "a.csv, line 4, column 'id': the id is missing"),
        (LATER, "id,at,y\na,3,1\nz,3,1\n", "labels.csv, line 3: no row with the id 'z' is waiting"),
        (LATER, "id,at,y\na,3,1\na,3,1\n", "labels.csv, line 3: the id 'a' already has its label"),
        (ROWS, "id,at,y\na,3,\n", "labels.csv, line 2: has no label"),
        (ROWS, "id,at,y\na,3,1\nb,2,1\n", "labels.csv, line 3: goes back in time"),
        (ROWS, "id,at,y\na,3,1\nb,,1\n", "labels.csv, line 3, column 'at': the time is missing"),
        (
            ROWS,
            "id,at,y\na,2026-01-01,1\n",
            "labels.csv, column 'at': holds times without an offset, but the rows have",
        ),
        (DATED, "id,at,y\na,7,1\n", "labels.csv, column 'at': holds numbers, but the rows have times without an offset"),
        (DATED, "id,at,y\na,2026-01-03T00:00:00Z,1\n", "labels.csv, column 'at': holds times with an offset, but the rows"),
        (
            ROWS,
            "id,y\na,3\n",
            "labels.csv: there is no column 'at'. There are: id, y. A label file has the id, the target and the time",
        ),
        (ROWS + "c,1,7,\n", "id,at,y\na,3,1\n", "a.csv, line 4: goes back in time"),
    ],
)
def test_errors_about_ids_and_labels_name_the_line(capsys, tmp_path, rows, labels, words):
    (tmp_path / "a.csv").write_text(rows)
    more = []
    if labels is not None:
        (tmp_path / "labels.csv").write_text(labels)
        more = ["--labels", tmp_path / "labels.csv"]
    arguments = [tmp_path / "a.csv", "-t", "y", "--id", "id", "--time", "at", "-m", "rls", *more]
    code, out, err = call(capsys, "run", *arguments)
    assert (code, out) == (1, "")
    assert words in err
    assert len(err.splitlines()) == 1
    assert err.count(str(tmp_path)) == 1  # one file is named


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--labels", "b.csv", "--time", "at"], "--labels needs --id"),
        (["--labels", "b.csv", "--id", "id"], "--labels needs --time, a column of both files"),
        (["--id", "id", "--delay", "3"], "--delay cannot be combined with --id"),
        (["--id", "id", "--steps", "3"], "--steps cannot be combined with --id"),
        (["--id", "y"], "y is the id: it cannot be the target"),
    ],
)
def test_conflicting_options_are_refused(capsys, tmp_path, more, words):
    (tmp_path / "a.csv").write_text(ROWS)
    code, _, err = call(capsys, "run", tmp_path / "a.csv", "-t", "y", "-m", "rls", *more)
    assert code == 2
    assert words in " ".join(err.split())


def test_compare_refuses_labels_in_separate_rows(capsys, tmp_path):
    (tmp_path / "a.csv").write_text(ROWS)
    code, _, err = call(capsys, "compare", tmp_path / "a.csv", "-t", "y", "--id", "id")
    assert (code, "compare needs each label in its own row" in " ".join(err.split())) == (2, True)


def test_labels_of_a_resumed_run_must_have_times_like_those_of_the_rows(capsys, tmp_path):
    """Even if the resumed run has no new rows to compare them with."""
    (tmp_path / "a.csv").write_text(LATER)
    labels = tmp_path / "labels.csv"
    labels.write_text("id,at,y\n")
    arguments = [tmp_path / "a.csv", "-t", "y", "--id", "id", "--time", "at", "-m", "rls", "--labels", labels]
    outcome(capsys, "run", *arguments, "--state", tmp_path / "m.drift")
    labels.write_text("id,at,y\na,2024-05-01,1\n")
    code, _, err = call(capsys, "run", *arguments, "--state", tmp_path / "m.drift", "--resume")
    assert (code, "these cannot be compared" in err) == (1, True)
