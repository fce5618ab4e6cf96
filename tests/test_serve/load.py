"""Clients that load a service while it is killed, and checks that no acknowledged call is lost."""

import http.client
import random
import threading
import time

from tests.test_serve.tools import account_of, rows_with_effect

CLIENTS = 16


class Current:
    """Connects clients to the service that is currently running, if any."""

    service = None

    def __call__(self):
        if self.service is None:
            raise OSError
        return self.service.client()


class Load(threading.Thread):
    """A client that predicts and learns rows under its own ids, and records what was acknowledged."""

    def __init__(self, connect, number, seed, keyed):
        super().__init__(daemon=True)
        self.connect, self.number, self.rng, self.keyed = connect, number, random.Random(f"{seed} {number}"), keyed
        self.asked, self.told, self.unsure = {}, {}, []  # answers by id, labels by id, and calls without an answer
        self.made, self.ending, self.bad = 0, False, []

    def run(self):
        connection = None
        while not self.ending:
            try:
                connection = connection or self.connect()
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
        if status in (503, 504, 507):
            raise OSError("repeat it")
        if status != 200:
            self.bad.append((status, answer, body))
        elif verb == "predict":
            self.asked[body["id"]] = answer
        else:
            self.told |= {row["id"]: row["y"] for row in body.get("rows", [body])}


def end(loads):
    """Stops the clients."""
    for load in loads:
        load.ending = True
    for load in loads:
        load.join()


def check(loads, client, models, log):
    """Every acknowledged call is in the log exactly once; answers and models match the library bit for bit."""
    assert [load.bad for load in loads] == [[]] * len(loads)
    account = account_of(models, log)
    answers = {one: answer for _, of_unit in account.values() for one, answer in of_unit.items()}
    acknowledged = {one: answer for load in loads for one, answer in load.asked.items()}
    assert len(acknowledged) > 50
    for one, answer in acknowledged.items():
        prediction, lower, upper, _ = answers[one]
        assert answer["prediction"] == prediction
        if answer["lower"] is not None:
            assert (answer["lower"], answer["upper"]) == (lower, upper)
    told = {one: y for load in loads for one, y in load.told.items()}
    labels = [row["id"] for _, kind, body, note in log if kind == "learn" for row in rows_with_effect(body, note)]
    assert len(labels) == len(set(labels)), "learned twice"
    assert told.keys() <= set(labels), "an acknowledged label is lost"
    for one, y in list(told.items())[:200]:
        assert client.call("POST", "/v1/models/m/learn", {"id": one, "y": y})[1] == {"learned": 0, "known": 1}
    for (_, key), (learner, _) in account.items():
        assert client.call("GET", f"/v1/models/m/export?key={key}")[1] == learner.to_bytes()
    assert client.call("GET", "/v1/models/m")[1]["rows"] == len(labels)
