"""The clients against a real service: every method, dropped connections, kill -9, a takeover."""

import asyncio
import inspect
import itertools
import random
import threading
import time

import numpy as np
import pytest

pytest.importorskip("httpx")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import driftline as dl
from driftline.client import AsyncClient, Client, ServiceError, UnsureError
from driftline.serve.tokens import digest_of
from tests import patience
from tests.test_client.flaky import Flaky
from tests.test_serve.cluster import Cluster
from tests.test_serve.process import Process
from tests.test_serve.test_postgres import leader
from tests.test_serve.test_process import UNCUT
from tests.test_serve.tools import SEED, account_of, read_log, rows_with_effect


class Waiting:
    """A blocking wrapper of AsyncClient, so that one test covers both clients."""

    def __init__(self, *arguments, **options):
        self.loop = asyncio.new_event_loop()
        self.client = AsyncClient(*arguments, **options)

    def __getattr__(self, verb):
        def call(*arguments, **options):
            return self.loop.run_until_complete(getattr(self.client, verb)(*arguments, **options))

        return call

    def events(self, *arguments):
        stream = self.client.events(*arguments)
        try:
            while True:
                yield self.loop.run_until_complete(anext(stream))
        finally:
            self.loop.run_until_complete(stream.aclose())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.loop.run_until_complete(self.client.close())
        self.loop.close()


BOTH = pytest.mark.parametrize("kind", [Client, Waiting], ids=["sync", "async"])


