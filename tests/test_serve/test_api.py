"""The contract over HTTP, call by call."""

import asyncio
import gzip
import json

import numpy as np
import pytest
import typer

pytest.importorskip("starlette")

import pyarrow as pa
from typer.testing import CliRunner

import driftline as dl
from driftline.serve.api import Api
from driftline.serve.command import register
from driftline.serve.tokens import Tokens, digest_of
from tests.cases import for_each
from tests.test_serve.client import refused


def test_a_row_is_predicted_and_learned_when_its_label_arrives(client):
    asked = {"id": "a1", "x": {"load": 1.0}}
    assert client.post("/v1/models/m/predict", json=asked).json() == {
        "id": "a1", "prediction": 0.0, "lower": None, "upper": None,
    }  # fmt: skip
    assert client.get("/v1/models/m").json()["waiting"] == 1
    assert client.post("/v1/models/m/learn", json={"id": "a1", "y": 3.1}).json() == {"learned": 1, "known": 0}
    assert client.post("/v1/models/m/learn", json={"id": "a1", "y": 3.1}).json() == {"learned": 0, "known": 1}
    assert client.post("/v1/models/m/predict", json=asked).json()["prediction"] == 0.0
    expected = dl.RLS()
    expected.learn_one({"load": 1.0}, 3.1)
    said = client.post("/v1/models/m/predict", json={"x": {"load": 2.0}}).json()
    assert said == {"prediction": expected.predict_one({"load": 2.0}), "lower": None, "upper": None}
    exported = client.get("/v1/models/m/export").content
    assert dl.from_bytes(exported).to_bytes() == expected.to_bytes()


def test_intervals_are_given_after_enough_labels(client):
    expected, rng = dl.RLS(), np.random.default_rng(0)
    rows = [{"x": {"a": float(a)}, "y": float(2 * a + rng.normal())} for a in rng.normal(size=40)]
    assert client.post("/v1/models/m/learn", json={"rows": rows}).json() == {"learned": 40, "known": 0}
    for row in rows:
        expected.learn_one(row["x"], row["y"])
    said = client.post("/v1/models/m/predict", json={"rows": [{"x": {"a": 1.5}}]}).json()["rows"][0]
    lower, upper = expected.predict_interval({"a": 1.5}, 0.9)
    assert said == {"prediction": expected.predict_one({"a": 1.5}), "lower": lower, "upper": upper}
    status = client.get("/v1/models/m").json()
    assert {"rows", "waiting", "mse", "mae", "coverage", "memory", "alarms", "learner", "params", "since"} <= status.keys()
    run = dl.RLS().run([[row["x"]["a"]] for row in rows], [row["y"] for row in rows])
    assert status["mse"] == pytest.approx(run.losses.mean(), rel=1e-12)
    assert status["mae"] == pytest.approx(np.abs(run.errors).mean(), rel=1e-12)


def test_models_are_created_once_listed_and_removed(client):
    assert client.put("/v1/models/m", json={"learner": "rls", "params": {}}).status_code == 200
    assert refused(client.put("/v1/models/m", json={"learner": "rls", "level": 0.5}), 409)
    assert client.put("/v1/models/n", json={}).json()["learner"] == "auto"
    assert [model["name"] for model in client.get("/v1/models").json()["models"]] == ["m", "n"]
    assert client.delete("/v1/models/n").status_code == 204
    assert refused(client.get("/v1/models/n"), 404)
    assert refused(client.delete("/v1/models/n"), 404)


