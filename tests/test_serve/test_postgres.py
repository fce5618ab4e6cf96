"""The log in PostgreSQL: recovery, two services on one database, and a lost database."""

import random
import time

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import driftline as dl
from driftline.serve.engine import Engine
from driftline.serve.problems import Problem, StoreError
from driftline.serve.store import FullError, LostError
from tests import patience
from tests.test_serve.load import CLIENTS, Current, Load, check, end
from tests.test_serve.process import Process
from tests.test_serve.test_process import KILLS, UNCUT
from tests.test_serve.tools import SEED, Direct, drive


@pytest.fixture
def database(postgresql):
    """The server, cleared of the data of earlier tests."""
    postgresql.execute("DROP SCHEMA IF EXISTS driftline CASCADE")
    return postgresql


def log_of(database):
    models = database.execute("SELECT number, name, config FROM driftline.models")
    log = database.execute("SELECT model, kind, body, note FROM driftline.log ORDER BY number")
    return models, log


def store(database):
    """A store that can take the lead; a closed session may last a moment longer."""
    from driftline.serve.postgres import PostgresStore

    until = time.monotonic() + patience.SECONDS
    while database.execute("SELECT 1 FROM pg_stat_activity WHERE application_name = 'driftline'"):
        assert time.monotonic() < until
        time.sleep(0.01)
    return PostgresStore(database.address)


def test_snapshots_and_the_log_recover_the_same_models(database, monkeypatch):
    monkeypatch.setattr(Engine, "_keep_short", lambda self: self.log.last % 7 or self._save(0.0))
    with Direct(store(database)) as service:
        service.put("k", learner="rls", keyed=True)
        drive(service, "k", np.random.default_rng(2), 60, ("u", "v"))
        expected = [service.export("k", key) for key in "uv"], service.status("k"), list(service.engine.log.models["k"].ids)
        service.engine._save = lambda seconds: None  # stops as if killed
    with Direct(store(database)) as again:
        assert again.engine.log.cut > 0
        assert again.engine.log_length > 0
        found = [again.export("k", key) for key in "uv"], again.status("k"), list(again.engine.log.models["k"].ids)
        assert found == expected


def test_classes_and_pools_are_recovered_and_followed(database):
    """Also by a service that waits, and while the leader is of a version that knew no classes."""
    with Direct(store(database)) as service:
        service.put("c", learner="classifier")
        service.put("p", learner="rls", keyed=True, pooled=True)
        for number in range(30):
            service.learn("c", id=f"c{number}", x=[float(number % 7)], y="high" if number % 7 > 3 else "low")
            service.learn("p", id=f"p{number}", key="uvw"[number % 3], x=[float(number % 7)], y=float(number % 3))
        service.predict("p", id="waits", key="new", x=[1.0])
        from driftline.serve.postgres import PostgresStore

        with Direct(PostgresStore(database.address)) as follower:
            assert not follower.engine.leading
            expected = {name: (service.export(name), service.status(name)) for name in "cp"}
            assert follow(follower, "cp") == expected
            service.learn("c", x=[9.0], y="new")
            database.execute("ALTER TABLE driftline.classes RENAME TO hidden")
            service.learn("p", id="waits", y=1.0)
            while follow(follower, "p")["p"][1]["waiting"]:
                time.sleep(0.05)
            database.execute("ALTER TABLE driftline.hidden RENAME TO classes")
        service.engine._save = lambda seconds: None  # stops as if killed
        expected = {name: (service.export(name), service.status(name)) for name in "cp"}
    with Direct(store(database)) as again:
        assert {name: (again.export(name), again.status(name)) for name in "cp"} == expected
        assert again.status("c")["classes"] == ["low", "high", "new"]


def follow(service, names):
    """The models and status of a service that follows, once it has read them."""
    until = time.monotonic() + patience.SECONDS
    while True:
        try:
            return {name: (service.export(name), service.status(name)) for name in names}
        except Problem:
            assert time.monotonic() < until
            time.sleep(0.05)


def test_a_damaged_entry_stops_the_start(database):
    with Direct(store(database)) as service:
        service.put("m", learner="rls")
        service.learn("m", x=[1.0], y=1.0)
        service.engine._save = lambda seconds: None
    database.execute("UPDATE driftline.log SET at = at + 1")
    with pytest.raises(StoreError, match="entry 1 of the log is damaged"):
        Direct(store(database))


