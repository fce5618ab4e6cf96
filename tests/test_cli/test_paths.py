"""The paths given to a command must be distinct files; nothing else is touched."""

import os
import subprocess
import sys
import time

import pytest

from driftline.storage import atomic
from tests import patience
from tests.test_cli.calling import call, outcome, predictions
from tests.test_cli.tables import as_csv, mixed, write

OUTPUTS = {"--out": "p.csv", "--state": "p.drift", "--report": "p.html"}
MAIN = [sys.executable, "-c", "from driftline.cli import main; main()"]


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def run(source, *more):
    return ["run", source, "-t", "load", "-m", "rls", *more]


@pytest.mark.parametrize("option", OUTPUTS)
def test_a_source_whose_name_ends_in_part_is_only_read(capsys, tmp_path, option):
    source = write(mixed(50), tmp_path / f"{OUTPUTS[option]}.part")
    before = source.read_bytes()
    outcome(capsys, *run(source, option, tmp_path / OUTPUTS[option]))
    assert source.read_bytes() == before
    assert sorted(files(tmp_path)) == [OUTPUTS[option], source.name]


def test_outputs_whose_names_differ_by_part_do_not_disturb_each_other(capsys, tmp_path):
    source = write(mixed(50), tmp_path / "a.csv")
    arguments = run(source, "--out", tmp_path / "z.csv", "--state", tmp_path / "z.csv.part", "--save-every", "7")
    outcome(capsys, *arguments)
    assert outcome(capsys, *arguments, "--resume")["resumed_at"] == 50
    assert len(predictions(tmp_path / "z.csv")) == 50
    assert sorted(files(tmp_path)) == ["a.csv", "z.csv", "z.csv.part"]


@pytest.mark.parametrize("option", OUTPUTS)
def test_a_link_or_a_file_that_ends_in_part_is_left_alone(capsys, tmp_path, option):
    source, victim = write(mixed(50), tmp_path / "a.csv"), tmp_path / "victim"
    victim.write_bytes(b"precious")
    part = tmp_path / f"{OUTPUTS[option]}.part"
    for make in (lambda: part.symlink_to(victim), lambda: part.write_bytes(b"mine")):
        make()
        before = part.read_bytes()
        outcome(capsys, *run(source, option, tmp_path / OUTPUTS[option]))
        assert (part.read_bytes(), victim.read_bytes()) == (before, b"precious")
        part.unlink()


def refuse(capsys, folder, words, *arguments):
    before = files(folder)
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert words in " ".join(err.split())
    assert files(folder) == before


@pytest.mark.parametrize("way", ["the same name", "a link", "a hard link", "another way there"])
@pytest.mark.parametrize("option", OUTPUTS)
def test_an_output_that_is_the_source_is_refused(capsys, tmp_path, option, way):
    source = other = write(mixed(50), tmp_path / OUTPUTS[option])
    if way == "another way there":
        other = tmp_path / ".." / tmp_path.name / source.name
    elif way != "the same name":
        other = tmp_path / f"other{source.suffix}"
        other.symlink_to(source) if way == "a link" else other.hardlink_to(source)
    for one, another in ((source, other), (other, source)):
        refuse(capsys, tmp_path, f"SOURCE and {option} are the same file", *run(one, option, another))


def test_outputs_that_would_be_the_same_file_are_refused(capsys, tmp_path):
    """Neither file exists yet, so their paths are compared."""
    source = write(mixed(50), tmp_path / "a.csv")
    (tmp_path / "link.html").symlink_to(tmp_path / "state.csv")
    outputs = ["--out", tmp_path / "state.csv"]
    code, _, err = call(capsys, *run(source, *outputs, "--state", tmp_path / "." / "state.csv"))
    assert (code, "--out and --state are the same file" in err) == (2, True)
    code, _, err = call(capsys, *run(source, *outputs, "--report", tmp_path / "link.html"))
    assert (code, "--out and --report are the same file" in err) == (2, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "link.html"]


def test_predict_refuses_to_overwrite_its_model_and_its_source(capsys, tmp_path):
    source, model = write(mixed(50), tmp_path / "a.csv"), tmp_path / "model.csv"
    outcome(capsys, *run(source, "--state", model))
    refuse(capsys, tmp_path, "SOURCE and --out are the same file", "predict", model, source, "--out", source)
    refuse(capsys, tmp_path, "MODEL and --out are the same file", "predict", model, source, "--out", model)


