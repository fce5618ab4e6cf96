"""The service as a process: kill -9 under load, graceful stops, and messages when it cannot start."""

import contextlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from driftline.serve.limits import Limits
from tests import patience
from tests.test_serve.load import CLIENTS, Current, Load, check, end
from tests.test_serve.process import RUN, Process
from tests.test_serve.tools import SEED, read_log

UNCUT = ("--entries", "1000000000")  # keeps the whole log, for comparison
KILLS = int(os.environ.get("DRIFTLINE_KILLS", "4"))


@pytest.mark.parametrize("keyed", [False, True])
def test_kill_9_under_load_loses_nothing_and_learns_nothing_twice(tmp_path, keyed):
    """Clients repeat calls that were not acknowledged, as they should; the result matches the log."""
    rng, current = random.Random(SEED), Current()
    folder = tmp_path / "service"
    loads = [Load(current, number, SEED, keyed) for number in range(CLIENTS)]
    for cycle in range(KILLS):
        with Process(folder, *UNCUT) as service:
            if cycle == 0:
                made = service.client().call("PUT", "/v1/models/m", {"learner": "rls", "keyed": keyed})
                assert made[0] == 201
                for load in loads:
                    load.start()
            current.service = service
            time.sleep(rng.uniform(0.1, 1.0))
            current.service = None
            service.kill()
    with Process(folder, *UNCUT) as service:
        current.service = service
        time.sleep(0.5)
        end(loads)
        check(loads, service.client(), *read_log(folder))


def test_a_graceful_stop_answers_accepted_calls_and_the_next_start_uses_snapshots(tmp_path):
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


def test_a_stop_during_startup_takes_effect(tmp_path):
    for _ in range(3):
        with Process(tmp_path) as service:
            assert service.stop() == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [(["--host", "0.0.0.0"], "--tokens FILE is needed"), (["--tokens", "nowhere"], "nowhere: no such file")],
)
def test_a_failed_start_states_its_reason(tmp_path, options, words):
    done = subprocess.run([sys.executable, "-c", RUN, "serve", str(tmp_path), *options], capture_output=True, text=True)
    assert done.returncode > 0
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_tokens_are_stored_as_hashes(tmp_path):
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


def test_a_body_that_arrives_too_slowly_is_refused_and_other_calls_are_served(tmp_path):
    """Fifty half-sent bodies are refused; meanwhile another client's call is answered."""
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


HEALTH = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"


def is_closed_by_the_service(one):
    """Reads what was answered until the service closes the connection; times out if it does not."""
    one.settimeout(patience.SECONDS)
    try:
        while one.recv(2**16):
            pass
    except ConnectionResetError:
        pass
    one.close()
    return True


def test_connections_without_a_complete_request_head_are_closed_after_a_while(tmp_path):
    with Process(tmp_path, "--timeout", "0.5") as service:
        slow = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(3)]
        slow[1].sendall(HEALTH)
        slow[2].sendall(HEALTH + b"\r\n" + HEALTH)
        assert all(is_closed_by_the_service(one) for one in slow)
        assert service.client().call("GET", "/healthz")[0] == 200


def test_an_endless_request_is_cut_off(tmp_path):
    with Process(tmp_path) as service:
        trailer = b"Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n2\r\n{}\r\n0\r\nx: "
        learn = b"POST /v1/models/m/learn HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        for start in (HEALTH + b"x: ", b"GET /", learn + trailer):
            one = socket.create_connection(("127.0.0.1", service.port))
            one.sendall(start)
            with pytest.raises(ConnectionError):
                one.sendall(b"a" * 2**27)
            one.close()
        assert service.client().call("GET", "/healthz")[0] == 200


def test_the_longest_body_leaves_its_connection_open(tmp_path):
    with Process(tmp_path) as service:
        http = service.client().http
        http.connect()
        first = http.sock
        for status in (201, 200, 200):
            http.request("PUT", "/v1/models/m", b"{}".ljust(Limits().body), {"content-type": "application/json"})
            answer = http.getresponse()
            assert answer.status == status
            assert json.loads(answer.read())["rows"] == 0
            assert http.sock is first


@pytest.fixture(scope="module")
def forgetful(tmp_path_factory):
    """A library that forgets unsynced writes; tests are skipped if it cannot be compiled."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler and LD_PRELOAD")
    made = tmp_path_factory.mktemp("library") / "forgetful.so"
    source = Path(__file__).with_name("forgetful.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", made, source, "-ldl", "-lpthread"], check=True)
    return made


def test_a_power_failure_loses_nothing_that_was_acknowledged(tmp_path, forgetful):
    """After each kill the service resumes from a folder that holds only what it had synced."""
    rng, current = random.Random(SEED), Current()
    loads = [Load(current, number, SEED, False) for number in range(CLIENTS)]
    folders = [tmp_path / str(number) for number in range(KILLS + 1)]
    for folder in folders:
        folder.mkdir()
    try:
        for before, after in pairwise(folders):
            for file in before.iterdir():
                shutil.copy(file, after)  # the state of the disk at the start of this round
            names = {"LD_PRELOAD": str(forgetful), "FORGETFUL_FROM": str(before), "FORGETFUL_TO": str(after)}
            with Process(before, *UNCUT, environment=names) as service:
                if before is folders[0]:
                    assert service.client().call("PUT", "/v1/models/m", {"learner": "rls"})[0] == 201
                    for load in loads:
                        load.start()
                current.service = service
                time.sleep(rng.uniform(0.2, 1.0))
                current.service = None
                service.kill()
        with Process(folders[-1], *UNCUT) as service:
            current.service = service
            time.sleep(0.3)
            end(loads)
            check(loads, service.client(), *read_log(folders[-1]))
    finally:
        end([load for load in loads if load.is_alive()])


def test_a_head_that_is_too_long_is_refused_and_warnings_name_their_model(tmp_path):
    with Process(tmp_path) as service:
        client = service.client()
        for name, features in (("narrow", 2), ("wide", 500)):
            client.call("PUT", f"/v1/models/{name}", {"learner": "rls"})
            client.call("POST", f"/v1/models/{name}/learn", {"x": [1.0] * features, "y": 1.0})
        with socket.create_connection(("127.0.0.1", service.port)) as raw, contextlib.suppress(ConnectionResetError):
            raw.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 70_000 + b"\r\n\r\n")
            assert raw.recv(100)[:12] in (b"HTTP/1.1 400", b"")
        assert client.call("GET", "/healthz")[0] == 200
        service.stop()
        warned = [json.loads(line) for line in service.lines if "a memory of" in line]
        assert [line["model"] for line in warned] == ["wide"]
