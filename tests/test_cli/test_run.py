import html
import json
import math
import re
import shlex
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import driftline as dl
from tests.cases import for_each
from tests.streams import looped
from tests.test_cli.calling import call, outcome, predictions
from tests.test_cli.tables import as_csv, as_json_lines, mixed, write

FORMATS = ["a.csv", "a.csv.gz", "a.parquet", "a.arrow", "a.feather", "a.arrows", "a.jsonl"]


def plainly(table, model, delay=0, level=None):
    """Predictions and intervals of a loop over the rows as mappings, with labels that come late."""
    waiting, out = [], []
    for row in table.to_pylist():
        y = row.pop("load")
        ticket = model.ask(row, delay=delay)
        waiting.append((ticket, math.nan if y is None else y))
        if len(waiting) > delay:
            model.tell(*waiting.pop(0))
        out.append((ticket.prediction, *(ticket.interval(level) if level else ())))
    return np.array(out)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("delay", [0, 3])
def test_every_format_gives_the_predictions_of_a_plain_loop(capsys, tmp_path, name, delay):
    table = mixed()
    out = tmp_path / "out.parquet"
    arguments = [write(table, tmp_path / name), "-t", "load", "-m", "kalman", "--out", out]
    assert outcome(capsys, "run", *arguments, "--delay", delay, "--level", 0.8)["rows"] == 600
    expected = plainly(table, dl.Kalman(missing="mean"), delay=delay, level=0.8)
    found = predictions(out)
    for column, values in zip(("prediction", "lower", "upper"), expected.T, strict=True):
        np.testing.assert_allclose(found[column].to_numpy(), values, rtol=1e-9)
    assert found["row"].to_pylist() == list(range(600))
    assert found["target"].equals(table["load"])


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_every_output_holds_the_same_numbers(capsys, tmp_path, ending):
    source = write(mixed(), tmp_path / "a.csv")
    out = tmp_path / f"out.{ending}"
    outcome(capsys, "run", source, "-t", "load", "-m", "rls", "--time", "when", "--out", out)
    expected = tmp_path / "expected.csv"
    outcome(capsys, "run", source, "-t", "load", "-m", "rls", "--time", "when", "--out", expected)
    found, wanted = predictions(out), predictions(expected)
    assert found.column_names == ["row", "time", "target", "prediction"]
    for name in ("row", "target", "prediction"):
        assert found[name].to_pylist() == wanted[name].to_pylist()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({"a.csv", "expected.csv", out.name})


def test_the_scores_follow_from_the_predictions(capsys, tmp_path):
    source, out = write(mixed(), tmp_path / "a.parquet"), tmp_path / "out.parquet"
    found = outcome(capsys, "run", source, "-t", "load", "--out", out, "--level", 0.9, "--delay", 2)
    table = predictions(out).to_pandas()
    late = table.target.shift(3)
    known = table.dropna()
    known = known[late.ffill().notna()[known.index]]  # no row counts before the first label is known
    assert found["rows_scored"] == len(known)
    assert found["rmse"] == pytest.approx(((known.target - known.prediction) ** 2).mean() ** 0.5)
    assert found["mae"] == pytest.approx((known.target - known.prediction).abs().mean())
    assert found["r2"] == pytest.approx(
        1 - ((known.target - known.prediction) ** 2).sum() / ((known.target - known.target.mean()) ** 2).sum()
    )
    last, mean = late.ffill()[known.index], late.expanding().mean().ffill()[known.index]
    assert found["last_value_rmse"] == pytest.approx(((known.target - last) ** 2).mean() ** 0.5)
    assert found["running_mean_rmse"] == pytest.approx(((known.target - mean) ** 2).mean() ** 0.5)
    judged = known[np.isfinite(known.lower) & np.isfinite(known.upper)]
    assert 0 < len(judged) < len(known)
    inside = (judged.lower <= judged.target) & (judged.target <= judged.upper)
    assert found["coverage"] == pytest.approx(inside.mean())


def test_auto_is_the_default_and_its_explanation_is_in_the_summary(capsys, tmp_path):
    state = tmp_path / "state"
    code, out, err = call(capsys, "run", write(mixed(), tmp_path / "a.csv"), "--target", "load", "--state", state)
    assert (code, err) == (0, "")
    assert dl.load(state).explain() in out
    assert "% below the last value's" in out


