"""The examples of the property tests, which are fixed, and the search for others."""

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import patience

ROOT = Path(__file__).parents[2]
TESTS = """
import os, signal, time
import pytest
from hypothesis import given
from hypothesis import strategies as st

@given(st.integers(0, 10**9))
def test_that_fails(number):
    assert number < 1000

@given(st.integers(0, 10**9))
def test_that_crashes(number):
    os.kill(os.getpid(), signal.SIGSEGV)

@given(st.integers(0, 10**9))
def test_that_hangs(number):
    time.sleep(1000)

@given(st.integers(0, 10**9))
def test_that_holds(number):
    assert number >= 0

def test_without_examples():
    assert False
"""


def search(*arguments):
    command = [sys.executable, "-m", "tests.search", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=patience.SECONDS)
    return done.returncode, done.stdout


@pytest.fixture
def here():
    """A folder inside the project, as pytest names tests by their place in it."""
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        yield Path(folder)


def examples():
    drawn = []

    @given(st.tuples(st.integers(), st.floats(), st.text()))
    def draw(values):
        drawn.append(repr(values))

    draw()
    return drawn


def test_examples_are_the_same_whatever_was_imported_before(tmp_path):
    """Hypothesis tries the constants of all modules in memory: enough of them here to appear in the examples."""
    before = examples()
    written = tmp_path / "constants.py"
    written.write_text(f"NUMBERS = {[7_000_003 + n for n in range(2000)]}\nTEXTS = {[f'word {n}' for n in range(200)]}")
    found = importlib.util.spec_from_file_location("constants", written)
    sys.modules["constants"] = importlib.util.module_from_spec(found)
    try:
        found.loader.exec_module(sys.modules["constants"])
        assert examples() == before
    finally:
        del sys.modules["constants"]
    assert len(before) == 60


def test_a_search_survives_crashes_and_hangs_and_lists_what_it_found(here):
    tests = here / "test_these.py"
    tests.write_text(TESTS)
    code, told = search("--seconds", "10", "--seed", "5", str(tests))
    assert code == 1
    listed = told[told.index("reached 3 of 4 property tests") :]
    assert "test_that_fails failed" in listed
    assert "number=1000" in listed  # the smallest
    assert "test_that_crashes crashed: SIGSEGV" in listed
    assert "unfinished" in listed.partition("test_that_hangs")[0]
    assert "test_that_holds" not in told
    assert "test_without_examples" not in told
    (again,) = [line for line in listed.splitlines() if "repeat: " in line and "test_that_fails" in line]
    arguments = again.partition("tests.search ")[2].replace("'", "").split()
    code, told = search(*arguments)
    assert code == 1
    assert "number=1000" in told


def test_a_search_that_had_no_time_for_a_test_fails(here):
    """It has found nothing because it has not looked."""
    tests = here / "test_these.py"
    tests.write_text(TESTS)
    code, told = search("--seconds", "0.001", str(tests))
    assert code == 1
    assert "found nothing, because the time was up before a test had ended" in told
