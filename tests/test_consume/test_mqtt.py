"""MQTT topics, with a real Mosquitto."""

import pytest

pytest.importorskip("paho.mqtt")
pytest.importorskip("starlette")

import driftline as dl
from driftline.consume import Counts, StateModel, consume
from driftline.consume.mqtt import MqttTopics
from tests.test_consume.drill import Drill


def test_whatever_is_killed_each_entry_is_learned_once(mosquitto, tmp_path):
    drill = Drill(mosquitto, tmp_path, entries=1000, batch=50, with_service=False, name="kills")
    try:
        drill.run(kills=2)
        drill.check()
    finally:
        drill.close()


def test_topics_with_wildcards_and_labels_on_another_topic(mosquitto, tmp_path):
    source = MqttTopics(f"mqtt://127.0.0.1:{mosquitto.port}", "plant/+/rows", labels="plant/+/labels", group="plant")
    source.open()
    source.close()  # the session exists from now on
    for topic, content in (("plant/1/rows", {"id": "a", "u": 1.0}), ("plant/2/labels", {"id": "a", "y": 2.0})):
        mosquitto.client.publish(topic, str(content).replace("'", '"'), qos=1).wait_for_publish(60)
    mosquitto.client.publish("plant/1/rows", '{"u": 1.0}', qos=1).wait_for_publish(60)
    counts = consume(source, StateModel(tmp_path / "m", dl.RLS()), seconds=0.5, until_idle=True)
    assert (counts.entries, counts.rejected, dl.load(tmp_path / "m").n_seen_) == (3, 1, 1)


def test_a_broker_that_is_away_is_waited_for(mosquitto, tmp_path):
    source = MqttTopics("mqtt://127.0.0.1:1", "x")
    said, counts = [], Counts()
    how = {"seconds": 0.01, "stop": lambda: counts.lost == 3, "counts": counts, "say": said.append}
    consume(source, StateModel(tmp_path / "m", dl.RLS()), **how)
    (line,) = said  # once for each outage
    assert "the connection was lost, and is tried again: ConnectionRefusedError" in line