@pytest.mark.parametrize("encode", [as_csv, as_json_lines])
def test_a_pipe_gives_the_same_predictions_as_the_file(capsys, tmp_path, encode):
    table = mixed(200)
    expected = tmp_path / "expected.csv"
    outcome(capsys, "run", write(table, tmp_path / "a.parquet"), "-t", "load", "-m", "rls", "--out", expected)
    command = [sys.executable, "-c", "from driftline.cli import main; main()", "run", "-", "-t", "load", "-m", "rls"]
    done = subprocess.run([*command, "--out", "-"], input=encode(table), capture_output=True, check=True)
    if encode is as_csv:
        assert done.stdout == expected.read_bytes()
    else:
        found = [json.loads(line)["prediction"] for line in done.stdout.splitlines()]
        assert found == predictions(expected)["prediction"].to_pylist()
    assert b"200 rows" in done.stderr


def test_a_target_alone_is_enough(capsys, tmp_path):
    y = np.cumsum(np.random.default_rng(0).normal(size=300)) + 50
    source = write(pa.table({"price": y}), tmp_path / "a.csv")
    found = outcome(capsys, "run", source, "-t", "price", "--out", tmp_path / "out.csv")
    assert found["features"] == []
    expected = looped(dl.Auto(), [{}] * len(y), y)
    np.testing.assert_allclose(predictions(tmp_path / "out.csv")["prediction"].to_numpy(), expected, rtol=1e-9)


def test_features_and_drop_choose_columns_and_set_chooses_parameters(capsys, tmp_path):
    source = write(mixed(), tmp_path / "a.csv")
    found = outcome(capsys, "run", source, "-t", "load", "--features", "wind,on", "-m", "rls", "--set", "forgetting=0.9")
    assert found["features"] == ["wind", "on", "wind is missing"]
    assert "forgetting=0.9" in found["model"]
    found = outcome(capsys, "run", source, "-t", "load", "--drop", "when,where", "--drop", "one", "-m", "rls")
    assert found["features"] == ["wind", "on", "wind is missing"]


@for_each(
    "arguments, code, words",
    [
        (["-t", "lod"], 1, "there is no column 'lod'. Did you mean load?"),
        (["-t", "load", "--drop", "wnd"], 1, "there is no column 'wnd'. Did you mean wind?"),
        (["-t", "load", "-m", "kalmann"], 2, "there is no model 'kalmann'. Did you mean kalman?"),
        (
            ["-t", "load", "-m", "classifier"],
            2,
            "classifier is not a regressor, and the command line runs only regressors",
        ),
        (["-t", "load", "-m", "Classifier"], 2, "Use driftline.Classifier from Python"),
        (
            ["-t", "load", "-m", "clasifier"],
            2,
            "there is no model 'clasifier'. Did you mean classifier? classifier is not a regressor",
        ),
        (["-t", "load", "-m", "forest"], 2, "driftline models lists them"),
        (["-t", "load", "-m", "rls", "-s", "forgeting=0.9"], 2, "Did you mean forgetting?"),
        (["-t", "load", "-m", "rls", "-s", "forgetting=1.2"], 2, "forgetting must be in (0, 1]"),
        (["-t", "load", "-m", "rls", "-s", "forgetting"], 2, "--set takes name=value"),
        (["-t", "load", "--level", "1.5"], 2, "--level must be in (0, 1)"),
        (["-t", "load", "--out", "x.xlsx"], 2, "--out must end in"),
        (["-t", "load", "--out", "nowhere/x.csv"], 2, "there is no folder nowhere"),
        (["-t", "load", "--resume"], 2, "--resume needs --state"),
        (["-t", "load", "--features", "wind,on", "--drop", "one,on"], 2, "on is in both features and drop"),
        (["-t", "load", "--out", "a.csv"], 2, "are the same file"),
        (["-t", "load", "--out", "b.csv", "--state", "b.csv"], 2, "are the same file"),
        (["-t", "load", "--missing", "men"], 2, "Did you mean mean?"),
        (["-t", "load", "--delimiter", "ab"], 2, "delimiter must be one character"),
        (["-t", "load", "--drop", "load"], 2, "load is the target"),
        (["-t", "where"], 1, "column 'where': the target must be a number, got 'north'"),
        ([], 2, "--target"),
    ],
)
def test_errors_name_the_problem_and_the_fix(capsys, tmp_path, monkeypatch, arguments, code, words):
    monkeypatch.chdir(tmp_path)
    source = write(mixed(50), tmp_path / "a.csv")
    found = call(capsys, "run", source, *arguments)
    assert found[0] == code
    assert words in " ".join(found[2].split())
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_a_missing_file_exits_with_2(capsys, tmp_path):
    code, out, err = call(capsys, "run", tmp_path / "none.csv", "-t", "y")
    assert (code, out) == (2, "")
    assert err == f"driftline run: {tmp_path / 'none.csv'}: no such file\n"