@pytest.mark.parametrize(
    ("body", "status", "places"),
    [
        ({"learner": "rlss"}, 422, {"field": "learner"}),
        ({"learner": "rls", "params": {"forgetting": 2}}, 422, {"field": "params"}),
        ({"learner": "rls", "params": {"forgeting": 0.5}}, 422, {"field": "params"}),
        ({"learner": "rls", "params": 3}, 422, {"field": "params"}),
        ({"level": 1.0}, 422, {"field": "level"}),
        ({"steps": 0}, 422, {"field": "steps"}),
        ({"keyed": 1}, 422, {"field": "keyed"}),
        ({"lerner": "rls"}, 422, {"field": "lerner"}),
        ([], 422, {}),
    ],
)
def test_an_invalid_model_is_refused_and_the_field_is_named(client, body, status, places):
    assert refused(client.put("/v1/models/x", json=body), status, **places)
    assert len(client.get("/v1/models").json()["models"]) == 1


def test_a_model_may_be_a_nested_learner(client):
    config = {"learner": "kernel", "params": {"learner": {"learner": "rls", "params": {"forgetting": 0.9}}, "budget": 5}}
    assert client.put("/v1/models/k", json=config).status_code == 201
    client.post("/v1/models/k/learn", json={"x": [1.0], "y": 1.0})
    expected = dl.Kernel(dl.RLS(forgetting=0.9), budget=5)
    expected.learn_one([1.0], 1.0)
    assert client.get("/v1/models/k/export").content == expected.to_bytes()


BAD_ROWS = [
    ({"id": "a", "x": {"u": ""}, "y": 1}, 422, {"field": "x.u"}),
    ({"id": "a", "x": {"u": "a\u0000"}, "y": 1}, 422, {"field": "x.u"}),
    ({"id": "a", "x": {"u": "a" * 201}, "y": 1}, 422, {"field": "x.u"}),
    ({"id": "a", "x": {"u": None}, "y": 1}, 422, {"field": "x.u"}),
    ({"id": "a", "x": {"u": []}, "y": 1}, 422, {"field": "x.u"}),
    ({"id": "a", "x": {}, "y": 1}, 422, {"field": "x"}),
    ({"id": "a", "x": [1, "b"], "y": 1}, 422, {"field": "x[1]"}),
    ({"id": "a", "x": [1, None], "y": 1}, 422, {"field": "x[1]"}),
    ({"id": "a", "x": 3, "y": 1}, 422, {"field": "x"}),
    ({"id": "a", "x": {"u" * 201: 1.0}, "y": 1}, 422, {"field": "x"}),
    ({"id": "a", "x": {"\ud800": 1.0}, "y": 1}, 422, {"field": "x"}),
    ({"id": "a", "x": {"u": 1.0}, "y": "1"}, 422, {"field": "y"}),
    ({"id": "a", "x": {"u": 1.0}}, 422, {"field": "y"}),
    ({"id": "", "x": {"u": 1.0}, "y": 1}, 422, {"field": "id"}),
    ({"id": "a\u0000", "x": {"u": 1.0}, "y": 1}, 422, {"field": "id"}),
    ({"id": 7, "x": {"u": 1.0}, "y": 1}, 422, {"field": "id"}),
    ({"id": "i" * 201, "x": {"u": 1.0}, "y": 1}, 422, {"field": "id"}),
    ({"y": 1.0}, 422, {"field": "x"}),
    ({"id": "a", "x": {"u": 10**400}, "y": 1}, 422, {"field": "x.u"}),
    ({"id": "a", "xx": {"u": 1.0}, "y": 1}, 422, {"field": "xx"}),
    ({"id": "unknown", "y": 1}, 404, {"field": "id"}),
    ({"key": "k", "x": {"u": 1.0}, "y": 1}, 422, {"field": "key"}),
    (7, 422, {}),
]  # fmt: skip


@for_each("row, status, places", BAD_ROWS)
def test_invalid_rows_are_refused_by_row_and_field_and_nothing_is_learned(client, row, status, places):
    good = {"id": "good", "x": {"u": 1.0}, "y": 1.0}
    last = client.engine.log.last
    headers = {"content-type": "application/json"}
    alone = client.post("/v1/models/m/learn", content=json.dumps(row), headers=headers)
    assert refused(alone, status, **places)
    if isinstance(row, dict):
        batch = client.post("/v1/models/m/learn", content=json.dumps({"rows": [good, row]}), headers=headers)
        assert refused(batch, status, row=1, **places)
    assert client.get("/v1/models/m").json()["rows"] == 0
    assert client.engine.log.last == last


