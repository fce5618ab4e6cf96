"""Services that tests call directly, without a socket."""

import pytest

from tests.test_serve.client import Client
from tests.test_serve.cluster import Cluster


@pytest.fixture(scope="module")
def postgresql():
    """A private server of PostgreSQL."""
    pytest.importorskip("psycopg")
    server = Cluster()
    yield server
    server.close()


@pytest.fixture
def start(tmp_path):
    """Returns a function that starts a service and returns its client."""
    from driftline.serve.api import Api
    from driftline.serve.engine import Engine
    from driftline.serve.limits import Limits
    from driftline.serve.sqlite import SqliteStore

    engines = []

    def start(tokens=None, host="127.0.0.1", folder="service", **limits):
        engine = Engine(SqliteStore(tmp_path / folder), Limits(**limits))
        engine.start()
        engines.append(engine)
        return Client(Api(engine, tokens).app, engine, host)

    yield start
    for engine in engines:
        if engine.alive:
            engine.stop()


@pytest.fixture
def client(start):
    """A service without tokens, with the model ``m``."""
    client = start()
    assert client.put("/v1/models/m", json={"learner": "rls"}).status_code == 201
    return client
