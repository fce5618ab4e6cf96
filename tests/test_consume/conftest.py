"""Queues for the tests."""

import pytest

from tests.test_consume import servers


def _served(module, make):
    pytest.importorskip(module)
    server = make()
    yield server
    server.close()


@pytest.fixture(scope="module")
def redis():
    """A private server of Redis."""
    yield from _served("redis", servers.Redis)


@pytest.fixture(scope="module")
def postgresql():
    """A private server of PostgreSQL."""
    yield from _served("psycopg", servers.Postgres)


@pytest.fixture(scope="module")
def mosquitto():
    """A private MQTT broker."""
    yield from _served("paho.mqtt", servers.Mosquitto)


@pytest.fixture(scope="module")
def kafka():
    """librdkafka's mock cluster."""
    yield from _served("confluent_kafka", servers.Kafka)