@pytest.mark.parametrize(("policy", "fill"), [("mean", 2.0), ("zero", 0.0), ("last", 3.0)])
def test_missing_numbers_follow_the_policy(capsys, tmp_path, policy, fill):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,1\n3,2\n,3\n5,4\n")
    out = tmp_path / "out.csv"
    outcome(capsys, "run", path, "-t", "y", "-m", "ridge", "--missing", policy, "--out", out)
    rows = [{"x": 1.0}, {"x": 3.0}, {"x": fill, "x is missing": 1.0}, {"x": 5.0}]
    expected = looped(dl.Ridge(), rows, np.array([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_allclose(predictions(out)["prediction"].to_numpy(), expected, rtol=1e-12)


def test_a_row_may_be_skipped_for_a_missing_number(capsys, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,1\n3,2\n,3\n5,4\n")
    found = outcome(capsys, "run", path, "-t", "y", "-m", "ridge", "--missing", "x=skip", "--out", tmp_path / "out.csv")
    assert (found["rows"], found["rows_scored"], found["features"]) == (4, 2, ["x"])  # no label is known at row 0
    assert predictions(tmp_path / "out.csv")["prediction"].to_pylist()[2] is None


def test_a_missing_value_may_be_refused_with_its_place(capsys, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,town,y\n,Rome,1\n1,Rome,1\n3,Oslo,2\n4,,3\n,Oslo,4\n")
    for word, line, column in (("raise", 5, "town"), ("x=raise", 6, "x"), ("skip,town=raise", 5, "town")):
        code, _, err = call(capsys, "run", path, "-t", "y", "-m", "ridge", "--missing", word)
        wanted = (
            f"driftline run: {path}, line {line}, column {column!r}: the value is missing, which --missing raise refuses\n"
        )
        assert (code, err) == (1, wanted)


def test_help_of_every_command_shows_an_example(capsys):
    from driftline.cli.app import app

    names = [command.name or command.callback.__name__ for command in app.registered_commands]
    for name in names:
        code, out, _ = call(capsys, name, "--help")
        assert code == 0
        assert f"driftline {name}" in out.partition("Options:")[0].partition("Examples:")[2]


@pytest.mark.parametrize("as_json", [True, False])
def test_targets_whose_squares_overflow_cause_no_failure(capsys, tmp_path, as_json):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,1\n3,1e200\n4,-1e200\n5,4\n")
    for arguments in (["run", path, "-t", "y", "-m", "ridge"], ["compare", path, "-t", "y", "--models", "ridge,lms"]):
        code, out, err = call(capsys, *arguments, *(["--json"] if as_json else []))
        assert (code, "Traceback" in err, "OverflowError" in err) == (0, False, False)
        assert not as_json or isinstance(json.loads(out), dict)
        assert as_json or arguments[0] != "run" or "error (RMSE) beyond the range of numbers" in out


def test_the_command_in_the_report_leaves_out_resume(capsys, tmp_path):
    source, page = write(mixed(50), tmp_path / "a.csv"), tmp_path / "page.html"
    arguments = ["run", str(source), "-t", "load", "-m", "rls", "--state", str(tmp_path / "state"), "--report", str(page)]
    assert call(capsys, *arguments, "--resume", "--quiet") == (0, "", "")
    assert f"driftline {shlex.join(arguments)} --quiet" in html.unescape(page.read_text())


def test_a_demo_in_an_impossible_folder_is_refused(capsys):
    code, _, err = call(capsys, "demo", "/dev/null/x")
    assert code == 1
    assert err.startswith("driftline demo: ")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        (1, "", 'RLS.tell: y is NaN; missing="skip" leaves out such rows'),
        (0, "1e39", "RLS.ask: x has 1e+39 in feature 'row 1', beyond the range of float32"),
    ],
)
def test_the_error_names_the_line_of_a_row_that_the_learner_refuses(capsys, tmp_path, column, value, words):
    path = tmp_path / "a.csv"
    lines = [[f"{t % 7}.5", f"{t % 5}"] for t in range(600)]
    lines[400][column] = value
    path.write_text("\n".join(["row 1,y", *map(",".join, lines)]))
    code, _, err = call(capsys, "run", path, "-t", "y", "-m", "rls", "-s", "missing=raise", "-s", "dtype=float32")
    assert (code, err) == (1, f"driftline run: {path}, line 402: {words}\n")
    refusing = ["-s", "rls.missing=raise", "-s", "rls.dtype=float32"]
    code, _, err = call(capsys, "compare", path, "-t", "y", "--models", "rls,lms", *refusing)
    assert (code, err.splitlines()[0]) == (0, f"driftline compare: rls dropped out: line 402: {words}")
    assert "rls" not in "".join(err.splitlines()[1:])


def test_a_report_that_cannot_be_written_is_refused_before_any_work(tmp_path, capsys, monkeypatch):
    path = write(mixed(50), tmp_path / "a.csv")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    code, out, err = call(capsys, "run", path, "-t", "load", "--report", tmp_path / "r.html", "--out", tmp_path / "p.csv")
    assert (code, out) == (1, "")
    assert err.endswith('reports need jinja2. The extra "report" installs it: pip install "driftline[report]"\n')
    assert [file.name for file in tmp_path.iterdir()] == ["a.csv"]


def test_the_time_may_be_only_an_axis(tmp_path, capsys):
    path, out = write(mixed(50), tmp_path / "a.csv"), tmp_path / "p.csv"
    arguments = ["run", path, "-t", "load", "-m", "rls", "--time", "when", "--out", out]
    assert outcome(capsys, *arguments, "--features", "one")["features"] == ["one"]
    assert "time" in predictions(out).column_names
    assert outcome(capsys, *arguments, "--drop", "when,wind,where")["features"] == ["on", "one"]
    assert "when: day sin" in outcome(capsys, *arguments, "--features", "one,when")["features"]


def test_a_column_with_too_many_texts_is_named(tmp_path, capsys):
    source = write(
        pa.table({"who": [f"n{n}" for n in range(60)], "where": ["a", "b"] * 30, "y": np.arange(60.0)}), tmp_path / "a.csv"
    )
    assert outcome(capsys, "run", source, "-t", "y", "-m", "rls")["crowded_columns"] == ["who"]
    _, out, _ = call(capsys, "run", source, "-t", "y", "-m", "rls")
    assert "column 'who' has more than 50 different texts: the later ones share a feature. --drop leaves it out" in out
    assert outcome(capsys, "run", source, "-t", "y", "-m", "rls", "--categories", 60)["crowded_columns"] == []


def test_a_file_that_is_not_utf_8_is_reported_as_such_whatever_else_is_in_it(tmp_path, capsys):
    source = tmp_path / "a.csv"
    source.write_bytes("wind;where;load\n1,5;Süd;2,5\n2,5;Nord;3,5\n".encode("latin1"))
    code, _, err = call(capsys, "run", source, "-t", "load", "-m", "rls")
    assert (code, "line 2: is not UTF-8 text; convert the file" in err) == (1, True)


def test_the_summary_says_how_to_put_dates_on_the_reports_axis(tmp_path, capsys):
    source = write(mixed(50), tmp_path / "a.csv")
    arguments = ["run", source, "-t", "load", "-m", "rls"]
    words = "The report's axis counts rows: --time when puts dates there"
    assert words in call(capsys, *arguments, "--report", tmp_path / "r.html")[1]
    for others in (
        [],
        ["--report", tmp_path / "r.html", "--time", "when"],
        ["--report", tmp_path / "r.html", "--drop", "when"],
    ):
        assert words not in call(capsys, *arguments, *others)[1]


def test_the_error_for_a_refused_row_names_its_line_and_no_row_number(capsys, tmp_path):
    source = tmp_path / "a.csv"
    source.write_text("x,y\n" + "1,1\n" * 69 + "1e150,1\n" * 9)
    code, out, err = call(capsys, "run", source, "-t", "y", "-m", "lms", "-s", "rate=1e10")
    assert (code, out) == (1, "")
    words = r"LMS\.tell: the weights left the range of float64; rate"
    assert re.match(rf"driftline run: {re.escape(str(source))}, line \d+: {words}", err)
    assert " row " not in err.partition("too large")[0]


@pytest.mark.parametrize(("places", "words"), [((0, 1), "the 1st and the 2nd"), ((2, 10), "the 3rd and the 11th")])
def test_the_places_of_duplicate_columns_are_given_as_ordinals(capsys, tmp_path, places, words):
    names = [f"c{place}" for place in range(12)]
    names[places[0]] = names[places[1]] = "same"
    source = tmp_path / "a.csv"
    source.write_text(",".join(names) + "\n" + ",".join("1" * 12) + "\n")
    code, _, err = call(capsys, "run", source, "-t", "c5", "-m", "rls")
    assert (code, f"two columns are called 'same', {words}; rename one" in err) == (1, True)


def test_the_summary_states_the_delay_and_that_a_state_was_replaced(capsys, tmp_path):
    source, state = tmp_path / "a.csv", tmp_path / "m.drift"
    source.write_text("x,y\n" + "".join(f"{t % 5},{t % 7}\n" for t in range(60)))
    arguments = ["run", source, "-t", "y", "-m", "rls", "--delay", 3, "--state", state]
    replaced = "The state of an earlier run was replaced; --resume would have continued that run"
    first, again, resumed = (call(capsys, *arguments, *more)[1] for more in ([], [], ["--resume"]))
    assert [replaced in printed for printed in (first, again, resumed)] == [False, True, False]
    assert all("Labels arrive 3 rows late" in printed for printed in (first, again, resumed))