def url(service):
    return f"http://127.0.0.1:{service.port}"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service with one token for everything and one for reading."""
    folder = tmp_path_factory.mktemp("service")
    (folder / "tokens").write_text(f"{digest_of('secret')} admin\n{digest_of('reader')} read\n")
    with Process(folder / "s", "--tokens", str(folder / "tokens")) as service:
        yield service


def test_both_clients_have_the_same_verbs():
    for name, method in vars(Client).items():
        if not name.startswith("_"):
            other = getattr(AsyncClient, name)
            assert inspect.signature(other).parameters == inspect.signature(method).parameters, name


@BOTH
def test_every_verb_works(service, kind):
    with kind(url(service), "secret", patience=patience.SECONDS) as client:
        made = client.put("m", "rls", {"forgetting": 0.9}, level=0.8, quantiles=[0.4, 0.6])
        assert (made["learner"], made["params"], made["level"]) == ("rls", {"forgetting": 0.9}, 0.8)
        assert client.put("m", "rls", {"forgetting": 0.9}, level=0.8, quantiles=np.array([0.4, 0.6]))["name"] == "m"
        expected = dl.RLS(forgetting=0.9)
        assert client.predict("m", {"a": 1.0}, id="i")["id"] == "i"
        assert client.learn("m", id="i", y=2.0) == {"learned": 1, "known": 0}
        assert client.learn("m", id="i", y=2.0) == {"learned": 0, "known": 1}
        rows = [{"x": {"a": float(n)}, "y": 2.0 * n} for n in range(5)]
        assert client.learn_rows("m", rows) == {"learned": 5, "known": 0}
        assert client.learn("m", x={"a": 7.0}, y=1.0) == {"learned": 1, "known": 0}
        expected.learn_one({"a": 1.0}, 2.0)
        for row in [*rows, {"x": {"a": 7.0}, "y": 1.0}]:
            expected.learn_one(row["x"], row["y"])
        answer, ticket = client.predict("m", {"a": 3.0}), expected.ask({"a": 3.0})
        assert (answer["prediction"], answer["quantiles"]) == (ticket.prediction, ticket.quantiles([0.4, 0.6]).tolist())
        assert [row["prediction"] for row in client.predict_rows("m", [{"x": {"a": 1.0}}, {"x": {"a": 2.0}}])] == [
            expected.predict_one({"a": 1.0}), expected.predict_one({"a": 2.0}),
        ]  # fmt: skip
        assert dl.from_bytes(client.export("m")).to_bytes() == expected.to_bytes()
        assert client.model("m")["rows"] == 7
        event, status = next(client.events("m"))
        assert (event, status["rows"]) == ("status", 7)
        client.put("f", "rls", steps=2, keyed=True)
        client.learn_rows("f", [{"key": "k", "x": [1.0], "y": 1.0}] * 3)
        assert len(client.forecast("f", [{"key": "k", "x": [1.0]}] * 2)) == 2
        assert client.model("f", "k")["rows"] == 3
        assert [model["name"] for model in client.models()] == ["m", "f"]
        assert client.copy("m", "n")["rows"] == client.copy("m", "n", replace=True)["rows"] == 7
        assert (client.reset("m")["rows"], client.model("n")["rows"]) == (0, 7)
        assert client.push("p", expected, level=0.7, quantiles=[0.5])["level"] == 0.7
        assert client.push("p", expected.to_bytes(), level=0.7, quantiles=[0.5])["quantiles"] == [0.5]
        found = client.learn_rows("m", [{"id": "nobody", "y": 1.0}, {"x": {"a": 1.0}, "y": 1.0}], on_error="report")
        assert (found["learned"], found["rows"][0]["error"]["status"], found["rows"][1]["result"]) == (1, 404, "learned")
        assert "error" in client.predict_rows("m", [{"x": {"a": ""}}, {"x": {"a": 1.0}}], on_error="report")[0]
        assert client.alias("best", "p") == {"alias": "best", "model": "p"}
        assert client.predict("best", {"a": 3.0})["prediction"] == expected.predict_one({"a": 3.0})
        assert client.aliases() == {"best": "p"}
        client.delete_alias("best")
        for name in ("m", "n", "f", "p"):
            client.delete(name)
        assert client.models() == []


@BOTH
def test_refused_requests_raise_errors_that_name_the_row_and_the_field(service, kind):
    with kind(url(service), "secret") as client, kind(url(service), "reader") as reader:
        with pytest.raises(ServiceError, match="no model") as refused:
            client.predict("nobody", [1.0])
        assert refused.value.status == 404
        client.put("m")
        with pytest.raises(ServiceError) as refused:
            client.learn_rows("m", [{"x": [1.0], "y": 1.0}, {"x": [1.0]}])
        assert (refused.value.status, refused.value.row, refused.value.field) == (422, 1, "y")
        with pytest.raises(ServiceError, match="scope write"):
            reader.learn("m", x=[1.0], y=1.0)
        client.delete("m")


@BOTH
def test_an_unreachable_service_raises_an_error_when_patience_ends(kind):
    with kind("http://127.0.0.1:9", patience=0.0) as client, pytest.raises(ServiceError, match="cannot be reached") as lost:
        client.learn("m", x=[1.0], y=1.0)
    assert not isinstance(lost.value, UnsureError)
    assert lost.value.status is None


@BOTH
def test_dropped_connections_lose_no_row_with_an_id_and_learn_none_twice(tmp_path, kind):
    with Process(tmp_path, *UNCUT) as service, Flaky(service.port, SEED, 0.3) as flaky:
        with kind(flaky.url, patience=patience.SECONDS) as client:
            client.put("m", "rls")
            received = {}
            for number in range(60):
                received[str(number)] = client.predict("m", {"a": float(number)}, id=str(number))
                answer = client.learn("m", id=str(number), y=1.0)
                assert sum(answer.values()) == 1
            client.predict("m", {"a": 0.5})
            received["export"] = client.export("m")
        assert min(flaky.dropped.values()) > 5
        check(received, *read_log(tmp_path))


@BOTH
def test_labels_without_ids_are_never_sent_twice_and_the_caller_is_told(tmp_path, kind):
    """An acknowledged label was learned; a label that raised UnsureError may have been."""
    with Process(tmp_path, *UNCUT) as service, Flaky(service.port, SEED, 0.3) as flaky:
        sure, unsure = [], []
        with kind(flaky.url, patience=patience.SECONDS) as client:
            client.put("m", "rls")
            for number in range(60):
                try:
                    client.learn("m", x=[float(number)], y=1.0)
                    sure.append(number)
                except UnsureError:
                    unsure.append(number)
        log = read_log(tmp_path)[1]
        learned = [row["x"][0] for _, _, body, note in log for row in rows_with_effect(body, note)]
        assert len(unsure) == sum(flaky.dropped.values()) > 5
        assert len(learned) == len(set(learned))
        assert {*sure} <= {*learned} <= {*sure, *unsure}
        assert {*learned} & {*unsure}


def feed(kind, urls, ended, received):
    """Predicts and learns by id until ``ended`` is set; collects the answers by id, and the exported model."""
    with kind(urls, patience=patience.SECONDS) as client:
        client.put("m", "rls")
        for number in itertools.count():
            received[str(number)] = client.predict("m", {"a": float(number % 7)}, id=str(number))
            client.learn("m", id=str(number), y=float(number % 3))
            if ended.is_set() and number > 30:
                break
        received["export"] = client.export("m")


@BOTH
def test_a_client_survives_kill_9_of_the_service(tmp_path, kind):
    ended, received = threading.Event(), {}
    service = Process(tmp_path, *UNCUT)
    port = service.port
    thread = threading.Thread(target=feed, args=(kind, f"http://127.0.0.1:{port}", ended, received))
    thread.start()
    rng = random.Random(SEED)
    try:
        for _ in range(2):
            time.sleep(rng.uniform(0.1, 0.4))
            service.kill()
            service = Process(tmp_path, "--port", str(port), *UNCUT)
        ended.set()
        thread.join(patience.SECONDS)
        check(received, *read_log(tmp_path))
    finally:
        ended.set()
        thread.join(patience.SECONDS)
        service.kill()


def check(received, models, log):
    """The client's answers must equal the library's replay of the log, and no label may be in the log twice."""
    learner, answers = account_of(models, log)["m", ""]
    assert received.pop("export") == learner.to_bytes()
    assert {one: answer["prediction"] for one, answer in received.items()} == {
        one: given[0] for one, given in answers.items()
    }
    labels = [row["id"] for _, verb, body, note in log if verb == "learn" for row in rows_with_effect(body, note)]
    assert labels == list(received)


@pytest.mark.services("postgresql")
@BOTH
def test_a_client_survives_a_takeover(tmp_path, kind):
    database = Cluster()
    services = [Process(tmp_path, "--store", database.address, *UNCUT) for _ in range(2)]
    ended, received = threading.Event(), {}
    thread = threading.Thread(target=feed, args=(kind, [url(service) for service in services], ended, received))
    try:
        first = leader(services)
        thread.start()
        time.sleep(0.3)
        first.kill()
        leader([service for service in services if service is not first])
        ended.set()
        thread.join(patience.SECONDS)
        models = database.execute("SELECT number, name, config FROM driftline.models")
        check(received, models, database.execute("SELECT model, kind, body, note FROM driftline.log ORDER BY number"))
    finally:
        ended.set()
        if thread.is_alive():
            thread.join(patience.SECONDS)
        for service in services:
            if service.process.poll() is None:
                service.kill()
        database.close()
