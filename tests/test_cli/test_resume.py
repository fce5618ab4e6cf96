import os
import random
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import driftline as dl
from driftline.base import registry
from driftline.cli import checkpoint, running
from driftline.storage import atomic, model_file
from tests.test_cli.calling import call, outcome, predictions
from tests.test_cli.killing import killer
from tests.test_cli.tables import mixed, write

CHAINS = {
    "csv": ["a.csv", "out.csv", "-m", "rls", "--level", "0.9"],
    "jsonl": ["a.csv.gz", "out.jsonl", "-m", "kalman", "--delay", "7"],
    "parquet": ["a.parquet", "out.parquet", "-m", "auto", "--missing", "mean", "--delay", "30", "--level", "0.9"],
    "steps": ["a.csv", "out.csv", "-m", "rls", "--steps", "4", "--known", "on", "--level", "0.8"],
    "keys": ["a.csv", "out.csv", "-m", "rls", "--key", "on", "--drop", "where", "--level", "0.9"],
    "pipe of lines": ["a.jsonl", "out.csv", "-m", "nlms"],
}
REPORTED = {"csv", "keys"}  # chains that also write a report, which takes longer
KILLED = """
import os, sys
from driftline import cli

name, times, move = sys.argv[1], int(sys.argv[2]), os.replace

def replace(old, new):
    global times
    times -= str(new).endswith(name)
    os._exit(9) if times == 0 else move(old, new)

os.replace = replace
cli.main(sys.argv[3:])
"""
KILLS = 9  # at least, for each chain: more than 50 together


def parts(path):
    """Everything in a state, except the random name of the temporary file."""
    model, extra = model_file.load_with_extra(path)
    assert atomic.is_token(extra.plain["parts"]["written"].pop("token"))
    return model.to_bytes(), extra


def same(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other, equal_nan=True)
    return one == other


@pytest.fixture(scope="module")
def kill():
    with killer() as function:
        yield function


@pytest.mark.parametrize("chain", CHAINS)
def test_a_run_that_is_killed_at_random_and_resumed_ends_as_one_that_never_stopped(kill, tmp_path, chain):
    source, out, *more = CHAINS[chain]
    write(mixed(800), tmp_path / source)
    (tmp_path / "whole").mkdir()
    arguments = ["run", str(tmp_path / source), "-t", "load", "--save-every", "50", "--time", "when", "--quiet", *more]
    whole, killed = (
        [*arguments, "--out", str(folder / out), "--state", str(folder / "state")]
        + (["--report", str(folder / "page.html")] if chain in REPORTED else [])
        for folder in (tmp_path / "whole", tmp_path)
    )
    kills, seed = 0, 0
    while kills < KILLS:
        for path in (tmp_path / out, tmp_path / "state"):
            path.unlink(missing_ok=True)
        kills, seed = kills + kill(seed, 12, whole, [*killed, "--resume"]), seed + 1
        assert predictions(tmp_path / out).equals(predictions(tmp_path / "whole" / out))
        assert out == "out.parquet" or (tmp_path / out).read_bytes() == (tmp_path / "whole" / out).read_bytes()
        (model, extra), (expected, extra_expected) = parts(tmp_path / "state"), parts(tmp_path / "whole" / "state")
        assert model == expected
        assert same(extra.arrays, extra_expected.arrays)
        assert extra.plain == extra_expected.plain
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
            [source, out, "state", "whole", *(["page.html"] if chain in REPORTED else [])]
        )


@pytest.mark.parametrize(("killed_at", "time"), [("state", 1), ("state", 3), ("page.html", 1), ("out.csv", 1)])
def test_a_run_killed_between_writing_a_file_and_moving_it_leaves_nothing_once_resumed(capsys, tmp_path, killed_at, time):
    """The third state covers all rows, as the second did: the resumed run has no row to learn and nothing to save."""
    source = write(mixed(600), tmp_path / "a.csv")
    arguments = ["run", source, "-t", "load", "-m", "rls", "--save-every", "300", "--resume"]
    for option, name in {"--out": "out.csv", "--state": "state", "--report": "page.html"}.items():
        arguments += [option, tmp_path / name]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, killed_at, str(time), *map(str, arguments)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (9, "")
    assert list(tmp_path.glob(f"{killed_at}.driftline-*.part"))
    outcome(capsys, *arguments)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "out.csv", "page.html", "state"]


class StopAt:
    """Asks a run to stop after some rows, as a signal would."""

    def __init__(self, monkeypatch, row):
        save_if_due = running.FileRun._save_if_due

        def stop_if_due(job):
            if job.done >= row:
                job.stop.asked = "a test"
            save_if_due(job)

        monkeypatch.setattr(running.FileRun, "_save_if_due", stop_if_due)


