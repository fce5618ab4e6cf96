"""30,000 random calls and files in separate processes, so that a crash of the interpreter shows as an exit code."""

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
def test_random_calls_are_accepted_or_clearly_refused(seed):
    printed = survive("calls", 10_000, seed)
    for verb in ("predict_one", "learn_one", "run", "fit", "set_params", "make"):
        assert f"{verb:12} taken" in printed
        assert f"{verb:12} refused" in printed


def test_random_files_are_accepted_or_clearly_refused():
    printed = survive("files", 10_000, seed=0)
    for how in ("altered", "forged"):
        assert f"{how:12} refused" in printed
    assert "forged       taken" in printed


@pytest.mark.parametrize(("module", "count"), [("calls", 1000), ("files", 500)])
def test_a_seed_reproduces_the_same_calls_and_files(module, count):
    """Otherwise a failure could not be reproduced."""
    first, second = (survive(module, count, 0, PYTHONHASHSEED=number) for number in "12")
    assert first == second
    assert "all of it" in first
