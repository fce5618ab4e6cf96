"""The service's memory for clients that do not read their responses."""

import asyncio
import socket

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("httptools")

import uvicorn
from uvicorn.server import ServerState

from driftline.serve.deadlines import Deadlines
from driftline.serve.protocol import UNSENT, Protocol

PART = 10_000


async def endless(scope, receive, send):
    """An endless response in many parts."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while True:
        await send({"type": "http.response.body", "body": bytes(PART), "more_body": True})
        await asyncio.sleep(0)


async def held_back():
    """The number of bytes buffered for a client that requests such a response and never reads it."""
    config = uvicorn.Config(endless, lifespan="off", log_config=None)
    config.load()
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    theirs.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    made = []

    def protocol():
        made.append(Protocol(config, ServerState(), {}, body=1000, heads=Deadlines(60.0, Protocol.leave)))
        return made[0]

    transport, _ = await asyncio.get_running_loop().connect_accepted_socket(protocol, ours)
    while not made[0].flow.write_paused:
        await asyncio.sleep(0.001)
    for _ in range(1_000):
        await asyncio.sleep(0)
    size = transport.get_write_buffer_size()
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    transport.abort()
    theirs.close()
    await asyncio.wait_for(asyncio.gather(*(cancelled(task) for task in tasks)), 10)
    return size


async def cancelled(task):
    task.cancel()
    await asyncio.wait([task])


def test_little_is_buffered_for_a_client_that_does_not_read():
    assert 0 < asyncio.run(held_back()) <= UNSENT + PART + 100  # 100 for the head of a part
