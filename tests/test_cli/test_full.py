"""A full disk, or a full or closed standard output: one line, an exit code, and no half-written file."""

import resource
import subprocess
import sys

import pytest

from driftline.storage import model_file
from tests.test_cli.calling import outcome, predictions
from tests.test_cli.tables import mixed, write

MAIN = [sys.executable, "-c", "from driftline.cli import main; main()"]
RUN = ["-t", "load", "-m", "rls"]


@pytest.fixture
def folder(tmp_path, capsys):
    """A source file, and a model trained on it."""
    source = write(mixed(2000), tmp_path / "a.csv")
    outcome(capsys, "run", source, *RUN, "--state", tmp_path / "model.drift")
    return tmp_path


def shell(folder, command):
    whole = f"{sys.executable} -c 'from driftline.cli import main; main()' {command}"
    return subprocess.run(["bash", "-o", "pipefail", "-c", whole], cwd=folder, capture_output=True, text=True)


COMMANDS = {
    "a summary": "run a.csv -t load -m rls",
    "its JSON": "run a.csv -t load -m rls --json",
    "predictions of a run": "run a.csv -t load -m rls --out -",
    "predictions": "predict model.drift a.csv",
    "a model": "inspect model.drift --json",
    "learners": "models",
    "help": "--help",
    "the demo": "demo there",
}


def require_one_line(done, words):
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("driftline")
    assert line.endswith(f": the standard output: {words}")


@pytest.mark.parametrize("what", ["its JSON", "predictions of a run", "predictions", "a model", "help", "the demo"])
def test_a_full_standard_output_gives_one_line_and_an_exit_code(folder, what):
    require_one_line(shell(folder, f"{COMMANDS[what]} > /dev/full"), "No space left on device")


@pytest.mark.parametrize("what", ["a summary", "predictions of a run", "help"])
def test_a_closed_standard_output_gives_one_line_and_an_exit_code(folder, what):
    """All commands share the code that replaces a closed output, so one command of each kind is enough."""
    require_one_line(shell(folder, f"{COMMANDS[what]} >&-"), "Bad file descriptor")


@pytest.mark.parametrize("what", ["a summary", "predictions", "learners", "a model"])
def test_a_broken_pipe_gives_one_line_and_an_exit_code(folder, what):
    require_one_line(shell(folder, f"{COMMANDS[what]} | true"), "Broken pipe")


def test_a_quiet_run_needs_no_standard_output(folder):
    done = shell(folder, "run a.csv -t load -m rls --quiet --out out.csv >&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(predictions(folder / "out.csv")) == 2000


def limited(folder, room, *arguments):
    """Runs a command in which no file can grow beyond a limit, as on a full disk."""
    return subprocess.run(
        [*MAIN, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
    )


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet", "state", "page.html"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(folder, name):
    option = {"state": "--state", "page.html": "--report"}.get(name, "--out")
    place = folder / name
    if option != "--state":
        place.write_bytes(b"old")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    done = limited(folder, 3000, "run", "a.csv", *RUN, option, place)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"driftline run: {place}: File too large\n"
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_a_disk_that_fills_up_leaves_a_run_that_can_be_resumed(capsys, folder, name):
    arguments = [
        "run",
        "a.csv",
        *RUN,
        "--out",
        folder / name,
        "--state",
        folder / "state",
        "--save-every",
        "100",
        "--resume",
    ]
    done = limited(folder, 40_000, *arguments)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert not (folder / name).exists()
    kept = model_file.load_with_extra(folder / "state")[1].plain["rows"]
    assert 0 < kept < 2000
    arguments[1] = folder / "a.csv"
    assert outcome(capsys, *arguments)["resumed_at"] == kept
    assert predictions(folder / name)["row"].to_pylist() == list(range(2000))


def test_predictions_on_a_full_disk_leave_no_file(folder):
    for name in ("out.csv", "out.parquet"):
        done = limited(folder, 3000, "predict", "model.drift", "a.csv", "--out", name)
        assert (done.returncode, done.stderr) == (1, f"driftline predict: {name}: File too large\n")
        assert sorted(path.name for path in folder.iterdir()) == ["a.csv", "model.drift"]
