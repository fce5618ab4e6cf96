"""The service as a process: kill -9 under load, graceful stops, what it says when it cannot start."""

import http.client
import json
import os
import random
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from driftline.serve.store import FILE
from tests.test_serve.process import RUN, Process
from tests.test_serve.tools import library_account

CLIENTS = 16
KILLS = int(os.environ.get("DRIFTLINE_KILLS", "4"))


class Load(threading.Thread):
    """A client that asks and tells, by ids of its own, and keeps account of what was acknowledged."""

    def __init__(self, port_of, number, seed, keyed):
        super().__init__(daemon=True)
        self.port_of, self.number, self.rng, self.keyed = port_of, number, random.Random(f"{seed} {number}"), keyed
        self.asked, self.told, self.unsure = {}, {}, []  # answers and labels by id; calls without an answer
        self.made, self.ending, self.bad = 0, False, []

    def run(self):
        connection = None
        while not self.ending:
            try:
                connection = connection or self.port_of()
                for body in self.unsure:
                    self._send(connection, *body)
                self.unsure = []
                self._step(connection)
            except (OSError, http.client.HTTPException):
                if connection is not None:
                    connection.close()
                connection = None
                time.sleep(0.02)
        if connection is not None:
            connection.close()

    def _step(self, connection):
        one = f"c{self.number}-{self.made}"
        self.made += 1
        x = {"a": self.rng.gauss(0, 1), "b": self.rng.gauss(0, 1)}
        key = {"key": self.rng.choice("uvw")} if self.keyed else {}
        waiting = [asked for asked in self.asked if asked not in self.told]
        if self.rng.random() < 0.3:
            calls = [("learn", {"rows": [{"id": f"{one}/{n}", "x": x, "y": float(n), **key} for n in range(3)]})]
        else:
            calls = [("predict", {"id": one, "x": x, **key})]
            if waiting and self.rng.random() < 0.8:
                calls.append(("learn", {"id": self.rng.choice(waiting), "y": self.rng.gauss(0, 1)}))
        for call in calls:
            self.unsure.append(call)
            self._send(connection, *call)
            self.unsure.pop()

    def _send(self, connection, verb, body):
        status, answer = connection.call("POST", f"/v1/models/m/{verb}", body)
        if status != 200:
            self.bad.append((status, answer, body))
        elif verb == "predict":
            self.asked[body["id"]] = answer
        else:
            self.told |= {row["id"]: row["y"] for row in body.get("rows", [body])}


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
        for load in loads:
            load.ending = True
        for load in loads:
            load.join()
        client = service.client()
        assert [load.bad for load in loads] == [[]] * CLIENTS
        account = library_account(folder)
        answers = {one: answer for _, of_unit in account.values() for one, answer in of_unit.items()}
        acknowledged = {one: answer for load in loads for one, answer in load.asked.items()}
        assert len(acknowledged) > 100
        for one, answer in acknowledged.items():
            prediction, lower, upper = answers[one]
            assert answer["prediction"] == prediction
            if answer["lower"] is not None:
                assert (answer["lower"], answer["upper"]) == (lower, upper)
        told = {one: y for load in loads for one, y in load.told.items()}
        labels = learned_ids(folder)
        assert len(labels) == len(set(labels)), "learned twice"
        assert told.keys() <= set(labels), "an acknowledged label is lost"
        for one, y in list(told.items())[:200]:
            assert client.call("POST", "/v1/models/m/learn", {"id": one, "y": y})[1] == {"learned": 0, "known": 1}
        for (_, key), (learner, _) in account.items():
            assert client.call("GET", f"/v1/models/m/export?key={key}")[1] == learner.to_bytes()
        assert client.call("GET", "/v1/models/m")[1]["rows"] == len(labels)


def learned_ids(folder):
    """The ids of all rows that were learned, as the log has them."""
    database = sqlite3.connect(folder / FILE)
    found = []
    for body, note in database.execute("SELECT body, note FROM log WHERE kind = 'learn' ORDER BY number"):
        sent = json.loads(body)
        rows = sent.get("rows", [sent])
        found += [rows[index]["id"] for index in (json.loads(note) if note else {}).get("rows", range(len(rows)))]
    database.close()
    return found


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