@pytest.mark.parametrize(
    "text", ["", "{", "[1", "nan", '{"x": [NaN], "y": 1}', '{"x": [1e999], "y": 1}', "\xff", "[" * 100_000, '{"rows": []}']
)
def test_text_that_is_not_json_is_refused(client, text):
    content = text.encode("latin-1")
    answer = client.post("/v1/models/m/learn", content=content, headers={"content-type": "application/json"})
    assert refused(answer, 422)


def test_limits_are_enforced(start):
    client = start(body=1000, rows=3, features=4, models=2, keys=2)
    for name in "mk":
        assert client.put(f"/v1/models/{name}", json={"learner": "rls", "keyed": name == "k"}).status_code == 201
    assert refused(client.put("/v1/models/third", json={}), 422)
    learn = "/v1/models/m/learn"
    assert refused(client.post(learn, json={"x": {"a" * 150: 1.0}, "y": 1.0, "id": "b" * 1000}), 413)
    streamed = client.post(
        learn, content=(b" " * 300 for _ in range(5)), headers={"content-type": "application/json"}
    )  # no Content-Length
    assert refused(streamed, 413)
    assert refused(client.post(learn, json={"rows": [{"x": [1.0], "y": 1.0}] * 4}), 413)
    assert refused(client.post(learn, json={"x": [1.0] * 5, "y": 1.0}), 422, field="x")
    assert client.post(learn, json={"x": {"a": 1, "b": 2, "c": 3}, "y": 1}).status_code == 200
    assert refused(client.post(learn, json={"x": {"d": 1, "e": 2}, "y": 1}), 422, field="x")
    assert client.post(learn, json={"x": {"d": 1, "a": 2}, "y": 1}).status_code == 200
    for key in "uv":
        assert client.post("/v1/models/k/learn", json={"key": key, "x": [1.0], "y": 1.0}).status_code == 200
    assert refused(client.post("/v1/models/k/learn", json={"key": "w", "x": [1.0], "y": 1.0}), 422, field="key")
    assert refused(client.put("/v1/models/" + "n" * 201, json={}), 422, field="name")
    assert refused(client.put("/v1/models/-n", json={}), 422, field="name")


def test_keyed_models_have_a_learner_for_each_key(start):
    client = start()
    client.put("/v1/models/k", json={"learner": "rls", "keyed": True})
    assert refused(client.post("/v1/models/k/predict", json={"id": "a", "x": [1.0]}), 422, field="key")
    rng, expected = np.random.default_rng(0), {}
    for number in range(60):
        key, x, y = f"k{rng.integers(5)}", rng.normal(size=2).tolist(), float(rng.normal())
        client.post("/v1/models/k/predict", json={"id": str(number), "key": key, "x": x})
        ticket = expected.setdefault(key, dl.RLS()).ask(x)
        assert client.post("/v1/models/k/learn", json={"id": str(number), "y": y}).json()["learned"] == 1
        expected[key].tell(ticket, y)
    assert client.get("/v1/models/k").json()["keys"] == 5
    for key, learner in expected.items():
        assert client.get("/v1/models/k/export", params={"key": key}).content == learner.to_bytes()
        assert client.get("/v1/models/k", params={"key": key}).json()["rows"] == learner.n_seen_
    said = client.post("/v1/models/k/predict", json={"key": "new", "x": [1.0, 2.0]}).json()
    assert said["prediction"] == 0.0
    assert client.get("/v1/models/k").json()["keys"] == 5
    assert refused(client.get("/v1/models/k/export"), 422, field="key")
    assert refused(client.get("/v1/models/k", params={"key": "nobody"}), 404)
    client.post("/v1/models/k/predict", json={"id": "w", "key": "k0", "x": [1.0, 2.0]})
    assert refused(client.post("/v1/models/k/learn", json={"id": "w", "key": "k1", "y": 1.0}), 409, field="key")


