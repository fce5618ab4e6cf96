"""The rounds of a search: a plugin of pytest that runs each property test in a process of its own, two at a time."""

import contextlib
import dataclasses
import faulthandler
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import hypothesis
import pytest
from _pytest.runner import runtestprotocol
from hypothesis.database import DirectoryBasedExampleDatabase

FOLDER = Path(__file__).parents[2] / "build" / "search"
ROUNDS = 10
WORKERS = 2
PASSED, FAILED, SKIPPED = 0, 1, 2  # exit codes of the processes
SHOWN = 25  # lines of a failure in the list


def pytest_addoption(parser):
    parser.addoption("--search-seconds", type=float)
    parser.addoption("--search-seed", type=int)
    parser.addoption("--search-round", type=int)


def pytest_configure(config):
    """Before pytest imports the tests, which keep the settings that they see then."""
    search = Search(config.option.search_seconds, config.option.search_seed, config.option.search_round)
    config.pluginmanager.register(search)
    hypothesis.settings.register_profile("search", hypothesis.settings.default, derandomize=False, database=search.examples)
    hypothesis.settings.load_profile("search")


class Examples(DirectoryBasedExampleDatabase):
    """Keeps failing examples, and creates the file ``failing`` as soon as a test has one, long before it is the smallest."""

    failing = None

    def save(self, key, value):
        if self.failing:
            self.failing.touch()
        super().save(key, value)


@dataclasses.dataclass
class Process:
    """A test that runs in a forked process, in a folder of its own."""

    item: pytest.Item
    round: int
    folder: Path
    until: float
    id: int = 0

    @property
    def log(self):
        return self.folder / "log.txt"

    @property
    def failing(self):
        return self.folder / "failing"

    def start(self, seed, examples):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        sys.stdout.flush()
        self.id = os.fork()
        if self.id == 0:
            ended = FAILED
            try:
                ended = self._run(seed, examples)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(ended)

    def _run(self, seed, examples):
        os.setsid()  # so that end() also ends what the test started
        log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        faulthandler.enable(2)
        examples.failing = self.failing
        tempfile.tempdir = str(self.folder / "temporary")
        os.mkdir(tempfile.tempdir)
        hypothesis.seed(f"{seed} {self.round} {self.item.nodeid}")(self.item.function)
        reports = runtestprotocol(self.item, nextitem=None, log=False)
        for report in reports:
            print(report.longreprtext if report.failed else "", *(text for _, text in report.sections), sep="\n")
        return FAILED if any(r.failed for r in reports) else SKIPPED if any(r.skipped for r in reports) else PASSED

    def ended(self):
        """The exit code, or None while the test runs."""
        ended, status = os.waitpid(self.id, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if ended else None

    def stop(self):
        os.kill(self.id, signal.SIGKILL)
        os.waitpid(self.id, 0)

    def sweep(self):
        """Ends the processes that the test has left behind."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.id, signal.SIGKILL)


class Search:
    """Runs the property tests that pytest collected, round by round, until the time is up."""

    def __init__(self, seconds, seed, number):
        self.began, self.seconds, self.seed = time.monotonic(), seconds, seed
        self.rounds = range(ROUNDS) if number is None else [number]
        self.until = self.began + seconds
        self.longest = max(seconds / 5, 60.0)  # for one test
        self.examples = Examples(FOLDER / "examples")
        self.found, self.unfinished, self.skipped, self.passed = {}, {}, set(), {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        session.config.pluginmanager.unregister(name="terminalreporter")  # it would report that no tests ran
        if session.testsfailed:
            raise session.Failed("not all tests could be imported")
        items = [item for item in session.items if getattr(item.function, "is_hypothesis_test", False)]
        print(f"{len(items)} property tests, {self.seconds:g} seconds, SEED={self.seed}", flush=True)
        running = []
        try:
            for process in self._processes(items):
                while len(running) == WORKERS and time.monotonic() < self.until:
                    running = self._still(running)
                if time.monotonic() >= self.until:
                    break
                process.until = min(self.until, time.monotonic() + self.longest)
                process.start(self.seed, self.examples)
                running.append(process)
            while running:
                running = self._still(running)
        except KeyboardInterrupt:
            print("interrupted")
        finally:
            for process in running:
                process.stop()
                process.sweep()
        self._tell(items)
        session.testsfailed = len(self.found) or int(bool(items) and not self._reached())
        return True

    def _processes(self, items):
        for number in self.rounds:
            order = [item for item in items if item.nodeid not in self.skipped | self.found.keys() | self.unfinished.keys()]
            random.Random(f"{self.seed} {number}").shuffle(order)
            for item in order:
                folder = re.sub(r"\W+", "-", f"{item.nodeid} {number}")[-200:]
                yield Process(item, number, FOLDER / "logs" / folder, 0.0)
            print(f"round {number} began its last test after {time.monotonic() - self.began:.0f} s", flush=True)

    def _still(self, running):
        """The processes that still run, after a short wait; those that ended, or whose time is up, are judged."""
        time.sleep(0.01)
        still = []
        for process in running:
            code = process.ended()
            if code is None and time.monotonic() < process.until:
                still.append(process)
                continue
            if code is None:
                process.stop()
            process.sweep()
            self._judge(process, code)
        return still

    def _judge(self, process, code):
        """Notes how a test ended; code is None if it was stopped."""
        name = process.item.nodeid
        if code == PASSED:
            self.passed[name] = self.passed.get(name, 0) + 1
        elif code == SKIPPED:
            self.skipped.add(name)
        elif code is None and not process.failing.exists():
            self.unfinished[name] = process
        else:
            stopped = "failed, and was stopped before it had found its smallest example"
            how = stopped if code is None else "failed" if code >= 0 else f"crashed: {signal.Signals(-code).name}"
            self.found[name] = process, how
            print(f"found: {name} {how}", flush=True)
            return
        shutil.rmtree(process.folder, ignore_errors=True)

    def _reached(self):
        """The tests that have run to their end."""
        return self.passed.keys() | self.found.keys() | self.skipped

    def _tell(self, items):
        """Prints the list of what was found."""
        names = {item.nodeid for item in items}
        reached = self.passed.keys() | self.found.keys()
        least = min((self.passed.get(name, 0) for name in names - self.found.keys() - self.skipped), default=0)
        print(f"\n{time.monotonic() - self.began:.0f} s: reached {len(reached)} of {len(items)} property tests", end="")
        print(f"; ran those that hold at least {least} times each; {len(self.skipped)} were skipped")
        for name, process in self.unfinished.items():
            if process.until < self.until or name not in self.passed:  # the others ran when the search ended
                print(f"\nunfinished: {name}\n  {self._again(name, process)}")
        for name, (process, how) in self.found.items():
            lines = process.log.read_text(errors="replace").splitlines() if process.log.exists() else []
            told = [line for line in lines if line.startswith("E  ")] or lines
            print(f"\nFOUND {name} {how}", *told[:SHOWN], sep="\n  ")
            print(f"  all of it: {os.path.relpath(process.log)}\n  {self._again(name, process)}")
        why = "" if self._reached() else ", because the time was up before a test had ended: give it more SECONDS"
        print(f"\nfound {len(self.found) or 'nothing'}{why}")

    def _again(self, name, process):
        return (
            f"repeat: {os.path.relpath(sys.executable)} -m tests.search --seed {self.seed} --round {process.round} '{name}'"
        )
