"""One Spark session for all tests: starting it takes longer than any of them."""

import sys

import pytest


@pytest.fixture(scope="session")
def spark():
    pytest.importorskip("pyspark")
    from .session import make_session

    session = make_session("local[2]", sys.executable)
    yield session
    session.stop()
