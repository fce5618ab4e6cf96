"""``predict``: which rows it accepts, how far ahead they are, and its warnings about that."""

import numpy as np
import pandas as pd
import pytest

import driftline as dl
from tests.test_cli.calling import call, outcome
from tests.test_cli.test_forecast import series, timed
from tests.test_cli.test_matching import OPTIONS, files, orders

APART = "several rows are predicted without the labels in between, however far ahead they are"
NARROW = "the intervals are as wide as for the next row, but the target may have drifted by a later one"
AHEAD = "driftline run --steps{added} and driftline forecast"


def trained(capsys, tmp_path, frame, *more):
    past, state = tmp_path / "past.csv", tmp_path / "m.drift"
    frame.to_csv(past, index=False)
    outcome(capsys, "run", past, "-t", "load", "--state", state, *more)
    return state


def cells(text):
    return [line.split(",") for line in text.splitlines()[1:]]


@pytest.mark.parametrize("delay", [0, 5])
def test_one_row_is_the_next_and_several_have_no_labels_in_between(capsys, tmp_path, delay):
    frame = series()
    state = trained(capsys, tmp_path, frame[:390], "--delay", delay)
    frame[390:].to_csv(tmp_path / "future.csv", index=False)
    code, out, err = call(capsys, "predict", state, tmp_path / "future.csv", "--level", 0.8)
    ways = AHEAD.format(added=", with 5 added for the late labels," if delay else "")
    evaluating = "to evaluate rows that have labels, driftline run"
    assert (code, err) == (0, f"driftline predict: Warning: {APART}. For the next few rows use {ways}; {evaluating}\n")
    model, X = dl.load(state), frame[["hour", "wind"]][390:].to_numpy()
    wanted = np.column_stack([model.predict(X), *model.predict_intervals(X, 0.8)])
    np.testing.assert_allclose(np.array([row[2:] for row in cells(out)], dtype=float), wanted, rtol=1e-12)
    assert np.isfinite(wanted).all()
    frame[391:392].to_csv(tmp_path / "one.csv", index=False)
    ((_, _, *found),) = cells(call(capsys, "predict", state, tmp_path / "one.csv", "--level", 0.8)[1])
    ticket = model.ask(X[1], delay=delay)
    np.testing.assert_allclose(np.array(found, dtype=float), [ticket.prediction, *ticket.interval(0.8)], rtol=1e-12)
    assert abs(ticket.prediction - wanted[1, 0]) > 1e-6
    assert call(capsys, "predict", state, tmp_path / "future.csv", "--level", 0.8, "--quiet")[2] == ""


def test_rows_without_a_label_do_not_change_how_far_ahead_the_first_row_is(capsys, tmp_path):
    """The delay counts rows, whether or not the labels in between are missing."""
    frame = series()
    frame.loc[[380, 382, 384, 385, 386], "load"] = np.nan
    state = trained(capsys, tmp_path, frame[:390], "--delay", 5)
    frame[390:391].to_csv(tmp_path / "future.csv", index=False)
    predicted = cells(call(capsys, "predict", state, tmp_path / "future.csv")[1])[0][2]
    assert float(predicted) == pytest.approx(
        dl.load(state).ask(frame[["hour", "wind"]].to_numpy()[390], 5).prediction, rel=1e-12
    )


@pytest.mark.parametrize(
    ("more", "level", "words"),
    [
        ([], None, f"{APART}. For the next few rows use {AHEAD.format(added='')}; to evaluate"),
        (["-m", "rls"], None, None),  # its predictions do not depend on the order of the rows
        (["-m", "rls"], 0.9, f"{NARROW}. For"),
        (
            ["--task", "classify"],
            None,
            f"{APART}. To evaluate rows that have labels, use driftline run",
        ),
        (["--task", "classify", "-m", "rls"], None, None),
        (["--key", "meter"], None, "some keys have several rows; each is predicted as the next row of its key, which"),
        (["--key", "meter", "-m", "rls"], None, None),
        (["--key", "meter", "-m", "rls", "--level", 0.9], 0.9, "some keys have several rows"),
    ],
)
def test_a_warning_says_that_rows_further_ahead_are_worse_if_they_are(capsys, tmp_path, more, level, words):
    frame = series().assign(meter=np.arange(400) % 3)
    frame["load"] = frame["load"].round() if "classify" in more else frame["load"]
    state = trained(capsys, tmp_path, frame[:380], *more)
    bounds = [] if level is None else ["--level", level]
    for rows in (1, 5):
        frame[380 : 380 + rows].to_csv(tmp_path / "future.csv", index=False)
        code, out, err = call(capsys, "predict", state, tmp_path / "future.csv", *bounds)
        assert (code, len(out.splitlines())) == (0, 1 + rows)
        if rows == 1 or words is None:
            assert err == ""
        else:
            assert err.startswith(f"driftline predict: Warning: {words}")
            assert len(err.splitlines()) == 1


