"""Kafka topics, read by a consumer group."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from driftline.consume.entries import Entry, Json, Queue
from driftline.errors import missing_extra

try:
    from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
except ImportError:
    raise missing_extra("Kafka topics need", "confluent-kafka", "kafka") from None

_TIMEOUT = 30.0  # seconds to wait for a broker


class KafkaTopics(Queue):
    """One topic of rows, or a second one of labels. Records are sent, and offsets committed, in one transaction.

    Messages are JSON objects. Records have the id as their key.

    Args:
        url: the addresses, such as ``kafka://one:9092,two:9092``.
        rows: as for :class:`Queue`, of topics.
        settings: more settings of librdkafka, such as those of TLS.
        places: as for :class:`Queue`.
    """

    lost: tuple[type[Exception], ...] = (KafkaException,)

    def __init__(self, url: str, rows: str, *, settings: Mapping[str, Any] | None = None, **places: Any) -> None:
        super().__init__(url, rows, **places)
        self._settings = {"bootstrap.servers": url.partition("://")[2], **(settings or {})}
        self._consumer: Any = None

    def open(self) -> None:
        """Joins the group, at the offsets that were committed; ends the transaction of a process that was killed."""
        self.close()
        self._producer = Producer({**self._settings, "transactional.id": f"{self.group}-{self.read_from[0]}"})
        self._producer.init_transactions(_TIMEOUT)
        how = {
            "group.id": self.group,
            "group.instance.id": "1",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
        self._consumer = Consumer({**self._settings, **how, "isolation.level": "read_committed"})
        self._consumer.subscribe(self.read_from)
        self._joined = False  # which takes seconds

    def read(self, most: int, seconds: float) -> Sequence[Entry]:
        """The next messages."""
        entries = []
        first = self._consumer.poll(seconds if self._joined else _TIMEOUT)
        self._joined = True
        for message in [] if first is None else [first, *self._consumer.consume(most - 1, 0.0)]:
            if message.error() is not None:
                raise KafkaException(message.error())
            part = f"{message.topic()}/{message.partition()}"
            label, offset = message.topic() == self.labels, message.offset()
            entries.append(Entry(f"{part}/{offset}", message.value(), label, (part, offset)))
        return entries

    def finish(self, entries: Sequence[Entry], predictions: Sequence[Json], rejected: Sequence[Json]) -> None:
        """Sends the records and commits the offsets, all or nothing."""
        self._producer.begin_transaction()
        for topic, record in self.records(predictions, rejected):
            self._producer.produce(topic, json.dumps(record), key=record["id"])
            self._producer.poll(0)
        ends = dict(entry.position for entry in entries if entry.position is not None)
        parts = [(*part.rsplit("/", 1), offset + 1) for part, offset in ends.items()]
        offsets = [TopicPartition(topic, int(number), offset) for topic, number, offset in parts]
        self._producer.send_offsets_to_transaction(offsets, self._consumer.consumer_group_metadata(), _TIMEOUT)
        self._producer.commit_transaction(_TIMEOUT)

    def close(self) -> None:
        """Leaves the group."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None
