"""Kafka topics, with librdkafka's mock cluster: no broker can be installed from Debian or PyPI."""

import pytest

pytest.importorskip("confluent_kafka")
pytest.importorskip("starlette")

import driftline as dl
from driftline.consume import StateModel, consume
from driftline.consume.kafka import KafkaTopics
from tests.test_consume.drill import Drill


def test_whatever_is_killed_each_entry_is_learned_once(kafka, tmp_path):
    drill = Drill(kafka, tmp_path, entries=600, batch=50, name="kills")
    try:
        drill.run(kills=1)
        drill.check()
    finally:
        drill.close()


def test_labels_on_a_topic_of_their_own(kafka, tmp_path):
    kafka.put("own", [{"id": f"{n}", "u": n} for n in range(5)])
    kafka.put("own.labels", [{"id": f"{n}", "y": 2 * n} for n in range(5)])
    places = {"labels": "own.labels", "predictions": "own.out", "group": "own"}
    source = KafkaTopics(f"kafka://{kafka.address}", "own", settings={"client.id": "own"}, **places)
    counts = consume(source, StateModel(tmp_path / "m", dl.RLS()), batch=1, seconds=2.0, until_idle=True)
    assert (counts.entries, counts.predicted, dl.load(tmp_path / "m").n_seen_) == (10, 5, 5)
    assert sorted(record["id"] for record in kafka.sent("own.out")) == list("01234")