@pytest.mark.parametrize("dates", [False, True])
@pytest.mark.parametrize(
    ("past", "times", "row"),
    [
        (np.arange(400), [400, 401], None),
        (np.arange(400), [500, 450], None),
        (np.arange(400), [0, 1], 0),
        (np.arange(400), [400, 399], 1),
        (np.arange(400) // 2, [199, 200], None),  # two rows have the same time
    ],
)
def test_rows_that_were_already_learned_are_refused(capsys, tmp_path, past, times, row, dates):
    frame = series().assign(when=timed(past, dates))
    state = trained(capsys, tmp_path, frame, "-m", "rls", "--time", "when")
    future, out = tmp_path / "future.csv", tmp_path / "out.csv"
    frame[["hour", "wind"]][:2].assign(when=timed(times, dates)).to_csv(future, index=False)
    code, _, err = call(capsys, "predict", state, future, "--out", out)
    assert (code, out.exists()) == ((0, True) if row is None else (1, False))
    if row is None:
        assert err == ""
    else:
        shown, last = (str(timed([time], True)[0]) if dates else str(time) for time in (times[row], past[-1]))
        assert err == (
            f"driftline predict: {future}, line {2 + row}: the row is at {shown}, the last one learned at {last}: predict "
            "takes the rows after the last one learned; run --out has the predictions of earlier rows\n"
        )


def test_times_of_another_type_are_refused(capsys, tmp_path):
    frame = series().assign(when=timed(np.arange(400), True))
    state, future = trained(capsys, tmp_path, frame, "-m", "rls", "--time", "when"), tmp_path / "future.parquet"
    frame[["hour", "wind"]][:2].assign(when=timed([400, 401], True).tz_localize("UTC")).to_parquet(future)
    code, _, err = call(capsys, "predict", state, future)
    words = "column 'when': holds times with an offset, but the run had times without an offset"
    assert (code, words in err) == (1, True)


@pytest.mark.parametrize("name", ["rls", "auto"])
@pytest.mark.parametrize("separate", [False, True])
def test_rows_with_ids_are_independent(capsys, tmp_path, name, separate):
    """Each row has its id, and the interval of a row whose label is as late as usual; order and times do not matter."""
    frame, state = orders(), tmp_path / "m.drift"
    outcome(capsys, "run", *files(tmp_path, frame, separate), *OPTIONS, "-m", name, "--state", state)
    fresh = pd.DataFrame(
        {"order": ["z1", "z2", "z3"], "at": [5, 900, 4], "items": [1, 4, 2], "where": ["north", "east", "west"]}
    )
    fresh.to_csv(tmp_path / "new.csv", index=False)
    code, out, err = call(capsys, "predict", state, tmp_path / "new.csv", "--level", 0.8)
    assert (code, err) == (0, "")
    (tmp_path / "out.csv").write_text(out)
    table = pd.read_csv(tmp_path / "out.csv")
    assert list(table.columns) == ["row", "time", "id", "prediction", "lower", "upper"]
    assert table["id"].tolist() == ["z1", "z2", "z3"]
    assert table["time"].tolist() == [5, 900, 4]
    pending = dl.load(state)
    for predicted, row in zip(table.itertuples(), fresh.itertuples(), strict=True):
        x = {"items": row.items, "where": row.where}
        ticket = pending.learner.ask(x)
        assert predicted.prediction == pytest.approx(ticket.prediction, rel=1e-12)
        assert (predicted.lower, predicted.upper) == pytest.approx(ticket.interval(0.8), rel=1e-12)
    assert np.isfinite(table["upper"]).all()


def test_rows_that_hold_only_a_label_are_not_predicted(capsys, tmp_path):
    """As in a run with ids."""
    state, new = tmp_path / "m.drift", tmp_path / "new.csv"
    outcome(capsys, "run", *files(tmp_path, orders(), False), *OPTIONS, "-m", "rls", "--state", state)
    new.write_text("order,at,items,where,days\nz1,500,3,a,\nA1,501,,,4\nz2,502,1,east,\n")
    code, out, _ = call(capsys, "predict", state, new)
    assert (code, [[row[0], row[3].strip('"')] for row in cells(out)]) == (0, [["0", "z1"], ["2", "z2"]])
    new.write_text("at,items,where\n500,3,a\n")
    code, _, err = call(capsys, "predict", state, new)
    assert (code, "there is no column 'order'" in err) == (1, True)
