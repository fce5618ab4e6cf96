"""MQTT topics, with a session that the broker keeps."""

from __future__ import annotations

import json
import queue
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from driftline.consume.entries import Entry, Json, Queue
from driftline.errors import missing_extra

try:
    from paho.mqtt.client import Client, MQTTv311, topic_matches_sub
    from paho.mqtt.enums import CallbackAPIVersion
except ImportError:
    raise missing_extra("MQTT needs", "paho-mqtt", "mqtt") from None

_TIMEOUT = 30.0  # seconds to wait for the broker


class MqttTopics(Queue):
    """One topic of rows, or a second one of labels, both at QoS 1. Messages are acknowledged after the records are sent.

    Messages are JSON objects and need an id, since MQTT gives them none. A record may be sent twice if the consumer is
    killed. The URL is ``mqtt://user:password@localhost:1883``, or ``mqtts://`` for TLS; topics of rows and labels may have
    wildcards; the group is the client's id.
    """

    lost: tuple[type[Exception], ...] = (OSError,)
    set_aside = "{group}/rejected"

    _client: Any = None

    def open(self) -> None:
        """Connects; the messages that were not acknowledged come first."""
        self.close()
        self._messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._taken: list[Any] = []
        address = urlsplit(self.url)
        how: dict[str, Any] = {"client_id": self.group, "clean_session": False, "protocol": MQTTv311, "manual_ack": True}
        self._client = Client(CallbackAPIVersion.VERSION2, reconnect_on_failure=False, **how)
        self._client.on_message = lambda client, data, message: self._messages.put(message)
        self._client.max_inflight_messages_set(10_000)
        if address.username is not None:
            self._client.username_pw_set(address.username, address.password)
        if address.scheme == "mqtts":
            self._client.tls_set()
        default = 8883 if address.scheme == "mqtts" else 1883
        self._client.connect(address.hostname or "localhost", address.port or default)
        self._client.subscribe([(topic, 1) for topic in self.read_from])
        self._client.loop_start()
        until = time.monotonic() + _TIMEOUT
        while not self._client.is_connected():
            if time.monotonic() > until or not self._client._thread.is_alive():
                raise ConnectionError("the broker did not accept the connection")
            time.sleep(0.005)

    def read(self, most: int, seconds: float) -> Sequence[Entry]:
        """The next messages."""
        try:
            self._taken = [self._messages.get(timeout=seconds)]
            while len(self._taken) < most:
                self._taken.append(self._messages.get_nowait())
        except queue.Empty:
            pass
        if not self._client.is_connected():
            raise ConnectionError("the broker is gone")
        return [Entry(None, message.payload, self._is_label(message.topic)) for message in self._taken]

    def _is_label(self, topic: str) -> bool:
        return self.labels is not None and topic_matches_sub(self.labels, topic)

    def finish(self, entries: Sequence[Entry], predictions: Sequence[Json], rejected: Sequence[Json]) -> None:
        """Publishes the records, then acknowledges the messages."""
        records = self.records(predictions, rejected)
        sent = [self._client.publish(topic, json.dumps(record), qos=1) for topic, record in records]
        until = time.monotonic() + _TIMEOUT
        for each in sent:
            while not each.is_published():
                if time.monotonic() > until or not self._client.is_connected():
                    raise ConnectionError("the broker did not take the records")
                time.sleep(0.001)
        for message in self._taken:
            self._client.ack(message.mid, message.qos)
        self._taken = []

    def close(self) -> None:
        """Disconnects; the broker keeps the session."""
        if self._client is not None:
            self._client.disconnect()
            self._client.loop_stop()