def test_a_model_with_steps_forecasts(start):
    client = start()
    client.put("/v1/models/f", json={"learner": "rls", "steps": 3})
    expected, rng = dl.Forecaster(dl.RLS(), steps=3), np.random.default_rng(0)
    rows = [{"x": {"a": float(a)}, "y": float(rng.normal())} for a in rng.normal(size=30)]
    client.post("/v1/models/f/learn", json={"rows": rows})
    for row in rows:
        expected.learn_one(row["x"], row["y"])
    ahead = [{"x": {"a": float(a)}} for a in (1.0, 2.0, 3.0)]
    said = client.post("/v1/models/f/forecast", json={"rows": ahead}).json()["rows"]
    forecast = expected.forecast([row["x"] for row in ahead], level=0.9)
    assert [row["prediction"] for row in said] == forecast.predictions.tolist()
    ends = np.array([[row["lower"] or -np.inf, row["upper"] or np.inf] for row in said])
    assert np.array_equal(ends, np.column_stack([forecast.lower, forecast.upper]))
    assert refused(client.post("/v1/models/f/forecast", json={"rows": ahead * 2}), 422)
    client.put("/v1/models/m", json={})
    assert refused(client.post("/v1/models/m/forecast", json={"rows": ahead}), 409)


def test_a_batch_may_be_an_arrow_stream(client):
    rows = [{"id": str(n), "x": {"a": n / 7, "b": 1.0}, "y": n * 0.3} for n in range(20)]
    table = pa.table({
        "id": [row["id"] for row in rows], "y": [row["y"] for row in rows],
        "a": [row["x"]["a"] for row in rows], "b": [row["x"]["b"] for row in rows],
    })  # fmt: skip
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)
    headers = {"content-type": "application/vnd.apache.arrow.stream"}
    body = sink.getvalue().to_pybytes()
    assert client.post("/v1/models/m/learn", content=body, headers=headers).json() == {"learned": 20, "known": 0}
    assert client.post("/v1/models/m/learn", json={"rows": rows}).json() == {"learned": 0, "known": 20}
    assert refused(client.post("/v1/models/m/learn", content=body[:200], headers=headers), 422)
    assert refused(client.post("/v1/models/m/learn", content=b"x", headers=headers), 422)


def test_without_tokens_pages_of_another_origin_are_refused(start):
    for host, status in (("evil.example", 403), ("localhost", 200), ("127.0.0.1:8440", 200), ("[::1]:1", 200)):
        client = start(host="127.0.0.1", folder=host[:4])
        assert client.get("/v1/models", headers={"host": host}).status_code == status
    body = client.put("/v1/models/x", content=b"{}", headers={"content-type": "text/plain"})
    assert refused(body, 415)


