"""Thousands of requests that are nearly or completely invalid: no 5xx status, and no rejected request is learned."""

import json
import os
import random

import pytest

pytest.importorskip("starlette")

from driftline.serve.api import Api
from driftline.serve.engine import Engine
from driftline.serve.limits import Limits
from driftline.serve.sqlite import SqliteStore
from tests.test_serve.client import Client
from tests.test_serve.tools import SEED

REQUESTS = int(os.environ.get("DRIFTLINE_REQUESTS", "1500"))
VALUES = [
    None, True, False, 0, -1, 1, 2.5, 1e308, -1e308, 1e-320, 10**30, 10**400, "", "a", "é", "\u0000", "\ud800", "x" * 300,
    "NaN", [], {}, [[]], [1.0],
    [1.0, 2.0], ["a"], {"a": 1.0}, {"a": "b"}, {"a": None}, {"b": 2, "c": 1e200}, {"": 1.0}, {"x" * 300: 1.0}, [1.0] * 70,
    {"learner": "rls"},
    {"learner": {"learner": "rls"}}, ["rls", {"learner": "nobody"}],
]  # fmt: skip
LEARNERS = [
    "auto",
    "rls",
    "lms",
    "kernel",
    "network",
    "sparse_dfop",
    "kalman",
    "eg",
    "nobody",
    "pipeline",
    "averaged",
    "classifier",
]
PARAMS = [
    "rate",
    "ridge",
    "forgetting",
    "learner",
    "learners",
    "budget",
    "dim",
    "dtype",
    "missing",
    "intercept",
    "gamma",
    "steps",
    "classes",
]
HEADERS = [
    {"content-type": "application/json"},
    {"content-type": "application/vnd.apache.arrow.stream"},
    {"content-type": "text/plain"},
    {},
]
# The number of requests for each kind of answer.
SURE = [
    ("GET", "/v1/models/m", b"", {}),
    ("PUT", "/v1/models/n", b'{"learner": "lms"}', HEADERS[0]),
    ("PUT", "/v1/models/m", b'{"learner": "lms"}', HEADERS[0]),
    ("GET", "/v1/models/nobody", b"", {}),
    ("PATCH", "/v1/models/m", b"", {}),
    ("POST", "/v1/models/m/learn", b" " * 20_001, HEADERS[0]),
    ("POST", "/v1/models/m/learn", b"x", HEADERS[2]),
    ("POST", "/v1/models/m/learn", b'{"x": {"a": "b"}, "y": 1.0}', HEADERS[0]),
]


def one_row(rng):
    """A row in which any part may be invalid."""
    row = {
        "x": rng.choice([{"a": rng.gauss(0, 1)}, [rng.gauss(0, 1)], rng.choice(VALUES)]),
        "y": rng.choice([1.0, rng.choice(VALUES)]),
    }
    if rng.random() < 0.5:
        row["id"] = rng.choice([f"i{rng.randrange(30)}", rng.choice(VALUES)])
    if rng.random() < 0.3:
        row["key"] = rng.choice(["k", rng.choice(VALUES)])
    for name in list(row):
        if rng.random() < 0.15:
            del row[name]
    return row


def one_request(rng):
    """A method, a path, a body and headers."""
    name = rng.choice(["m", "k", "f", "c", "p", "n", "nobody", "%00", "..", "é", "x" * 300])
    call = rng.choice(["/predict", "/learn", "/learn", "/forecast", "", "/export", "/nowhere", "/copy", "/reset"])
    method = rng.choice(["POST", "POST", "POST", "GET", "PUT", "PUT", "DELETE", "PATCH"])
    if method == "DELETE" and name in "mkfcp":
        method = "POST"
    if method == "PUT":
        params = {rng.choice(PARAMS): rng.choice(VALUES) for _ in range(rng.randrange(3))}
        body = {"learner": rng.choice(LEARNERS), "params": params, "level": rng.choice([0.9, rng.choice(VALUES)])}
        body |= {"steps": rng.choice([None, 2, rng.choice(VALUES)]), "keyed": rng.choice([False, rng.choice(VALUES)])}
        body |= {"pooled": rng.choice([False, True, rng.choice(VALUES)])}
        body = {part: value for part, value in body.items() if rng.random() < 0.7}
    elif call in ("/copy", "/reset") and rng.random() < 0.7:
        body = {
            "to": rng.choice(["k", "n", "o", rng.choice(VALUES)]),
            "replace": rng.choice([True, False, rng.choice(VALUES)]),
        }
        body = {part: value for part, value in body.items() if call == "/copy" and rng.random() < 0.8}
    elif rng.random() < 0.5:
        body = one_row(rng)
    else:
        body = rng.choice(
            [{"rows": [one_row(rng) for _ in range(rng.randrange(12))]}, {"rows": rng.choice(VALUES)}, rng.choice(VALUES)]
        )
    if isinstance(body, dict) and "rows" in body and rng.random() < 0.4:
        body["on_error"] = rng.choice(["report", "report", "refuse", rng.choice(VALUES)])
    data = json.dumps(body).encode()
    if rng.random() < 0.2:
        at = rng.randrange(len(data) + 1)
        data = data[:at] + rng.randbytes(rng.randrange(4)) + data[at + rng.randrange(3) :]
    headers = HEADERS[0] if rng.random() < 0.85 else rng.choice(HEADERS)
    return method, f"/v1/models/{name}{call}", data, headers


def test_no_request_causes_a_server_error_and_no_refused_one_is_learned(tmp_path, caplog):
    rng = random.Random(SEED)
    engine = Engine(SqliteStore(tmp_path / "s"), Limits(rows=10, features=50, body=20_000, models=30, keys=10, early=3))
    engine.start()
    client = Client(Api(engine).app, engine)
    for name, config in {
        "m": {"learner": "rls"},
        "k": {"learner": "lms", "keyed": True},
        "f": {"learner": "rls", "steps": 2},
        "c": {"learner": "classifier"},
        "p": {"learner": "rls", "keyed": True, "pooled": True},
    }.items():
        assert client.put(f"/v1/models/{name}", json=config).status_code == 201
    seen = {}
    for number in range(REQUESTS):
        method, path, data, headers = SURE[number] if number < len(SURE) else one_request(rng)
        before = (
            engine.log.last,
            len(engine.log.models),
            {name: model.export(None) for name, model in engine.log.models.items() if name in "mfcp"},
        )
        answer = client.request(method, path, content=data, headers=headers)
        seen[answer.status_code] = seen.get(answer.status_code, 0) + 1
        assert answer.status_code < 500, (method, path, data, answer.text)
        if answer.status_code >= 400:
            assert answer.json()["detail"]
            assert "Traceback" not in answer.text
            assert str(tmp_path) not in answer.text
            after = (
                engine.log.last,
                len(engine.log.models),
                {name: model.export(None) for name, model in engine.log.models.items() if name in "mfcp"},
            )
            assert after == before, (method, path, data, answer.text)
    models = {name: client.get(f"/v1/models/{name}").json() for name in list(engine.log.models)}
    engine.stop()
    assert seen.keys() >= {200, 201, 404, 405, 409, 413, 415, 422}
    again = Engine(SqliteStore(tmp_path / "s"), engine.limits)
    assert {name: json.loads(json.dumps(model.status())) for name, model in again.log.models.items()} == models
    again.store.close()
    assert "a call failed" not in caplog.text
