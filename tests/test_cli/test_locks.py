"""Two processes on one file: the second is refused and names the first; a killed process holds no lock."""

import errno
import json
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from driftline.cli import locks
from driftline.storage import atomic
from tests import patience
from tests.test_cli.calling import call, outcome, predictions
from tests.test_cli.tables import as_csv, mixed, write

MAIN = [sys.executable, "-c", "from driftline.cli import main; main()"]
OUTPUTS = {"--out": "p.csv", "--state": "p.drift", "--report": "p.html"}
RUN = ["-t", "load", "-m", "rls"]


def wait_for(condition, process):
    until = time.monotonic() + patience.SECONDS
    while not condition():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.01)


@contextmanager
def running(arguments, folder):
    """A run that waits for rows from a pipe, and holds its locks."""
    command = [*MAIN, "run", "-", *RUN, *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(as_csv(mixed(50)))
        process.stdin.flush()
        held = f"{process.pid},"
        files = sum(str(argument) in OUTPUTS for argument in arguments)
        wait_for(lambda: sum(held in path.read_text() for path in folder.glob("*.driftline-lock")) == files, process)
        yield process
        if process.poll() is None:
            process.stdin.close()
            assert (process.wait(patience.SECONDS), process.stderr.read()) == (0, b"")


@pytest.mark.parametrize("option", OUTPUTS)
def test_a_second_run_is_refused_and_says_who_holds_the_file(capsys, tmp_path, option):
    source = write(mixed(60), tmp_path / "a.csv")
    arguments = [option, tmp_path / OUTPUTS[option]]
    with running(arguments, tmp_path) as process:
        code, out, err = call(capsys, "run", source, *RUN, *arguments)
        assert (code, out) == (2, "")
        holder = f"in use by process {process.pid} on {socket.gethostname()!r}, since 20"
        assert err.startswith(f"driftline run: {option} {arguments[1]}: {holder}")
        assert len(err.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", OUTPUTS[option]]
    if option == "--out":
        assert len(predictions(arguments[1])) == 50
    outcome(capsys, "run", source, *RUN, *arguments)


def test_a_symbolic_link_leads_to_the_same_lock(capsys, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "state")
    with running(["--state", tmp_path / "state"], tmp_path):
        code, _, err = call(capsys, "run", write(mixed(60), tmp_path / "a.csv"), *RUN, "--state", tmp_path / "link")
        assert (code, "in use by process" in err) == (2, True)


def test_a_removed_lock_is_made_again(tmp_path):
    place = tmp_path / "state"
    with locks.locked("run", {"--state": place}) as confirm:
        atomic.lock_file(place).unlink()
        confirm()
        assert json.loads(atomic.lock_file(place).read_text())["pid"] == os.getpid()
        with pytest.raises(locks.InUseError), locks.locked("run", {"--state": place}):
            pass
    assert list(tmp_path.iterdir()) == []


def test_a_run_whose_lock_was_removed_and_taken_by_another_stops_and_writes_nothing(capsys, tmp_path):
    state, out = tmp_path / "state", tmp_path / "out.csv"
    with running(["--state", state, "--out", out], tmp_path) as process:
        for path in tmp_path.glob("*.driftline-lock"):
            path.unlink()
        with locks.locked("run", {"--state": state, "--out": out}):
            state.write_bytes(b"the second one's")
            process.stdin.close()
            assert process.wait(patience.SECONDS) == 2
            words = f"lock was removed while it was locked, and is now in use by process {os.getpid()} on".encode()
            assert words in process.stderr.read()
            assert state.read_bytes() == b"the second one's"
            assert not out.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state"]


def test_a_hard_link_counts_as_another_file(capsys, tmp_path):
    source, state, other = write(mixed(60), tmp_path / "a.csv"), tmp_path / "state", tmp_path / "other"
    outcome(capsys, "run", source, *RUN, "--state", state)
    os.link(state, other)
    before = state.read_bytes()
    with running(["--state", other], tmp_path):
        pass
    assert state.read_bytes() == before != other.read_bytes()


def test_predict_refuses_to_write_to_a_file_that_a_run_writes(capsys, tmp_path):
    source, model, out = write(mixed(60), tmp_path / "a.csv"), tmp_path / "model", tmp_path / "out.csv"
    outcome(capsys, "run", source, *RUN, "--state", model)
    with running(["--out", out], tmp_path):
        code, _, err = call(capsys, "predict", model, source, "--out", out)
        assert (code, err.startswith(f"driftline predict: --out {out}: in use by process")) == (2, True)
    assert len(predictions(out)) == 50


def test_a_killed_run_leaves_no_lock(tmp_path):
    arguments = ["--state", tmp_path / "state", "--out", tmp_path / "out.csv", "--save-every", "10", "--resume"]
    for _ in range(3):
        with running(arguments, tmp_path) as process:
            process.kill()
            process.wait()
        assert len(list(tmp_path.glob("*.driftline-lock"))) == 2
    command = [*MAIN, "run", "-", *RUN, *map(str, arguments)]
    done = subprocess.run(command, input=as_csv(mixed(60)), capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(predictions(tmp_path / "out.csv")) == 60
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "state"]


def test_a_lock_removed_by_its_holder_while_it_is_opened_is_made_again(tmp_path, monkeypatch):
    place, lock, removed = tmp_path / "state", atomic.lock, []

    def late(handle):
        if not removed:
            removed.append(atomic.lock_file(place))
            removed[0].unlink()
        return lock(handle)

    monkeypatch.setattr(atomic, "lock", late)
    with locks.locked("run", {"--state": place}):
        assert json.loads(removed[0].read_text())["pid"] == os.getpid()
        with pytest.raises(locks.InUseError), locks.locked("run", {"--state": place}):
            pass
    assert list(tmp_path.iterdir()) == []


def test_the_holder_of_an_unreadable_lock_is_reported_as_another_process(tmp_path):
    place = tmp_path / "state"
    with locks.locked("run", {"--state": place}):
        for text in ("", "{}", "[]", "\0"):
            atomic.lock_file(place).write_text(text)
            with pytest.raises(locks.InUseError, match="in use by another process"), locks.locked("run", {"--state": place}):
                pass


def test_a_run_without_file_locks_continues_and_warns(capsys, tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(atomic.fcntl, "flock", flock)
    source, out = write(mixed(60), tmp_path / "a.csv"), tmp_path / "out.csv"
    code, _, err = call(capsys, "run", source, *RUN, "--out", out)
    words = f"{tmp_path}: the file system has no locks. Make sure that no other process writes out.csv"
    assert (code, err) == (0, f"driftline run: {words}\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "out.csv"]


def test_of_two_runs_started_together_one_is_refused_or_runs_second(tmp_path):
    """Whatever the order, every run that succeeds leaves complete files."""
    source = write(mixed(400), tmp_path / "a.csv")
    arguments = ["run", source, *RUN, "--state", tmp_path / "state", "--out", tmp_path / "out.csv", "--save-every", "10"]
    command = [*MAIN, *map(str, arguments)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    errors = [process.communicate(timeout=patience.SECONDS)[1] for process in both]
    codes = [process.returncode for process in both]
    assert 0 in codes
    assert all(b"in use by" in err for code, err in zip(codes, errors, strict=True) if code)
    assert len(predictions(tmp_path / "out.csv")) == 400
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "out.csv", "state"]
