"""Sends damaged requests to a service over sockets: no answer is a 5xx, and only acknowledged labels are learned."""

import json
import random
import re
import socket
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from tests import patience
from tests.test_serve.process import Process

AT_ONCE = 50
ANSWER = re.compile(rb"HTTP/1\.1 (\d+)[^\r]*\r\n.*?\r\n\r\n([^\r]*)", re.DOTALL)
LEARNED, PATH = re.compile(rb'{"learned": (\d+)'), re.compile(rb"/v1/models/(\w)/learn")
MODELS = {"m": {"learner": "rls"}, "k": {"learner": "lms", "keyed": True}, "f": {"learner": "rls", "steps": 2}}
NUMBERS = [b"0", b"-1", b"00", b"1e9", b"99999999999999999999", b"0x10", b"", b"\xff", b"+5", b"5, 6", b"1"]
HEADERS = [
    b"Content-Length: 5", b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked", b"Expect: 100-continue",
    b"Connection: upgrade\r\nUpgrade: websocket", b"Content-Type: text/plain", b"Host: elsewhere", b"Content-Encoding: gzip",
    b"Authorization: Bearer \xff\xfe", b"X: " + b"y" * 9_000, b" folded", b"No colon",
    b"Content-Type: application/vnd.apache.arrow.stream",
]  # fmt: skip


def sound(rng):
    """A request that the service accepts."""
    name = rng.choice(list(MODELS))
    key = {"key": "a"} if name == "k" else {}
    row = {**key, "x": {"a": round(rng.gauss(0, 1), 3), "b": 1.0}}
    if rng.random() < 0.2:
        parts = ["", "/export?key=a", "/events?key=%00", "/../m", "?key=" + "é" * 9]
        return b"GET", f"/v1/models/{name}{rng.choice(parts)}".encode(), b""
    verb = rng.choice(["learn", "learn", "predict", "forecast"])
    if verb == "learn":
        row["y"] = round(rng.gauss(0, 1), 3)
    if verb != "forecast" and rng.random() < 0.3:
        row["id"] = f"i{rng.randrange(50)}"
    body = {"rows": [row] * rng.randrange(1, 12)} if verb == "forecast" or rng.random() < 0.4 else row
    return b"POST", f"/v1/models/{name}/{verb}".encode(), json.dumps(body).encode()


def damaged(rng):
    """A request as bytes: its lines, its length, its chunks or any of its bytes may be wrong."""
    method, path, body = sound(rng)
    if rng.random() < 0.05:
        return rng.randbytes(rng.randrange(1, 300))
    if rng.random() < 0.1:
        method = rng.choice([b"PUT", b"DELETE", b"PATCH", b"OPTIONS", b"CONNECT", b"PRI", b"get", b""])
        path = (
            path if method == b"PUT" else rng.choice([path + b"x", b"*", b"http://localhost/", b"//", b"/%", b"/\xc3\xa9"])
        )
    lines = [b"Host: 127.0.0.1", b"Content-Type: application/json", b"Connection: close"]
    if rng.random() < 0.2:
        sizes = [b"%x" % len(body), rng.choice(NUMBERS)]
        lines.append(b"Transfer-Encoding: chunked")
        body = sizes[rng.random() < 0.3] + b"\r\n" + body + rng.choice([b"\r\n0\r\n\r\n", b"\r\n", b"0\r\n\r\n"])
    else:
        lines.append(b"Content-Length: " + (rng.choice(NUMBERS) if rng.random() < 0.2 else b"%d" % len(body)))
    for _ in range(rng.choice([0, 0, 0, 1])):
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(HEADERS))
    text = bytearray(b"\r\n".join([method + b" " + path + b" HTTP/1.1", *lines, b"", body]))
    for _ in range(rng.choice([0, 0, 0, 1, 3])):
        at = rng.randrange(len(text))
        text[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
    return bytes(text[: rng.randrange(len(text))] if rng.random() < 0.05 else text)


def answers_to(port, requests):
    """Sends each request on its own connection; returns the answers, each read to its end or the start of an event stream.

    A damaged request contains no second valid one, so a single answer reports all rows that were learned.
    """
    opened = [socket.create_connection(("127.0.0.1", port), timeout=patience.SECONDS) for _ in requests]
    for one, sent in zip(opened, requests, strict=True):
        one.sendall(sent)
    return [_read_answer(one) for one in opened]


def _read_answer(one):
    got = b""
    with one, suppress(ConnectionResetError):
        while not _is_complete(got) and (piece := one.recv(2**16)):
            got += piece
    return got


def _is_complete(got):
    head, end, body = got.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n").partition(b"\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: (\d+)", head)
    return bool(end) and (b"text/event-stream" in head or (length is not None and len(body) >= int(length[1])))


def attack(seconds, seed, least=100):
    """Sends requests until the time is up, and at least ``least`` of them."""
    rng, until = random.Random(seed), time.monotonic() + seconds
    count, learned, seen = 0, dict.fromkeys(MODELS, 0), Counter()
    with tempfile.TemporaryDirectory() as folder, Process(Path(folder) / "s", "--timeout", "0.2") as service:
        for name, config in MODELS.items():
            service.client().call("PUT", f"/v1/models/{name}", config)
        while count < least or time.monotonic() < until:
            requests = [damaged(rng) for _ in range(AT_ONCE)]
            count += AT_ONCE
            for sent, got in zip(requests, answers_to(service.port, requests), strict=True):
                assert b"Traceback" not in got, (sent, got)
                assert folder.encode() not in got, (sent, got)
                for status, body in ANSWER.findall(got):
                    seen[int(status)] += 1
                    assert int(status) < 500, (sent, got)
                    if found := LEARNED.match(body):
                        learned[PATH.search(sent)[1].decode()] += int(found[1])
        for name, rows in learned.items():
            assert service.client().call("GET", f"/v1/models/{name}")[1]["rows"] == rows, (name, rows)
        assert service.stop() == 0
    assert "failed" not in "".join(service.lines), service.lines
    assert {200, 400, 422} <= seen.keys(), seen
    return f"{count:,} damaged requests, {seen.total():,} of them answered: {dict(sorted(seen.items()))}"
