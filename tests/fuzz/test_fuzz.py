"""30,000 random calls and files in separate processes, so that a crash of the interpreter is an exit code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import patience

ROOT = Path(__file__).parents[2]


def survive(module, count, seed, **environment):
    command = [sys.executable, "-m", f"tests.fuzz.{module}", str(count), str(seed)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=patience.SECONDS, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("seed", range(2))
def test_random_calls_are_taken_or_clearly_refused(seed):
    told = survive("calls", 10_000, seed)
    for verb in ("predict_one", "learn_one", "run", "fit", "set_params", "make"):
        assert f"{verb:12} taken" in told
        assert f"{verb:12} refused" in told


def test_random_files_are_taken_or_clearly_refused():
    told = survive("files", 10_000, seed=0)
    for how in ("altered", "forged"):
        assert f"{how:12} refused" in told
    assert "forged       taken" in told


@pytest.mark.parametrize(("module", "count"), [("calls", 1000), ("files", 500)])
def test_a_seed_gives_the_same_each_time(module, count):
    """Else what was found once could not be looked for again."""
    first, second = (survive(module, count, 0, PYTHONHASHSEED=number) for number in "12")
    assert first == second
    assert "all of it" in first