@pytest.mark.parametrize("model", [name for name in registry.regressors() if name not in ("averaged",)])
def test_every_learner_stops_and_resumes_with_the_same_bits(capsys, tmp_path, monkeypatch, model):
    source = write(mixed(400), tmp_path / "a.parquet")
    settings = ["-s", "norm=10"] if model == "eg" else []
    arguments = ["run", source, "-t", "load", "-m", model, *settings, "--save-every", "37", "--drop", "when"]
    code, _, err = call(capsys, *arguments, "--out", tmp_path / "whole.csv")
    if code == 1:
        pytest.skip(f"does not take these rows: {err.strip()}")
    rng = random.Random(model)
    for stop in sorted(rng.randrange(1, 400) for _ in range(4)):
        with monkeypatch.context() as patch:
            StopAt(patch, stop)
            outcome(capsys, *arguments, "--out", tmp_path / "out.csv", "--state", tmp_path / "state", "--resume")
    outcome(capsys, *arguments, "--out", tmp_path / "out.csv", "--state", tmp_path / "state", "--resume")
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_finished_run_is_not_changed_by_resuming(capsys, tmp_path, ending):
    source, out, state = write(mixed(), tmp_path / "a.csv"), tmp_path / f"out.{ending}", tmp_path / "state"
    arguments = ["run", source, "-t", "load", "-m", "rls", "--out", out, "--state", state, "--resume"]
    first = outcome(capsys, *arguments)
    files = {path: path.read_bytes() for path in tmp_path.iterdir()}
    again = outcome(capsys, *arguments)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files
    assert again["resumed_at"] == again["rows"] == first["rows"]
    assert again["rmse"] == first["rmse"]


def test_the_report_of_a_finished_run_is_written_again_only_if_it_is_missing_or_old(capsys, tmp_path):
    source, page, state = write(mixed(), tmp_path / "a.csv"), tmp_path / "page.html", tmp_path / "state"
    arguments = ["run", source, "-t", "load", "-m", "crrls", "--report", page, "--state", state, "--resume"]
    outcome(capsys, *arguments)
    first, written = page.read_text(), page.stat().st_mtime_ns
    outcome(capsys, *arguments)
    assert (page.read_text(), page.stat().st_mtime_ns) == (first, written)
    page.unlink()
    outcome(capsys, *arguments)
    assert page.read_text().partition("<footer>")[0] == first.partition("<footer>")[0]
    page.write_text("of an earlier run, which was killed before it wrote its page")
    os.utime(page, ns=(written, state.stat().st_mtime_ns - 1))
    outcome(capsys, *arguments)
    assert page.read_text().partition("<footer>")[0] == first.partition("<footer>")[0]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_rows_that_were_added_to_the_file_are_learned_on_resuming(capsys, tmp_path, ending):
    table = mixed()
    source, out, state = tmp_path / "a.csv", tmp_path / f"out.{ending}", tmp_path / "state"
    write(table.slice(0, 333), source)
    arguments = ["run", source, "-t", "load", "-m", "rls", "--out", out, "--state", state, "--resume"]
    outcome(capsys, *arguments)
    write(table, source)
    assert outcome(capsys, *arguments)["resumed_at"] == 333
    outcome(capsys, "run", source, "-t", "load", "-m", "rls", "--out", tmp_path / f"whole.{ending}")
    assert predictions(out).equals(predictions(tmp_path / f"whole.{ending}"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["-t", "wind"], "was saved by a run with --target load, not --target wind"),
        (["-t", "load", "-m", "kalman"], "with --model rls, not --model kalman"),
        (["-t", "load", "-s", "forgetting=0.5"], "with no --set, not --set forgetting=0.5"),
        (["-t", "load", "--delay", "3"], "with no --delay, not --delay 3"),
        (["-t", "load", "--drop", "on"], "with no --drop, not --drop on"),
    ],
)
def test_a_state_saved_with_other_options_is_refused(capsys, tmp_path, changes, words):
    source, state = write(mixed(), tmp_path / "a.csv"), tmp_path / "state"
    outcome(capsys, "run", source, "-t", "load", "-m", "rls", "--state", state)
    before = state.read_bytes()
    model = [] if "-m" in changes else ["-m", "rls"]
    code, out, err = call(capsys, "run", source, *model, *changes, "--state", state, "--resume")
    assert (code, out) == (2, "")
    assert words in err
    assert state.read_bytes() == before


