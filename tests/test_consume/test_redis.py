"""Redis streams, with a real server."""

import time
import urllib.request

import pytest

pytest.importorskip("redis")
pytest.importorskip("starlette")

from redis import ConnectionError  # noqa: A004

import driftline as dl
from driftline.client import Client
from driftline.consume import Counts, ServiceModel, StateModel, consume, metrics
from driftline.consume.redis_streams import RedisStreams
from tests import patience
from tests.test_cli.calling import call
from tests.test_consume.drill import Consumer, Drill
from tests.test_consume.servers import free_port
from tests.test_serve.process import Process


@pytest.mark.parametrize("with_service", [True, False])
def test_whatever_is_killed_each_entry_is_learned_once(redis, tmp_path, with_service):
    drill = Drill(redis, tmp_path, entries=1000, batch=50, with_service=with_service, name=f"kills{with_service}")
    try:
        drill.run(kills=2)
        drill.check()
    finally:
        drill.close()


def test_a_server_that_dies_is_waited_for(redis, tmp_path):
    """A connection lost within a batch: what was not committed comes again."""
    redis.put("dies", [{"id": f"{n}", "u": n, "y": 2 * n} for n in range(20)])

    class Dying(RedisStreams):
        def finish(self, *sent):
            if self._db.xlen("dies.out") == 4 and not died:
                died.append(True)
                super().finish(*sent)  # committed, but nobody hears of it
                redis.kill()
                redis.start()
                raise ConnectionError("no reply")
            super().finish(*sent)

    died = []
    source, path = Dying(redis.url, "dies", predictions="dies.out"), tmp_path / "m"
    counts = consume(source, StateModel(path, dl.RLS()), batch=4, seconds=0.05, until_idle=True)
    assert died
    assert (counts.lost, dl.load(path).n_seen_) == (1, 20)
    assert [record["id"] for record in redis.sent("dies.out")] == [f"{n}" for n in range(20)]


def test_labels_from_a_stream_of_their_own(redis, tmp_path):
    """One field with JSON, the entry's own id as the row's, and labels that come first."""
    ids = [redis.db.xadd("own", {"data": f'{{"u": {n}, "kind": "a"}}'}) for n in range(5)]
    redis.put("own.labels", [{"id": name, "y": float(n)} for n, name in enumerate(ids)])
    with Process(tmp_path / "service", "--early", "10") as service, Client(f"http://127.0.0.1:{service.port}") as client:
        client.put("m", "rls")
        source = RedisStreams(redis.url, "own", labels="own.labels", predictions="own.out")
        counts = consume(source, ServiceModel(client, "m"), batch=4, seconds=0.05, until_idle=True)
        assert client.model("m")["rows"] == 5
    assert (counts.predicted, counts.rejected) == (5, 0)
    assert [record["id"] for record in redis.sent("own.out")] == ids


def test_the_command_says_what_it_did_and_what_is_wrong(redis, tmp_path, capsys):
    redis.put("said", [{"load": 1.0, "hour": "7", "day": "mo"}, {"load": "?", "hour": 1}])
    source, state = redis.source("said"), tmp_path / "m.drift"
    code, out, err = call(capsys, "consume", source, "--state", state, "-m", "rls", "-t", "load", "--until-idle")
    assert (code, '"learned": 1' in out, '"rejected": 1' in out) == (0, True, True)
    assert "load must be a number, got '?'" in err
    assert dl.load(state).n_seen_ == 1
    for words, message in {
        (source,): "give either --service, or --state FILE",
        ("redis://x", "--state", state): "SOURCE must be URL#NAME",
        ("nats://x#y", "--state", state): "SOURCE must be URL#NAME",
    }.items():
        code, _, err = call(capsys, "consume", *words)
        assert code == 2
        assert message in " ".join(err.replace("│", " ").split())


def test_metrics_are_served_on_the_loopback():
    server = metrics.serve(Counts(learned=3), 0)
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        with urllib.request.urlopen(f"{address}/metrics") as answer:
            assert b"driftline_consume_learned_total 3\n" in answer.read()
    finally:
        server.shutdown()
        server.server_close()


def test_sigterm_ends_the_command_after_its_batch_and_metrics_show_what_it_did(redis, tmp_path):
    redis.put("term", [{"u": n, "y": n} for n in range(3)])
    port = free_port()
    options = ["--state", tmp_path / "m", "-m", "rls", "--metrics", port]
    consumer = Consumer(redis.source("term"), *options, idle=False)
    until = time.monotonic() + patience.SECONDS
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                if b"driftline_consume_learned_total 3\n" in answer.read():
                    break
        except OSError:
            assert not consumer.ended()
        time.sleep(0.02)
    consumer.process.terminate()
    assert consumer.counts()["learned"] == 3