@pytest.mark.parametrize(
    ("redirection", "arguments", "words"),
    [
        ("< a.csv", "- --out a.csv", "SOURCE and --out are the same file"),
        (">> a.csv", "a.csv --out -", "SOURCE and --out are the same file"),
        (">> a.csv", "a.csv", "SOURCE and the standard output are the same file"),
        ("> out.csv", "a.csv --out out.csv", "--out and the standard output are the same file"),
    ],
)
def test_redirected_streams_count_as_files(tmp_path, redirection, arguments, words):
    source = write(mixed(50), tmp_path / "a.csv")
    before = source.read_bytes()
    command = f"{sys.executable} -c 'from driftline.cli import main; main()' run {arguments} -t load -m rls {redirection}"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert source.read_bytes() == before


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_an_output_that_is_a_link_is_written_where_it_points(capsys, tmp_path, ending):
    source, there = write(mixed(60), tmp_path / "a.csv"), tmp_path / "there"
    there.mkdir()
    (there / "state").touch()
    outputs = {"--out": f"out.{ending}", "--state": "state", "--report": "page.html"}
    arguments = run(source)
    for option, name in outputs.items():
        (tmp_path / name).symlink_to(there / name)
        arguments += [option, tmp_path / name]
    for _ in range(2):  # the second run replaces the files of the first
        outcome(capsys, *arguments)
        assert all((tmp_path / name).is_symlink() for name in outputs.values())
        assert sorted(files(there)) == sorted(outputs.values())
        assert len(predictions(tmp_path / f"out.{ending}")) == 60
    assert outcome(capsys, *arguments, "--resume")["resumed_at"] == 60


def test_the_names_of_temporary_files_are_refused(capsys, tmp_path):
    """Otherwise a run would remove its own source as a leftover of a killed run."""
    out = tmp_path / "out.csv"
    source = write(mixed(50), tmp_path / "a.csv")
    left = source.rename(atomic.temporary(out, atomic.new_token()))
    refuse(capsys, tmp_path, "rename it", *run(left, "--out", out))
    (tmp_path / "link.csv").symlink_to(left)
    refuse(capsys, tmp_path, "rename it", *run(tmp_path / "link.csv", "--out", out))
    refuse(capsys, tmp_path, "rename it", *run(write(mixed(50), source), "--state", atomic.lock_file(out)))


@pytest.mark.parametrize("name", ["r.pdf", "r", "r.html.gz", "r.csv"])
def test_a_report_without_an_html_suffix_is_refused_before_any_work(capsys, tmp_path, name):
    code, out, err = call(capsys, *run(tmp_path / "absent.csv", "--report", tmp_path / name))
    assert (code, out) == (2, "")
    assert "--report must end in .html, .htm" in " ".join(err.split())
    assert not files(tmp_path)


@pytest.mark.parametrize("name", ["r.HTML", "r.htm"])
def test_a_report_may_have_either_html_suffix(capsys, tmp_path, name):
    outcome(capsys, *run(write(mixed(50), tmp_path / "a.csv"), "--report", tmp_path / name))
    assert (tmp_path / name).read_text().startswith("<!doctype html>")


def test_an_output_that_is_not_a_regular_file_is_refused(capsys, tmp_path):
    source = write(mixed(50), tmp_path / "a.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "null.csv").symlink_to(os.devnull)
    for name in ("pipe.csv", "null.csv"):
        code, _, err = call(capsys, *run(source, "--out", tmp_path / name))
        assert (code, "is not a regular file" in " ".join(err.split())) == (2, True)


def test_killed_runs_without_a_state_leave_one_file_at_most(tmp_path):
    """Such runs cannot be resumed: the next run removes what the last one left."""
    command = [*MAIN, *map(str, run("-", "--out", tmp_path / "out.csv"))]
    for _ in range(3):
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdin.write(as_csv(mixed(50)))
            process.stdin.flush()
            mine = atomic.lock_file(tmp_path / "out.csv")
            until = time.monotonic() + patience.SECONDS
            while not (mine.exists() and str(process.pid) in mine.read_text() and written(tmp_path)):
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.01)
            process.kill()
    assert len(list(tmp_path.glob("*.part"))) == 1
    assert len(files(tmp_path)) == 2
    done = subprocess.run(command, input=as_csv(mixed(50)), capture_output=True)
    assert done.returncode == 0
    assert list(files(tmp_path)) == ["out.csv"]


def written(folder):
    """Whether one run, and no other, has rows on disk."""
    return [path.stat().st_size > 0 for path in folder.glob("*.part")] == [True]