def test_tokens_are_limited_to_their_scope_and_change_without_a_restart(start, tmp_path, monkeypatch):
    monkeypatch.setattr("driftline.serve.tokens._EVERY", 0.0)
    file = tmp_path / "tokens"
    file.write_text("".join(f"{digest_of(scope)} {scope} of a test\n" for scope in ("read", "write", "admin")))
    client = start(Tokens(file), host="service.example")

    def call(token, method, path, body=None):
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return client.request(method, path, json=body, headers=headers).status_code

    assert call("admin", "PUT", "/v1/models/m", {}) == 201
    expected = {None: [401] * 5, "wrong": [401] * 5, "read": [200, 200, 403, 403, 403], "write": [200, 200, 200, 200, 403]}
    for token, statuses in expected.items():
        assert statuses == [
            call(token, "GET", "/v1/models"),
            call(token, "POST", "/v1/models/m/predict", {"x": [1.0]}),
            call(token, "POST", "/v1/models/m/predict", {"id": "a", "x": [1.0]}),
            call(token, "POST", "/v1/models/m/learn", {"id": "a", "y": 1.0}),
            call(token, "DELETE", "/v1/models/m"),
        ]
        assert {call(token, "POST", f"/v1/models/m/{verb}", {"to": "n"}) for verb in ("copy", "reset")} <= {401, 403}
    assert [call(None, "GET", path) for path in ("/", "/healthz", "/readyz", "/openapi.json")] == [200] * 4
    assert call(None, "GET", "/metrics") == 401
    file.write_text(f"{digest_of('fresh')} admin\n")
    assert call("admin", "GET", "/v1/models") == 401
    assert call("fresh", "DELETE", "/v1/models/m") == 204
    file.write_text("half a li")
    assert call("fresh", "GET", "/v1/models") == 200
    assert "fresh" not in file.read_text()


def command_line():
    app = typer.Typer()
    register(app)
    return app


def test_tokens_for_single_models_reach_no_others(start, tmp_path):
    file = tmp_path / "tokens.txt"
    some, read, admin = (
        CliRunner().invoke(command_line(), ["token", str(file), *options]).output.strip()
        for options in (["--scope", "admin", "--model", "a", "--model", "b"], ["--scope", "read"], ["--scope", "admin"])
    )
    client = start(Tokens(file), host="service.example")

    def call(token, method, path, body=None):
        answer = client.request(method, path, json=body, headers={"authorization": f"Bearer {token}"})
        return answer.status_code if answer.status_code < 400 else (answer.status_code, answer.json()["detail"])

    other = (403, "the token is for single models, and not for this call")
    assert call("wrong", "GET", "/v1/models") == (401, "the token is not known")
    assert [call(some, "PUT", f"/v1/models/{name}", {}) for name in "ab"] == [201, 201]
    assert call(some, "PUT", "/v1/models/c", {}) == other
    assert call(admin, "PUT", "/v1/models/c", {}) == 201
    assert call(some, "POST", "/v1/models/a/predict", {"id": "a", "x": [1.0]}) == 200
    assert call(some, "POST", "/v1/models/c/predict", {"x": [1.0]}) == other
    assert call(some, "POST", "/v1/models/a/copy", {"to": "c", "replace": True}) == other
    assert call(some, "POST", "/v1/models/a/copy", {"to": "b", "replace": True}) == 201
    assert [call(some, "GET", path) for path in ("/v1/models", "/metrics", "/v1/aliases")] == [other] * 3
    assert call(some, "PUT", "/v1/aliases/a", {"model": "c"}) == other
    assert call(some, "DELETE", "/v1/models/a") == 204
    assert call(read, "DELETE", "/v1/models/b")[0] == 403
    wrong = CliRunner().invoke(command_line(), ["token", str(file), "--model", "a,c"])
    assert wrong.exit_code == 2


def test_a_model_is_copied_and_reset(client):
    client.post("/v1/models/m/learn", json={"id": "a", "x": [1.0], "y": 1e160})
    copied = client.post("/v1/models/m/copy", json={"to": "before"})
    assert (copied.status_code, copied.json()["name"], copied.json()["rows"]) == (201, "before", 1)
    assert refused(client.post("/v1/models/m/copy", json={"to": "before"}), 409, field="to")
    assert client.post("/v1/models/m/copy", json={"to": "before", "replace": True}).status_code == 201
    for body, field in (({}, "to"), ({"to": "a b"}, "to"), ({"to": "x" * 201}, "to"), ({"to": "n", "too": 1}, "too")):
        assert refused(client.post("/v1/models/m/copy", json=body), 422, field=field)
    assert refused(client.post("/v1/models/nobody/copy", json={"to": "n"}), 404)
    assert refused(client.post("/v1/models/m/reset", json={"rows": 1}), 422, field="rows")
    assert refused(client.post("/v1/models/m/reset"), 415)  # a page of another origin can send this
    status = client.post("/v1/models/m/reset", json={}).json()
    assert (status["rows"], status["unscored"], status["weights"], status["recent"]["hour"]["rows"]) == (0, 0, None, 0)
    assert client.get("/v1/models/before").json()["unscored"] == 1
    assert refused(client.post("/v1/models/nobody/reset", json={}), 404)


