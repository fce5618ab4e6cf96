import os
import signal
import subprocess
import sys
import time

import pytest

import driftline as dl
from driftline.cli.signals import Stop
from tests import patience
from tests.test_cli.calling import outcome, predictions
from tests.test_cli.tables import as_csv, mixed, write

COMMAND = [sys.executable, "-c", "from driftline.cli import main; main()", "run", "-", "-t", "load", "-m", "rls"]


@pytest.mark.usefixtures("heeds_interrupts")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_run_cleanly_and_resume_continues_it(capsys, tmp_path, number):
    """The pipe stays open: the run is waiting for rows when the signal arrives."""
    table = mixed(120)
    lines = as_csv(table).splitlines(keepends=True)
    out, state = tmp_path / "out.csv", tmp_path / "state"
    files = ["--out", str(out), "--state", str(state), "--resume"]
    with subprocess.Popen(COMMAND + files, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"".join(lines[:61]))
        process.stdin.flush()
        until = time.monotonic() + patience.SECONDS
        while not any(part.read_bytes().count(b"\n") == 61 for part in tmp_path.glob("out.csv.driftline-*.part")):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < until, "the rows were never written"
            time.sleep(0.01)
        os.kill(process.pid, number)
        printed, errors = process.communicate(timeout=patience.SECONDS)
    assert (process.returncode, errors) == (0, b"")
    assert b"Stopped by" in printed
    assert dl.load(state).n_seen_ + dl.load(state).n_skipped_ == 60
    assert len(predictions(out)) == 60
    subprocess.run(COMMAND + files, input=b"".join([lines[0], *lines[61:]]), check=True, capture_output=True)
    expected = tmp_path / "expected.csv"
    outcome(capsys, "run", write(table, tmp_path / "a.csv"), "-t", "load", "-m", "rls", "--out", expected)
    assert out.read_bytes() == expected.read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_is_ignored_at_the_start_stays_ignored(number):
    """A shell's background job ignores Ctrl-C, which is meant for the foreground job."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with Stop() as stop:
            os.kill(os.getpid(), number)
            assert not stop.asked
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_rows_of_a_pipe_are_predicted_as_they_arrive():
    lines = as_csv(mixed(30)).splitlines(keepends=True)
    with subprocess.Popen(
        [*COMMAND, "--out", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdin.write(b"".join(lines[:3]))
        process.stdin.flush()
        assert process.stdout.readline().startswith(b'"row"')
        assert process.stdout.readline().startswith(b"0,")
        assert process.stdout.readline().startswith(b"1,")
        process.stdin.write(lines[3])
        process.stdin.flush()
        assert process.stdout.readline().startswith(b"2,")
        rest, _ = process.communicate(b"".join(lines[4:]))
    assert process.returncode == 0
    assert len(rest.splitlines()) == 27


def test_a_reader_that_closes_the_pipe_ends_the_run_without_a_traceback():
    command = f"{sys.executable} -c 'from driftline.cli import main; main()' run - -t load -m rls --out - | head -n 2"
    done = subprocess.run(command, shell=True, input=as_csv(mixed(20_000)), capture_output=True)
    assert len(done.stdout.splitlines()) == 2
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr


def test_the_progress_bar_is_only_for_terminals(capsys, tmp_path):
    code = "import sys; from driftline.cli import main; main()"
    source = write(mixed(), tmp_path / "a.csv")
    done = subprocess.run([sys.executable, "-c", code, "run", source, "-t", "load", "-m", "rls"], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\x1b" not in done.stdout
