"""Queues for the tests."""

import pytest

from tests.test_consume import servers


@pytest.fixture(scope="module")
def redis():
    """A private server of Redis."""
    pytest.importorskip("redis")
    server = servers.Redis()
    yield server
    server.close()