def test_names_that_appear_twice_are_refused(client):
    """RFC 8259 leaves open which of the two counts."""
    for text in ('{"x": {"a": 1, "a": 2}, "y": 1}', '{"x": {"a": 1}, "y": 1, "y": 2}'):
        answer = client.post("/v1/models/m/learn", content=text, headers={"content-type": "application/json"})
        assert refused(answer, 422)
        assert "appears twice" in answer.json()["detail"]
        batch = f'{{"rows": [{", ".join([text] * 10)}]}}'
        assert refused(client.post("/v1/models/m/learn", content=batch, headers={"content-type": "application/json"}), 422)
    assert client.get("/v1/models/m").json()["rows"] == 0


def test_bodies_may_be_compressed(start):
    client, row = start(body=1_000), json.dumps({"x": {"a": 1.0}, "y": 1.0}).encode()
    client.put("/v1/models/m", json={"learner": "rls"})

    def learn(content, encoding="gzip"):
        headers = {"content-type": "application/json", "content-encoding": encoding}
        return client.post("/v1/models/m/learn", content=content, headers=headers)

    assert learn(gzip.compress(row)).json() == {"learned": 1, "known": 0}
    assert learn(row, "identity").json() == {"learned": 1, "known": 0}
    assert refused(learn(gzip.compress(row + b" " * 1_000)), 413)
    assert refused(learn(gzip.compress(bytes(10**8))), 413)
    for broken in (row, gzip.compress(row)[:-1], gzip.compress(row) + b"x", b""):
        assert refused(learn(broken), 422)
    assert refused(learn(row, "br"), 415)
    assert client.get("/v1/models/m").json()["rows"] == 2


def test_probes_and_metrics_answer_and_unknown_paths_do_not(client):
    client.post("/v1/models/m/learn", json={"x": [1.0], "y": 1.0})
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}
    lines = client.get("/metrics").text.splitlines()
    assert 'driftline_model_rows_total{model="m"} 1' in lines
    assert 'driftline_calls_total{status="201"} 1' in lines
    assert "driftline_learned_total 1" in lines
    assert 'driftline_squared_error_sum{model="m",predictor="model"} 1.0' in lines
    assert "# TYPE driftline_learned_total counter" in lines
    both = "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.4"
    answer = client.get("/metrics", headers={"accept": both})
    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert {"# TYPE driftline_learned counter", "driftline_learned_total 1"} <= {*answer.text.splitlines()}
    assert answer.text.endswith("\n# EOF\n")
    assert refused(client.get("/nowhere"), 404)
    assert refused(client.patch("/v1/models/m"), 405)
    assert client.patch("/v1/models/m").headers["allow"] == "DELETE, GET, HEAD, PUT"
    assert client.get("/v1/models/m/learn").headers["allow"] == "POST"
    assert client.request("HEAD", "/healthz").status_code == 200
    assert refused(client.get("/v1/models/nobody/export"), 404)
    client.engine.full = True
    assert client.get("/readyz").json() == {"status": "ready", "disk": "full"}  # questions are answered
    client.engine._probed = float("inf")
    assert refused(client.post("/v1/models/m/learn", json={"x": [1.0], "y": 1.0}), 507)
    client.engine.stop()
    assert refused(client.get("/readyz"), 503)
    assert refused(client.get("/v1/models"), 503)


