from __future__ import annotations

import subprocess
import sys
import textwrap
import time

import pytest

import driftline as dl
from driftline import evaluate
from driftline.evaluate import workers
from tests import patience
from tests.test_evaluate.peers import Careless, Deadly, Talking, Zero

STREAM = dl.streams.Rotating(rate=1.0, unit="deg")


def run(learner, **options):
    return evaluate.compare({"it": learner}, STREAM, **{"rows": 30, "repeats": 2, "n_jobs": 2} | options)


@pytest.fixture
def started(monkeypatch):
    """The workers that were started."""
    found = []

    class Known(workers._Worker):
        def __init__(self, message):
            super().__init__(message)
            found.append(self)

    monkeypatch.setattr(workers, "_Worker", Known)
    return found


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_a_learner_propagates(n_jobs):
    with pytest.raises(KeyError, match="no such thing"):
        run(Careless(), n_jobs=n_jobs)


def test_a_learner_may_print():
    assert run(Talking()).mean().shape == (1, 1)


def test_a_worker_that_dies_is_reported():
    with pytest.raises(RuntimeError, match="ended early"):
        run(Deadly())


def test_a_learner_that_cannot_be_sent_is_refused_or_run_in_this_process(monkeypatch):
    monkeypatch.setattr(workers, "PATIENCE", 0.0)
    monkeypatch.setattr(workers, "WORTH", 0.0)
    monkeypatch.setattr(workers, "cores", lambda: 2)

    class Local(Zero):
        pass

    with pytest.raises(ValueError, match="cannot be sent to worker processes"):
        run(Local())
    assert run(Local(), n_jobs=None).mean().shape == (1, 1)


def test_long_work_is_shared_among_workers_by_default(monkeypatch, started):
    monkeypatch.setattr(workers, "PATIENCE", 0.0)
    monkeypatch.setattr(workers, "WORTH", 0.0)
    monkeypatch.setattr(workers, "cores", lambda: 2)
    shared = run(dl.RLS(), repeats=4, n_jobs=None)
    assert len(started) == 2
    assert shared.scores["mse"].tolist() == run(dl.RLS(), repeats=4, n_jobs=1).scores["mse"].tolist()


SCRIPT = """
    import driftline as dl
    from driftline import evaluate

    print("begun")
    stream = dl.streams.Rotating(rate=1.0, unit="deg")
    result = evaluate.compare([dl.RLS(), dl.Ridge()], stream, rows=30, repeats=2, n_jobs=2)
    print(result.mean().shape)
"""


def test_a_script_without_a_main_guard_runs_once(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=patience.SECONDS, check=True)
    assert done.stdout == "begun\n(1, 2)\n"


def test_a_learner_defined_in_the_script_is_refused_with_advice(tmp_path):
    script = tmp_path / "script.py"
    own = "class Own:\n    def predict_one(self, x): return 0.0\n    def learn_one(self, x, y): pass\n"
    script.write_text(own + textwrap.dedent(SCRIPT).replace("dl.Ridge()", "Own()"))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=patience.SECONDS, check=False)
    assert "move it to a module, or use n_jobs=1" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "script.py"
    long = textwrap.dedent(SCRIPT).replace("rows=30, repeats=2", "rows=20_000, repeats=100_000")
    script.write_text(long)
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        children = wait_for(lambda: found if len(found := children_of(parent.pid)) == 2 else None)
    finally:
        parent.kill()
        parent.wait()
    assert wait_for(lambda: not any(alive(child) for child in children))


def wait_for(condition):
    until = time.monotonic() + patience.SECONDS
    while not (found := condition()):
        assert time.monotonic() < until
        time.sleep(0.1)
    return found


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except FileNotFoundError:
        return []


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_there_are_no_more_workers_than_jobs_and_all_of_them_end(started):
    run(dl.RLS(), n_jobs=16)
    assert len(started) == 2
    assert all(worker.process.poll() is not None for worker in started)
    assert all(pipe.closed for worker in started for pipe in (worker.process.stdin, worker.process.stdout))