@pytest.mark.parametrize("part", ["takeover", "recovery"])
def test_a_disk_too_full_to_recover_from_is_tried_again(database, monkeypatch, part):
    """The first recovery, of a leader that lost the store or could not write a group, meets a full disk."""
    with Direct(store(database)) as service:
        service.put("m", learner="rls")
        service.learn("m", id="a", x=[1.0], y=2.0)
        engine, model = service.engine, service.export("m")
        recover, commit, left = engine.log.recover, engine.store.commit, [LostError("gone"), FullError("no room")]
        if part == "recovery":
            left = [FullError("no room"), FullError("no room")]

        def fail(group):
            monkeypatch.setattr(engine.store, "commit", commit)
            if part == "takeover":
                engine.store.close()
            raise left.pop(0)

        def fail_again():
            monkeypatch.setattr(engine.log, "recover", recover)
            raise left.pop(0)

        monkeypatch.setattr(engine.store, "commit", fail)
        monkeypatch.setattr(engine.log, "recover", fail_again)
        answer, statuses = None, set()
        while answer is None:
            try:
                answer = service.learn("m", id="b", x=[1.0], y=2.0)
            except Problem as problem:
                statuses.add(problem.status)
        assert statuses == {503, 504}
        assert not left
        assert answer == {"learned": 1, "known": 0}
        assert service.learn("m", id="a", x=[1.0], y=2.0) == {"learned": 0, "known": 1}
        learner = dl.from_bytes(model)
        learner.learn_one([1.0], 2.0)
        assert service.export("m") == learner.to_bytes()


def leader(services):
    """Waits for a leader and returns it."""
    until = time.monotonic() + min(patience.SECONDS, 120)
    while True:
        for service in services:
            if service.process.poll() is None and service.client().call("GET", "/readyz")[0] == 200:
                return service
        assert time.monotonic() < until
        time.sleep(0.05)


def test_after_kill_9_of_the_leader_nothing_is_lost_and_nothing_is_learned_twice(database, tmp_path):
    options = ("--store", database.address, *UNCUT)
    services = [Process(tmp_path, *options), Process(tmp_path, *options)]
    current, slowest = Current(), 0.0
    current.service = leader(services)
    loads = [Load(current, number, SEED, False) for number in range(CLIENTS)]
    try:
        assert current.service.client().call("PUT", "/v1/models/m", {"learner": "rls"})[0] == 201
        follower = next(service for service in services if service is not current.service)
        assert follower.client().call("POST", "/v1/models/m/learn", {"x": [1.0], "y": 1.0})[0] == 503
        for load in loads:
            load.start()
        for _ in range(KILLS):
            time.sleep(random.Random(SEED).uniform(0.1, 0.8))
            killed, current.service = current.service, None
            killed.kill()
            start = time.monotonic()
            services.remove(killed)
            current.service = leader(services)
            slowest = max(slowest, time.monotonic() - start)
            services.append(Process(tmp_path, *options))
        time.sleep(0.3)
        end(loads)
        check(loads, current.service.client(), *log_of(database))
    finally:
        end([load for load in loads if load.is_alive()])
        for service in services:
            service.kill()
    print(f"slowest takeover {slowest:.1f} s")


def test_the_service_waits_for_a_lost_database(database, tmp_path):
    with Process(tmp_path, "--store", database.address) as service:
        client = service.client()
        client.call("PUT", "/v1/models/m", {"learner": "rls"})
        assert client.call("POST", "/v1/models/m/learn", {"id": "a", "x": [1.0], "y": 1.0})[0] == 200
        database.stop()
        assert client.call("POST", "/v1/models/m/learn", {"id": "b", "x": [1.0], "y": 1.0})[0] in (503, 504)
        assert client.call("GET", "/healthz")[0] == 200
        database.start()
        leader([service])
        assert client.call("POST", "/v1/models/m/learn", {"id": "b", "x": [1.0], "y": 1.0})[1]["learned"] == 1
        assert client.call("GET", "/v1/models/m")[1]["rows"] == 2
        assert not any("Traceback" in line for line in service.lines)
