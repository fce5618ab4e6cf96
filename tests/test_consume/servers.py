"""Queues in their own processes, and what the drill does with them: fill them, and read what was sent."""

import json
import shutil
import socket
import subprocess
import tempfile
import time

from tests import patience, services
from tests.test_serve.cluster import Cluster


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Redis:
    """A server of Redis without a file."""

    once = True  # whether a consumer that is killed sends no record twice
    ordered = True  # whether rows and labels may share a place, and come in order
    options = ()  # more options of driftline consume

    def __init__(self):
        self.port, self.folder = free_port(), tempfile.mkdtemp(prefix="driftline-redis-")
        self._command = [services.find("redis-server"), "--port", str(self.port), "--bind", "127.0.0.1"]
        self._command += ["--dir", self.folder, "--appendonly", "yes", "--appendfsync", "always"]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self):
        import redis

        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        until = time.monotonic() + patience.SECONDS
        self.db = redis.Redis(port=self.port, decode_responses=True)
        while True:
            try:
                self.db.ping()
                return
            except redis.ConnectionError:
                assert time.monotonic() < until
                time.sleep(0.02)

    def source(self, name):
        return f"{self.url}#{name}"

    def put(self, name, entries):
        with self.db.pipeline(transaction=False) as pipe:
            for entry in entries:
                pipe.xadd(
                    name, {field: value if isinstance(value, str) else json.dumps(value) for field, value in entry.items()}
                )
            pipe.execute()

    def sent(self, name):
        return [fields for _, fields in self.db.xrange(name)]

    def count(self, name):
        return self.db.xlen(name)

    def kill(self):
        self.db.close()
        self.process.kill()
        self.process.wait(patience.SECONDS)

    def close(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Postgres(Cluster):
    """A server of PostgreSQL, with tables of the drill's rows and labels."""

    once, ordered = True, False
    options = ("--by", "n")

    def source(self, name):
        return f"{self.address}#{name}"

    def put(self, name, entries):
        import psycopg

        columns = "n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text"
        self.execute(f"CREATE TABLE {name} ({columns}, a float8, b float8, y float8)")
        self.execute(f"CREATE TABLE {name}_labels ({columns}, y float8)")
        for table, fields in ((name, ("id", "a", "b", "y")), (f"{name}_labels", ("id", "y"))):
            command = f"COPY {table} ({', '.join(fields)}) FROM STDIN"
            with psycopg.connect(self.address) as db, db.cursor().copy(command) as copy:
                for entry in entries:
                    if ("a" in entry) == ("a" in fields):
                        copy.write_row(["NaN" if entry.get(f) == "broken" else entry.get(f) for f in fields])

    def sent(self, name):
        return [row for (row,) in self.execute(f"SELECT row_to_json(t) FROM {name} AS t")]

    def count(self, name):
        return (
            self.execute(f"SELECT count(*) FROM {name}")[0][0] if self.execute("SELECT to_regclass(%s)", name)[0][0] else 0
        )


class Mosquitto:
    """A broker of MQTT that keeps its sessions, and a subscriber that collects what is sent."""

    once, ordered = False, True
    options = ()

    def __init__(self):
        from paho.mqtt.client import Client
        from paho.mqtt.enums import CallbackAPIVersion

        self.port, self.folder, self.found = free_port(), tempfile.mkdtemp(prefix="driftline-mqtt-"), {}
        settings = f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence true\n"
        settings += f"persistence_location {self.folder}/\nmax_queued_messages 0\nmax_inflight_messages 1000\nuser root\n"
        with open(f"{self.folder}/conf", "w") as file:
            file.write(settings)
        self._command = [services.find("mosquitto"), "-c", f"{self.folder}/conf"]
        self.start()
        self.client = Client(CallbackAPIVersion.VERSION2, client_id="tests", clean_session=False)
        self.client.max_inflight_messages_set(10_000)
        self.client.on_message = lambda client, data, message: self.found.setdefault(message.topic, []).append(
            message.payload
        )
        self.client.connect("127.0.0.1", self.port)
        self.client.subscribe("#", 1)
        self.client.loop_start()

    def start(self):
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + patience.SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                assert time.monotonic() < until
                time.sleep(0.02)

    def source(self, name):
        return f"mqtt://127.0.0.1:{self.port}#{name}"

    def put(self, name, entries):
        """Makes sure that the consumer's session exists, as it does once a consumer has run."""
        from driftline.consume.mqtt import MqttTopics

        source = MqttTopics(f"mqtt://127.0.0.1:{self.port}", name, group=name)
        source.open()
        source.close()
        for start in range(0, len(entries), 1_000):  # paho looks at each that is on its way when one arrives
            sent = [self.client.publish(name, json.dumps(entry), qos=1) for entry in entries[start : start + 1_000]]
            for each in sent:
                each.wait_for_publish(patience.SECONDS)

    def sent(self, name):
        return [json.loads(payload) for payload in self.found.get(name, ())]

    def count(self, name):
        return len(self.found.get(name, ()))

    def close(self):
        self.client.disconnect()
        self.client.loop_stop()
        self.process.kill()
        self.process.wait(patience.SECONDS)
        shutil.rmtree(self.folder, ignore_errors=True)


class Kafka:
    """librdkafka's mock cluster, within this process. Its transactions cannot be aborted, and a partition holds 5 MB."""

    once, ordered = False, True
    options = ()

    def __init__(self):
        from confluent_kafka import Producer

        self._cluster = Producer({"bootstrap.servers": "ignored", "test.mock.num.brokers": 1})
        brokers = self._cluster.list_topics(timeout=patience.SECONDS).brokers
        self.address = ",".join(f"{each.host}:{each.port}" for each in brokers.values())
        self._readers, self._found = {}, {}

    def source(self, name):
        return f"kafka://{self.address}#{name}"

    def put(self, name, entries):
        """All into one partition, so that the entries have an order."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.address, "enable.idempotence": True})
        for entry in entries:
            producer.produce(name, json.dumps(entry), partition=0)
            producer.poll(0)
        producer.flush()

    def sent(self, name):
        from confluent_kafka import Consumer, TopicPartition

        if name not in self._readers:
            how = {"bootstrap.servers": self.address, "group.id": f"tests {name}", "auto.offset.reset": "earliest"}
            self._readers[name], self._found[name] = Consumer(how), []
            self._readers[name].assign([TopicPartition(name, number, 0) for number in range(4)])
        while found := [m.value() for m in self._readers[name].consume(10_000, 0.5) if m.error() is None]:
            self._found[name] += map(json.loads, found)
        return self._found[name]

    def count(self, name):
        return len(self.sent(name))

    def close(self):
        for reader in self._readers.values():
            reader.close()


QUEUES = {"redis": Redis, "postgresql": Postgres, "mqtt": Mosquitto, "kafka": Kafka}