def test_a_state_saved_from_another_source_is_refused(capsys, tmp_path):
    state = tmp_path / "state"
    outcome(capsys, "run", write(mixed(), tmp_path / "a.csv"), "-t", "load", "-m", "rls", "--state", state)
    other = write(mixed(seed=4), tmp_path / "b.csv")
    code, _, err = call(capsys, "run", other, "-t", "load", "-m", "rls", "--state", state, "--resume")
    assert code == 2
    assert "line 2: row 0 is not as it was when it was read before; new rows must be appended at the end" in err
    write(mixed().slice(0, 100), tmp_path / "a.csv")
    code, _, err = call(capsys, "run", tmp_path / "a.csv", "-t", "load", "-m", "rls", "--state", state, "--resume")
    assert code == 2


@pytest.mark.parametrize("damage", [lambda data: data[:100], lambda data: b"", lambda data: data[:-1] + b"x"])
def test_a_damaged_state_is_refused(capsys, tmp_path, damage):
    source, state = write(mixed(), tmp_path / "a.csv"), tmp_path / "state"
    outcome(capsys, "run", source, "-t", "load", "-m", "rls", "--state", state)
    state.write_bytes(damage(state.read_bytes()))
    code, out, err = call(capsys, "run", source, "-t", "load", "-m", "rls", "--state", state, "--resume")
    assert (code, out) == (1, "")
    assert err.startswith(f"driftline run: {state}: ")


def test_predictions_that_were_changed_are_not_resumed(capsys, tmp_path):
    table = mixed()
    source, out, state = tmp_path / "a.csv", tmp_path / "out.csv", tmp_path / "state"
    write(table.slice(0, 300), source)
    arguments = ["run", source, "-t", "load", "-m", "rls", "--out", out, "--state", state, "--resume"]
    outcome(capsys, *arguments)
    write(table, source)
    for text in ("mine", out.read_text().replace(".", "!"), f"{out.read_text()[:-1]}0\n"):
        out.write_text(text)
        code, _, err = call(capsys, *arguments)
        assert code == 2
        assert f"{out}: does not hold the predictions that it held when the state was saved" in err
        assert out.read_text() == text


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("found", ["predictions", "anything", "nothing"])
@pytest.mark.parametrize("part", ["", ".part"])
def test_a_run_does_not_resume_into_another_file(capsys, tmp_path, ending, found, part):
    """Truncating that file where the predictions ended would destroy its contents."""
    source, state = write(mixed().slice(0, 300), tmp_path / "a.csv"), tmp_path / "state"
    arguments = ["run", source, "-t", "load", "-m", "rls", "--out", tmp_path / f"out.{ending}"]
    outcome(capsys, *arguments, "--state", state)
    other = tmp_path / f"other.{ending}"
    if found == "predictions":  # more of them, from another learner
        call(capsys, "run", write(mixed(), tmp_path / "b.csv"), "-t", "load", "-m", "lms", "--out", other)
        other.rename(f"{other}{part}")
    elif found == "anything":
        (tmp_path / f"{other.name}{part}").write_bytes(b"a diary\n" * 10_000)
    write(mixed(), source)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    code, _, err = call(capsys, *arguments[:-1], other, "--state", state, "--resume")
    assert (code, "does not hold the predictions" in err) == (2, True)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predictions_that_were_moved_are_resumed(capsys, tmp_path, ending):
    source, state, out = write(mixed().slice(0, 300), tmp_path / "a.csv"), tmp_path / "state", tmp_path / f"out.{ending}"
    arguments = ["run", source, "-t", "load", "-m", "rls", "--state", state, "--out"]
    outcome(capsys, *arguments, out)
    moved = out.rename(tmp_path / f"moved.{ending}")
    write(mixed(), source)
    assert outcome(capsys, *arguments, moved, "--resume")["resumed_at"] == 300
    assert predictions(moved)["row"].to_pylist() == list(range(600))


def test_the_state_is_a_model_that_load_opens(capsys, tmp_path):
    source, state = write(mixed(), tmp_path / "a.csv"), tmp_path / "state"
    outcome(capsys, "run", source, "-t", "load", "-m", "rls", "--drop", "when,where", "--state", state)
    model = dl.load(state)
    assert isinstance(model, dl.RLS)
    assert model.feature_names_in_.tolist() == ["wind", "on", "one", "wind is missing"]
    assert model.n_seen_ + model.n_skipped_ == 600


def test_another_compressed_file_is_refused_and_one_with_more_rows_is_resumed(capsys, tmp_path):
    source, state = write(mixed().slice(0, 300), tmp_path / "a.csv.gz"), tmp_path / "state"
    arguments = ["-t", "load", "-m", "rls", "--state", state, "--resume"]
    outcome(capsys, "run", source, *arguments)
    code, _, err = call(capsys, "run", write(mixed(seed=4), tmp_path / "b.csv.gz"), *arguments)
    assert (code, "line 2: row 0 is not as it was" in err) == (2, True)
    assert outcome(capsys, "run", write(mixed(), source), *arguments)["resumed_at"] == 300