def test_the_openapi_contract_shows_the_definitions_that_validate_requests(client):
    contract = client.get("/openapi.json").json()
    schemas = contract["components"]["schemas"]
    api = Api(client.engine)
    assert schemas["Label"] == json.loads(json.dumps(api.requests.label))
    assert schemas["Model"] == json.loads(json.dumps(api.requests.model))
    assert all(schema["additionalProperties"] is False for name, schema in schemas.items() if name != "Problem")
    routes = {(route.path, method) for route in api.app.routes for method in route.endpoint.verbs}
    shown = {(path, verb.upper()) for path, verbs in contract["paths"].items() for verb in verbs if verb != "parameters"}
    assert shown == {(path, method) for path, method in routes if path.startswith("/v1/")}


def test_events_report_the_status_and_alarms(client, monkeypatch):
    monkeypatch.setattr("driftline.serve.events.EVERY", 0.05)
    rng = np.random.default_rng(0)
    jump = [{"x": [1.0], "y": float(rng.normal() + 50 * (n >= 300))} for n in range(400)]
    client.post("/v1/models/m/learn", json={"rows": jump})
    assert client.get("/v1/models/m").json()["alarms"] > 0

    async def listen():
        api = Api(client.engine)
        stream = await api.events.open("m", None)
        found = [await anext(stream), await anext(stream)]
        assert api.events.count == 1
        await client.engine.call(client.engine.learn, "m", *_one(api, {"x": [1.0], "y": 7.0}))
        found.append(await asyncio.wait_for(anext(stream), 60))
        await client.engine.call(client.engine.delete, "m")
        ended = await asyncio.wait_for(anext(stream, b"end"), 60)
        await stream.aclose()
        return found, ended, api.events.count

    found, ended, left = asyncio.run(listen())
    kinds = [event.split(b"\n")[0] for event in found]
    assert kinds == [b"event: status", b"event: alarm", b"event: status"]
    latest = json.loads(found[2].split(b"data: ")[1])
    assert latest["rows"] == 401
    assert [row[4] for row in latest["latest"]] == [7.0]
    assert (ended, left) == (b"end", 0)


def test_an_event_stream_that_falls_behind_ends_and_the_next_one_reports_every_alarm(client, monkeypatch):
    monkeypatch.setattr("driftline.serve.events.EVERY", 0.01)
    rng = np.random.default_rng(0)
    jump = [{"x": [1.0], "y": float(rng.normal() + 50 * (n >= 300))} for n in range(400)]

    async def listen():
        api = Api(client.engine)
        slow, prompt = await api.events.open("m", None), await api.events.open("m", None)
        await anext(slow), await anext(prompt)
        for start in range(0, 400, 20):
            await client.engine.call(client.engine.learn, "m", *_one(api, {"rows": jump[start : start + 20]}))
            rows = 0
            while rows < start + 20:  # until all pending events were sent
                event = await asyncio.wait_for(anext(prompt), 60)
                rows = json.loads(event.split(b"data: ")[1]).get("rows", 0)
        late = [event async for event in slow]
        again = await api.events.open("m", None)
        told = [await anext(again), await anext(again)]
        for stream in (prompt, again):
            await stream.aclose()
        return late, told

    late, told = asyncio.run(listen())
    assert late == []
    assert [event.split(b"\n")[0] for event in told] == [b"event: status", b"event: alarm"]
    assert json.loads(told[0].split(b"data: ")[1])["rows"] == 400


def _one(api, row):
    body = json.dumps(row).encode()
    return api.requests.read_rows("learn", body)[0], body


def test_a_refused_label_is_the_field_y(client):
    client.put("/v1/models/counts", json={"learner": "rls", "params": {"low": 0}})
    rows = [{"x": {"u": 1.0}, "y": 2.0}, {"x": {"u": 1.0}, "y": -5.0}]
    refused = client.post("/v1/models/counts/learn", json={"rows": rows})
    assert (refused.status_code, refused.json()["row"], refused.json()["field"]) == (422, 1, "y")
