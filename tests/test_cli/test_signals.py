import io
import os
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pytest

import driftline as dl
from driftline.cli import running
from driftline.cli.signals import Stop
from driftline.cli.tasks import Following
from driftline.files import Options, Rows
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


@pytest.fixture
def pipe():
    """A pipe that stays open: its path, and the descriptor to write to."""
    reading, writing = os.pipe()
    yield f"/dev/fd/{reading}", writing
    os.close(reading)
    os.close(writing)


def with_signal_during_the_first_rows(monkeypatch):
    """SIGTERM comes while the first rows of a run are learned."""
    take = Following.take

    def struck(self, rows, raw):
        if raw.start == 0:
            os.kill(os.getpid(), signal.SIGTERM)
        return take(self, rows, raw)

    monkeypatch.setattr(Following, "take", struck)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_while_it_learns_has_learned_all_that_the_pipe_held(tmp_path, number):
    lines = as_csv(mixed(1_500)).splitlines(keepends=True)
    state, out = tmp_path / "state", tmp_path / "out.csv"
    command = [*COMMAND, "-s", "missing=mean", "--state", str(state), "--out", str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(lines[0] + lines[1])
        process.stdin.flush()
        until = time.monotonic() + patience.SECONDS
        while not any(part.stat().st_size for part in tmp_path.glob("out.csv.driftline-*.part")):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
        process.stdin.write(b"".join(lines[2:]))
        process.stdin.flush()
        os.kill(process.pid, number)
        printed, _ = process.communicate(timeout=patience.SECONDS)
    assert process.returncode == 0
    assert b"after row 1,499; all requested files are saved" in printed
    assert b"not learned" not in printed.replace(b"without a target or a prediction, not learned", b"")
    assert len(predictions(out)) == 1_500


def test_rows_that_were_read_and_cannot_be_learned_in_time_are_counted(capsys, monkeypatch, tmp_path, pipe):
    path, writing = pipe
    data = as_csv(mixed(900))
    os.write(writing, data + b"2026-05-01 00:00:00,1.5")
    monkeypatch.setattr(running, "GRACE", 0.0)
    monkeypatch.setattr(running, "PIECE", 0.0)
    with_signal_during_the_first_rows(monkeypatch)
    found = outcome(capsys, "run", path, "-t", "load", "-m", "rls", "--state", tmp_path / "state")
    model = dl.load(tmp_path / "state")
    assert found["rows"] == model.n_seen_ + model.n_skipped_
    assert 0 < found["rows"] < 900
    assert found["rows"] + found["rows_read_not_learned"] == 901  # the last one is cut off
    more, part = found["warnings"][:2]
    assert more.startswith(f"{900 - found['rows']} more rows had been read")
    assert part.startswith("what was read ended within a row")


def test_a_stopped_run_on_a_file_does_not_learn_more_because_resume_reads_it_again(capsys, monkeypatch, tmp_path):
    source = write(mixed(900), tmp_path / "a.csv")
    with_signal_during_the_first_rows(monkeypatch)
    monkeypatch.setattr(running, "PIECE", 0.0)
    found = outcome(capsys, "run", source, "-t", "load", "-m", "rls", "--state", tmp_path / "state")
    assert found["rows"] == 64
    assert found["rows_read_not_learned"] == 0


def test_a_run_that_waits_for_the_first_byte_of_a_pipe_can_be_stopped(pipe):
    path, _ = pipe
    command = [path if part == "-" else part for part in COMMAND]
    slow = [command[0], "-c", "import os, signal; from driftline.files import opening; from driftline.cli import main\n"
            "wait = opening.select.select\n"
            "opening.select.select = lambda *fds: (os.kill(os.getpid(), signal.SIGTERM), wait(*fds))[1]\nmain()",
            *command[3:]]  # fmt: skip
    done = subprocess.run(slow, capture_output=True, timeout=patience.SECONDS, pass_fds=[int(path.rpartition("/")[2])])
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr == b"driftline run: stopped by SIGTERM before the first row; no file is written\n"


def arrow_stream(table):
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
        size = stream.tell()
    return stream.getvalue()[:size]


FORMATS = {"csv": as_csv, "arrow stream": arrow_stream}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("part", [b"", b"12,3"])
def test_a_pipe_that_is_asked_to_end_yields_the_whole_rows_that_it_holds(kind, part, pipe):
    path, writing = pipe
    part = b"\xff\xff\xff\xff\x10" if part and kind == "arrow stream" else part
    os.write(writing, FORMATS[kind](mixed(200)) + part)
    with Stop() as stop:
        stop.ask("a test")
        rows = Rows(path, Options(target="load"), halt=stop.halt)
        os.write(writing, b"later\n" * 9)
        assert sum(len(block) for block in rows) == 200
        assert rows.cut_off is bool(part)


def test_a_run_whose_output_closes_does_not_learn_rows_twice_when_it_resumes(tmp_path):
    """The state counts the rows whose predictions could not be written, because they are learned."""
    source, state = write(mixed(3_000), tmp_path / "a.csv"), tmp_path / "state"
    run = f"{sys.executable} -c 'from driftline.cli import main; main()' run {source} -t load -m rls --out - --state "
    subprocess.run(f"{run}{state} | head -n 2", shell=True, check=True, capture_output=True)
    subprocess.run(f"{run}{state} --resume > {tmp_path}/rest.csv", shell=True, check=True, capture_output=True)
    subprocess.run(f"{run}{tmp_path}/whole > {tmp_path}/all.csv", shell=True, check=True, capture_output=True)
    resumed, whole = dl.load(state), dl.load(tmp_path / "whole")
    assert resumed.n_seen_ + resumed.n_skipped_ == 3_000
    assert (resumed.coef_ == whole.coef_).all()
