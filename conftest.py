"""Settings of the whole run: NumPy's threads, the garbage collector, and tests that need a server or a browser."""

import gc
import os
import sys

import pytest

from tests import services

# Threads of OpenBLAS and OpenMP wait for each other in loops: with a worker on every core they take most of the time.
# Pytest's workers and the processes that tests start inherit this.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# Many tests start Python. If it may not keep what it compiles, each start compiles driftline again, and each worker rewrites
# the assertions of all tests again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_collection_finish():
    """Modules and tests stay until the end: no later collection has to walk through a million objects again."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser):
    """Adds what ``make test-services`` asks for."""
    parser.addoption(
        "--services", action="store_true", help="tests whose server or browser is missing fail instead of being skipped"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Marks the tests whose fixtures need a program, before ``-m`` selects tests by their marks."""
    for item in items:
        for fixture in services.FIXTURES.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.services(services.FIXTURES[fixture]))


def pytest_runtest_setup(item):
    """Skips a test whose program is missing."""
    for mark in item.iter_markers("services"):
        for reason in filter(None, map(services.lacking, mark.args)):
            pytest.fail(reason) if item.config.option.services else pytest.skip(reason)