def test_decimal_commas_are_remembered(capsys, tmp_path):
    """This matters when a run resumes, and when rows are predicted from a file that may be written differently."""
    lines = [f"{t % 7},{t % 10};{t % 7 * 2 + 1},25" for t in range(100)]
    source, state, out = tmp_path / "a.csv", tmp_path / "state", tmp_path / "out.csv"
    run = ["run", source, "-t", "y", "-m", "rls", "--state", state, "--out", out, "--resume"]
    for rows in (50, 100):
        source.write_text("\n".join(["x;y", *lines[:rows], ""]))
        assert outcome(capsys, *run)["rows"] == rows
    assert predictions(out)["target"].to_pylist() == [t % 7 * 2 + 1.25 for t in range(100)]
    outputs = {}
    for name, text in {
        "commas": "x;y\n1,5;\n2;\n",
        "points": "x;y\n1.5;\n2;\n",
        "separated by commas": "x,y\n1.5,\n2,\n",
    }.items():
        source.write_text(text)
        code, printed, err = call(capsys, "predict", state, source)
        assert (code, err) == (0, ""), name
        outputs[name] = printed
    assert len(set(outputs.values())) == 1
    assert len(outputs["commas"].splitlines()) == 3


@pytest.mark.parametrize("resume", [[], ["--resume"]])
@pytest.mark.parametrize("kind", ["notes", "model", "parquet"])
def test_a_file_that_is_not_a_state_is_never_overwritten(capsys, tmp_path, kind, resume):
    source, state = write(mixed(50), tmp_path / "a.csv"), tmp_path / "precious"
    if kind == "notes":
        state.write_text("what I found out\n")
    elif kind == "model":
        dl.RLS().save(state)
    else:
        write(mixed(20), tmp_path / "b.parquet").rename(state)
    before = state.read_bytes()
    code, out, err = call(capsys, "run", source, "-t", "load", "-m", "rls", "--state", state, *resume)
    assert (code, out) == (1 if resume else 2, "")
    assert err.startswith(f"driftline run: {state}: ")
    assert state.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2


def test_a_state_of_an_older_version_is_refused_and_kept(capsys, tmp_path, monkeypatch):
    source, state = write(mixed(50), tmp_path / "a.csv"), tmp_path / "state"
    run = ["run", source, "-t", "load", "-m", "rls", "--state", state]
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "VERSION", checkpoint.VERSION - 1)
        outcome(capsys, *run)
    before = state.read_bytes()
    words = f"{state}: the run was saved by another version of driftline, which this one cannot read"
    for command in ([*run, "--resume"], ["predict", state, source]):
        assert call(capsys, *command) == (1, "", f"driftline {command[0]}: {words}\n")
    assert state.read_bytes() == before
    assert call(capsys, "inspect", state)[0] == 0


def test_a_state_that_is_not_resumed_and_an_empty_file_are_replaced(capsys, tmp_path):
    source, state = write(mixed(50), tmp_path / "a.csv"), tmp_path / "state"
    state.touch()
    arguments = ["run", source, "-t", "load", "--state", state, "-m"]
    assert outcome(capsys, *arguments, "rls")["rows"] == 50
    assert outcome(capsys, *arguments, "kalman")["resumed_at"] == 0
    assert isinstance(dl.load(state), dl.Kalman)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl"])
def test_a_resumed_run_keeps_the_format_of_dates(capsys, tmp_path, monkeypatch, name):
    """The first date comes late, and those after the stop do not show whether the day comes first."""
    written = [None] * 30 + ["31/12/2025"] * 30 + ["01/02/2026"] * 40
    source = write(pa.table({"when": written, "x": np.arange(100.0) % 7, "load": np.arange(100.0) % 5}), tmp_path / name)
    arguments = ["run", source, "-t", "load", "-m", "rls", "--save-every", "7"]
    outcome(capsys, *arguments, "--out", tmp_path / "whole.csv")
    for stop in (20, 45, 80):
        with monkeypatch.context() as patch:
            StopAt(patch, stop)
            outcome(capsys, *arguments, "--out", tmp_path / "out.csv", "--state", tmp_path / "state", "--resume")
    found = outcome(capsys, *arguments, "--out", tmp_path / "out.csv", "--state", tmp_path / "state", "--resume")
    assert "when: year sin" in found["features"]
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
