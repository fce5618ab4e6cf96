"""Kills ``driftline run`` and starts competing runs on the same files: the result must equal one undisturbed run."""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.test_cli.killing import killer
from tests.test_cli.tables import mixed, write

MAIN = [sys.executable, "-c", "from driftline.cli import main; main()"]
AT_ONCE = 3


def _arguments(source, folder):
    options = ["-t", "load", "-m", "rls", "--save-every", "50", "--quiet"]
    return ["run", str(source), *options, "--out", str(folder / "out.csv"), "--state", str(folder / "state")]


def _repeat(seconds, seed, trial, rows):
    """Repeats a trial until the time is up, each with its own seed and two folders; returns the results."""
    until, found = time.monotonic() + seconds, []
    while not found or time.monotonic() < until:
        with tempfile.TemporaryDirectory() as name:
            folder, whole = Path(name) / "folder", Path(name) / "whole"
            folder.mkdir()
            whole.mkdir()
            source = write(mixed(rows), Path(name) / "a.csv")
            found.append(trial(1_000 * seed + len(found), _arguments(source, whole), _arguments(source, folder)))
            assert (folder / "out.csv").read_bytes() == (whole / "out.csv").read_bytes(), "other predictions"
            assert sorted(path.name for path in folder.iterdir()) == ["out.csv", "state"], "something is left behind"
    return found


def _killed(seed, whole, again):
    with killer() as kill_at_random:
        return kill_at_random(seed, 20, whole, [*again, "--resume"])


def _contended(seed, whole, again):
    """Starts several runs at once, kills some of them, then resumes one alone; returns how many were refused."""
    rng, refused = random.Random(seed), 0
    subprocess.run([*MAIN, *whole], check=True)
    rivals = [subprocess.Popen([*MAIN, *again, "--resume"], stderr=subprocess.PIPE, text=True) for _ in range(AT_ONCE)]
    for rival in rivals:
        if rng.random() < 0.5:
            time.sleep(rng.random())
            rival.kill()
        message = rival.communicate()[1]
        assert rival.returncode in (0, -9) or "in use by" in message, f"seed {seed}: {message}"
        refused += rival.returncode == 2
    subprocess.run([*MAIN, *again, "--resume"], check=True)
    return refused


def kill(seconds, seed):
    """Kills runs at random, and resumes them."""
    found = _repeat(seconds, seed, _killed, rows=800)
    return f"{sum(found)} kills of {len(found)} runs"


def contend(seconds, seed):
    """Starts several runs on the same state and output files."""
    found = _repeat(seconds, seed, _contended, rows=3000)
    return f"{AT_ONCE * len(found)} runs on the files of {len(found)}, {sum(found)} of them refused"
