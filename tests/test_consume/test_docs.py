"""Runs the recipes of the docs page about queues, each with a real server."""

import os
import re
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

import driftline as dl
from driftline.client import Client
from tests.test_docs.pages import PAGES, blocks
from tests.test_serve.process import Process

PAGE = PAGES["docs/queues.md"]


def section(title):
    return blocks(re.search(rf"^## {title}$(.*?)(^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)[1])


@pytest.fixture
def follow(tmp_path):
    """Returns a function that types the commands of a block, with other addresses; returns what the last one said."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "driftline"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from driftline.cli import main; main()" "$@"\n')
    command.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    services = []

    def follow(text, **addresses):
        said = ""
        for line in text.replace("\\\n", " ").splitlines():
            for address, here in addresses.items():
                line = line.replace(address, here)
            if line.startswith("driftline serve "):
                services.append(Process(tmp_path / "models", *line.split()[3:]))
                addresses["8440"] = str(services[-1].port)
            else:
                ended = subprocess.run(
                    ["bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
                )
                assert ended.returncode == 0, (line, ended.stderr)
                said = ended.stdout
        return said

    def rows(name):
        with Client(f"http://127.0.0.1:{services[-1].port}") as client:
            return client.model(name)["rows"]

    follow.rows = rows
    yield follow
    for service in services:
        service.stop()


@pytest.mark.skipif(shutil.which("redis-cli") is None, reason="no redis-cli")
def test_redis(redis, follow, tmp_path):
    (_, state), (_, service) = section("Redis streams")
    address = {"localhost:6379": f"localhost:{redis.port}", "redis-cli": f"redis-cli -p {redis.port}"}
    said = follow(state, **address)
    assert ("r1" in said, "r2" in said) == (True, True)
    assert dl.load(tmp_path / "load.drift").n_seen_ == 2
    follow(service, **address)
    assert follow.rows("load") == 1


@pytest.mark.skipif(shutil.which("psql") is None, reason="no psql")
def test_postgresql(postgresql, follow, tmp_path):
    ((_, text),) = section("A PostgreSQL table")
    follow(text, **{"postgresql://service@db/plant": postgresql.address})
    assert dl.load(tmp_path / "load.drift").n_seen_ == 1
    ((answer,),) = postgresql.execute("SELECT prediction FROM forecasts WHERE id = '1'")
    assert answer == 0.0


@pytest.mark.services("mosquitto_pub")
def test_mqtt(mosquitto, follow, tmp_path):
    ((_, text),) = section("MQTT")
    follow(text, **{"localhost:1883": f"localhost:{mosquitto.port}", "mosquitto_pub": f"mosquitto_pub -p {mosquitto.port}"})
    assert dl.load(tmp_path / "load.drift").n_seen_ == 1


def test_kafka(kafka, follow, tmp_path):
    ((_, text),) = section("Kafka")
    kafka.put("readings", [{"id": "r1", "hour": 7, "wind": 3.5, "load": 41}])
    follow(text, **{"localhost:9092": kafka.address})
    assert dl.load(tmp_path / "load.drift").n_seen_ == 1
    assert [record["id"] for record in kafka.sent("forecasts")] == ["r1"]


def test_a_source_of_your_own(tmp_path, monkeypatch):
    ((_, program),) = section("A source of your own")
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "docs/queues.md", "exec"), {})
    assert len((tmp_path / "predictions.jsonl").read_text().splitlines()) == 2
