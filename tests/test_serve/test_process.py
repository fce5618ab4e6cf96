"""The service as a process: kill -9 under load, graceful stops, what it says when it cannot start."""

import os
import random
import socket
import subprocess
import sys
import time

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from tests import patience
from tests.test_serve.load import CLIENTS, Load, check, end
from tests.test_serve.process import RUN, Process
from tests.test_serve.tools import read_log

KILLS = int(os.environ.get("DRIFTLINE_KILLS", "4"))


@pytest.mark.parametrize("keyed", [False, True])
def test_kill_9_under_load_loses_nothing_and_learns_nothing_twice(tmp_path, keyed):
    """Clients repeat what was not acknowledged, as they should: the outcome is one account, that of the log."""
    seed = random.randrange(2**32)
    print("seed", seed)
    rng, port = random.Random(seed), [None]
    folder = tmp_path / "service"

    def connect():
        if port[0] is None:
            raise OSError
        return port[0].client()

    loads = [Load(connect, number, seed, keyed) for number in range(CLIENTS)]
    for cycle in range(KILLS):
        with Process(folder) as service:
            if cycle == 0:
                made = service.client().call("PUT", "/v1/models/m", {"learner": "rls", "keyed": keyed})
                assert made[0] == 201
                for load in loads:
                    load.start()
            port[0] = service
            time.sleep(rng.uniform(0.1, 1.0))
            port[0] = None
            service.kill()
    with Process(folder) as service:
        port[0] = service
        time.sleep(0.5)
        end(loads)
        check(loads, service.client(), *read_log(folder))


def test_a_graceful_stop_answers_what_it_took_and_starts_again_from_snapshots(tmp_path):
    with Process(tmp_path) as service:
        client = service.client()
        client.call("PUT", "/v1/models/m", {"learner": "rls"})
        for number in range(20):
            assert client.call("POST", "/v1/models/m/learn", {"x": [number], "y": 1})[0] == 200
        model = client.call("GET", "/v1/models/m/export")[1]
        assert service.stop() == 0
    assert '"message": "stopped"' in service.lines[-1]
    with Process(tmp_path) as service:
        assert service.client().call("GET", "/v1/models/m/export")[1] == model
        assert "driftline_log_entries 0" in service.client().call("GET", "/metrics")[1].decode()


@pytest.mark.parametrize(
    ("options", "words"),
    [(["--host", "0.0.0.0"], "--tokens FILE is needed"), (["--tokens", "nowhere"], "nowhere: no such file")],
)
def test_it_says_why_it_does_not_start(tmp_path, options, words):
    done = subprocess.run([sys.executable, "-c", RUN, "serve", str(tmp_path), *options], capture_output=True, text=True)
    assert done.returncode > 0
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_tokens_are_made_and_kept_as_hashes(tmp_path):
    file = tmp_path / "tokens"
    made = subprocess.run(
        [sys.executable, "-c", RUN, "token", str(file), "--scope", "admin", "--name", "ci"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    assert made not in file.read_text()
    assert file.stat().st_mode & 0o77 == 0
    with Process(tmp_path / "service", "--tokens", str(file)) as service:
        assert service.client().call("GET", "/v1/models")[0] == 401
        assert service.client(made).call("PUT", "/v1/models/m", {})[0] == 201
    assert made not in "".join(service.lines)


def test_a_body_that_comes_too_slowly_is_refused_and_others_are_served(tmp_path):
    """Half-sent bodies, with and without a rest that never comes, beside calls that are answered meanwhile."""
    with Process(tmp_path, "--timeout", "0.5") as service:
        client = service.client()
        client.call("PUT", "/v1/models/m", {"learner": "rls"})
        slow = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(50)]
        lines = [
            "POST /v1/models/m/learn HTTP/1.1",
            "Host: 127.0.0.1",
            "Content-Type: application/json",
            "Content-Length: 30",
        ]
        head = "\r\n".join([*lines, "", ""]).encode()
        for one in slow:
            one.sendall(head + b'{"x": [')
        assert client.call("POST", "/v1/models/m/learn", {"x": [1.0], "y": 1.0})[0] == 200
        for one in slow:
            one.settimeout(patience.SECONDS)
            assert one.recv(1000).startswith(b"HTTP/1.1 408")
            one.close()
        assert client.call("GET", "/v1/models/m")[1]["rows"] == 1
