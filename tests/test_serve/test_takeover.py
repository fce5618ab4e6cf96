"""The lead of one of several services on a PostgreSQL: who has it, who writes, who answers, when the leader goes silent."""

import signal
import time

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("psycopg")

from driftline.serve.store import Group, LogEntry, LostError
from driftline.serve.tokens import digest_of
from tests import patience
from tests.test_serve.cluster import Cluster
from tests.test_serve.network import Network
from tests.test_serve.process import Process

TOKEN = "a token of the tests"


@pytest.fixture(scope="module")
def network():
    """Hosts that can be cut off."""
    network = Network()
    yield network
    network.close()


@pytest.fixture(scope="module")
def stage(network, tmp_path_factory):
    """A database that two hosts can reach, and a function that starts a service on one of them."""
    database = Cluster(network.database)
    tokens = tmp_path_factory.mktemp("tokens") / "tokens.txt"
    tokens.write_text(f"{digest_of(TOKEN)} admin tests\n")
    address = f"postgresql://tests@{network.database}/postgres"
    hosts = [network.host(), network.host()]

    def start():
        database.execute("DROP SCHEMA IF EXISTS driftline CASCADE")
        options = ("--store", address, "--tokens", str(tokens))
        return [Process(tokens.parent / host.name, *options, host=host) for host in hosts]

    yield database, hosts, start
    database.close()


def until(found):
    """Waits until a function returns something."""
    end = time.monotonic() + min(patience.SECONDS, 120)
    while not (got := found()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return got


def call(service, *request):
    """A call that may get no answer."""
    try:
        return service.client(TOKEN, seconds=2).call(*request)
    except OSError:
        return 0, {}


def leads(service):
    return call(service, "GET", "/readyz")[0] == 200


LEARN = "/v1/models/m/learn"


@pytest.mark.services("postgresql")
@pytest.mark.parametrize("how", ["its host vanishes", "it is paused", "it is cut off from the database"])
def test_a_silent_leader_is_replaced_and_writes_nothing_when_it_wakes(stage, how):
    database, hosts, start = stage
    services = start()
    try:
        old = until(lambda: next((service for service in services if leads(service)), None))
        new, host = services[1 - services.index(old)], hosts[services.index(old)]
        assert call(old, "PUT", "/v1/models/m", {"learner": "rls"})[0] == 201
        assert call(old, "POST", LEARN, {"id": "a", "x": [1.0], "y": 2.0})[1] == {"learned": 1, "known": 0}
        began = time.monotonic()
        if how == "it is paused":
            old.process.send_signal(signal.SIGSTOP)
        else:
            host.cut(*(["database"] if "database" in how else []))
        until(lambda: leads(new))
        print(f"{how}: takeover after {time.monotonic() - began:.1f} s")
        assert call(new, "POST", LEARN, {"id": "a", "y": 2.0})[1] == {"learned": 0, "known": 1}
        assert call(new, "POST", LEARN, {"id": "b", "x": [1.0], "y": 3.0})[1] == {"learned": 1, "known": 0}
        if how == "it is paused":
            old.process.send_signal(signal.SIGCONT)
        else:
            host.heal()
        assert until(lambda: call(old, "POST", LEARN, {"id": "c", "x": [1.0], "y": 4.0})[0]) in (503, 504)
        assert leads(new)
        assert database.execute("SELECT count(*) FROM driftline.log") == [(2,)]
        until(lambda: call(old, "GET", "/v1/models/m")[1].get("rows") == 2)
    finally:
        for host in hosts:
            host.heal()
        for service in services:
            service.kill()


@pytest.fixture
def database(postgresql):
    """The server, cleared of the data of earlier tests."""
    postgresql.execute("DROP SCHEMA IF EXISTS driftline CASCADE")
    return postgresql


@pytest.fixture
def store(database):
    """Returns a function that makes a store."""
    from driftline.serve.postgres import PostgresStore

    made = []

    def store():
        made.append(PostgresStore(database.address))
        return made[-1]

    yield store
    for each in made:
        each.close()


ENTRY = LogEntry(1, 1, "learn", 0.0, b"{}", b"")


def test_no_transaction_of_a_former_leader_is_committed(database, store):
    """Its session is alive: the token alone refuses it."""
    leader = store()
    assert leader.lead()
    database.execute("UPDATE driftline.lease SET token = token + 1")
    with pytest.raises(LostError, match="another service has taken over"):
        leader.commit(Group([ENTRY]))
    assert database.execute("SELECT * FROM driftline.log") == []
    with pytest.raises(LostError):
        leader.check()


def test_what_a_paused_leader_had_not_committed_is_undone(database, store):
    first, second = store(), store()
    assert first.lead()
    assert not second.lead()
    first._ended.set()  # no more signs of life, as if it were paused

    def take_over_meanwhile():
        with first._transaction() as cursor:
            cursor.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)", (1, 1, "learn", 0.0, b"{}", b"", 0))
            database.execute("UPDATE driftline.lease SET until = '-infinity'")
            until(second.lead)

    with pytest.raises(LostError):
        take_over_meanwhile()
    assert list(second.entries(0)) == []
    second.commit(Group([ENTRY]))
    assert list(second.entries(0)) == [ENTRY]


def test_the_lead_is_free_at_once_when_the_leader_is_closed(database, store):
    first, second = store(), store()
    assert first.lead()
    assert not second.lead()
    first.close()
    assert database.execute("SELECT until > clock_timestamp() FROM driftline.lease") == [(True,)]
    until(second.lead)


def test_a_renewed_lease_lasts(database, store):
    leader, other = store(), store()
    assert leader.lead()
    before = database.execute("SELECT until FROM driftline.lease")
    until(lambda: database.execute("SELECT until FROM driftline.lease") > before)
    assert not other.lead()
    leader.commit(Group([ENTRY]))


@pytest.mark.services("postgresql")
def test_the_waiting_service_answers_questions_as_the_leader_does(database, tmp_path):
    services = [Process(tmp_path, "--store", database.address, "--entries", "20") for _ in range(2)]
    try:
        leader = until(lambda: next((service for service in services if leads(service)), None))
        (other,) = (service for service in services if service is not leader)
        leader, other = leader.client(), other.client()
        leader.call("PUT", "/v1/models/m", {"learner": "rls"})
        for row in range(50):  # the log is cut meanwhile
            leader.call("POST", LEARN, {"id": f"r{row}", "x": {"a": row % 7, "b": row % 5}, "y": row % 7 + 2.0})
            if row == 30:
                until(lambda: other.call("GET", "/v1/models/m")[1].get("rows") == 31)
        until(lambda: other.call("GET", "/v1/models/m")[1].get("rows") == 50)
        question = ("POST", "/v1/models/m/predict", {"x": {"a": 3.0, "b": 1.0}})
        assert other.call(*question) == leader.call(*question)
        assert other.call("GET", "/v1/models/m/export") == leader.call("GET", "/v1/models/m/export")
        assert other.call("POST", "/v1/models/m/predict", {"id": "q", "x": {"a": 3.0}})[0] == 503
        assert other.call("POST", LEARN, {"id": "r1", "y": 3.0})[0] == 503
        assert other.call("POST", "/v1/models/m/reset", {})[0] == 503
        assert [b"driftline_leader 0" in client.call("GET", "/metrics")[1] for client in (other, leader)] == [True, False]
        leader.call("PUT", "/v1/aliases/n", {"model": "m"})
        leader.call("POST", "/v1/models/m/reset", {})
        until(lambda: other.call("GET", "/v1/models/n")[1].get("rows") == 0)
    finally:
        for service in services:
            service.kill()
