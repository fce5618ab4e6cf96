"""Runs jobs in parallel processes.

A worker is a fresh interpreter that runs this file and talks over its standard input and output. It never imports the user's
script, so scripts need no guard around their main part. It ends when its input ends, so no worker outlives the process that
started it. The standard library's pools fork, which copies locks that other threads hold, or import the user's script;
joblib's loky does neither, but would be a dependency.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, Protocol

from driftline.base.processors import cores
from driftline.base.rules import COUNT
from driftline.evaluate.progress import Progress

PATIENCE = 1.0  # seconds of work in this process before others are considered
WORTH = 3.0  # seconds of remaining work that justify starting them

# The processes use all cores; extra threads in each, as linear algebra starts, would be several times slower.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1")

_START = "import sys; sys.path[:] = {path!r}; from driftline.evaluate.workers import serve; serve()"


class Work(Protocol):
    """The work that a worker process gets at its start, and whose jobs it then runs."""

    def run(self, job: Any) -> Any:
        """Does a job. Job and outcome may be sent between processes."""


def run_jobs(work: Work, jobs: Sequence[Any], n_jobs: int | None, bar: Progress) -> list[Any]:
    """The outcomes of jobs, in order, from one process or several.

    With ``n_jobs=None`` every core is used, if the work proves to take more than a few seconds and the learners and
    streams can be sent to other processes.
    """
    if n_jobs is not None:
        count = COUNT.require("compare", "n_jobs", n_jobs)
        return _in_parallel(_packed(work), jobs, count, bar) if count > 1 else _here(work, jobs, bar)
    began = time.monotonic()
    outcomes: list[Any] = []
    while len(outcomes) < len(jobs):
        outcomes += _here(work, jobs[len(outcomes) : len(outcomes) + 1], bar)
        spent, left = time.monotonic() - began, jobs[len(outcomes) :]
        if spent > PATIENCE and spent / len(outcomes) * len(left) > WORTH:
            return outcomes + _as_it_goes(work, left, bar)
    return outcomes


def _here(work: Work, jobs: Sequence[Any], bar: Progress) -> list[Any]:
    outcomes = []
    for job in jobs:
        outcomes.append(work.run(job))
        bar.advance(1)
    return outcomes


def _as_it_goes(work: Work, jobs: Sequence[Any], bar: Progress) -> list[Any]:
    """Uses every core, or only this process if there is one core or something cannot be sent to another process."""
    count = cores()
    if count > 1:
        try:
            return _in_parallel(_packed(work), jobs, count, bar)
        except UnsendableError:
            pass
    return _here(work, jobs, bar)


class UnsendableError(ValueError):
    """A learner, stream or metric cannot be sent to another process."""


def _packed(work: Work) -> bytes:
    try:
        message = pickle.dumps(work)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UnsendableError(f"compare: this cannot be sent to worker processes ({error}); use n_jobs=1") from error
    if b"__main__" in message:
        raise UnsendableError(
            "compare: a learner, stream or metric is defined in the script itself, which worker processes do not import; "
            "move it to a module, or use n_jobs=1"
        )
    return message


def _in_parallel(message: bytes, jobs: Sequence[Any], count: int, bar: Progress) -> list[Any]:
    count = min(count, len(jobs))
    if not jobs:
        return []
    idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
    workers: list[_Worker] = []

    def ask(job: Any) -> Any:
        worker = idle.get()
        try:
            return worker.ask(job)
        finally:
            idle.put(worker)

    threads = ThreadPoolExecutor(count)
    try:
        for _ in range(count):
            workers.append(_Worker(message))
            idle.put(workers[-1])
        futures = [threads.submit(ask, job) for job in jobs]
        for future in as_completed(futures):
            future.result()
            bar.advance(1)
        return [future.result() for future in futures]
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.end()
        threads.shutdown()


class _Worker:
    """The parent's end of a worker process."""

    def __init__(self, message: bytes) -> None:
        command = [sys.executable, "-c", _START.format(path=sys.path)]
        environment = ONE_THREAD | os.environ
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self._message: bytes | None = message

    def ask(self, job: Any) -> Any:
        """Sends a job and waits for its outcome; raises what the job raised."""
        into, out = self.process.stdin, self.process.stdout
        assert into is not None
        assert out is not None
        try:
            if self._message is not None:
                into.write(self._message)
                self._message = None
            pickle.dump(job, into)
            into.flush()
            outcome = pickle.load(out)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise RuntimeError(f"a worker process ended early, with status {self.process.poll()}") from error
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def end(self) -> None:
        """Stops the process and waits for its end."""
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # unsent data for a process that is gone
                    pipe.close()
        self.process.wait()


def serve() -> None:
    """The worker's side: reads the work, then a job at a time, until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a learner prints must not mix with the answers
    questions: Any = sys.stdin.buffer
    work: Work | BaseException
    try:
        work = pickle.load(questions)
    except Exception as error:
        work = RuntimeError(f"a worker process could not read its work: {error!r}")
    while True:
        try:
            job = pickle.load(questions)
        except EOFError:
            return
        pickle.dump(_answer(work, job), answers)
        answers.flush()


def _answer(work: Work | BaseException, job: Any) -> Any:
    if isinstance(work, BaseException):
        return work
    try:
        return work.run(job)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return RuntimeError(f"{type(error).__name__}: {error}")
        return error
