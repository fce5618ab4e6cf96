"""Trained models that are put into the service, and the aliases under which callers find them."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("starlette")

import driftline as dl
from tests.test_serve.client import refused
from tests.test_serve.process import Process

FILE = {"content-type": "application/octet-stream"}


def rows(count, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        x = {"town": str(rng.choice(["Rome", "Oslo"])), "wind": float(rng.normal())}
        yield x, 2 * x["wind"] + 5 * (x["town"] == "Rome") + float(rng.normal())


def put(client, name, model, **params):
    content = model if isinstance(model, bytes) else model.to_bytes()
    return client.put(f"/v1/models/{name}", content=content, headers=FILE, params=params)


def test_a_trained_model_goes_on_learning_in_the_service(start):
    """With its columns, its memory and its intervals; also after a restart and a reset."""
    client, model = start(), dl.RLS(forgetting=0.95)
    for x, y in rows(60):
        model.learn_one(x, y)
    made = put(client, "m", model, level="0.8", quantiles="0.1,0.5")
    status = made.json()
    assert (made.status_code, status["learner"], status["params"]["forgetting"]) == (201, "rls", 0.95)
    assert (status["level"], status["rows"], "untrained" in status) == (0.8, 0, False)
    assert put(client, "m", model, level="0.8", quantiles="0.1,0.5").status_code == 200
    for x, y in rows(5, seed=1):
        said, ticket = client.post("/v1/models/m/predict", json={"x": x}).json(), model.ask(x)
        assert (said["prediction"], said["lower"], said["upper"]) == (ticket.prediction, *ticket.interval(0.8))
        assert said["quantiles"] == ticket.quantiles([0.1, 0.5]).tolist()
        client.post("/v1/models/m/learn", json={"x": x, "y": y})
        model.learn_one(x, y)
    assert put(client, "m", model).status_code == 409  # it has learned since
    client.engine.stop()
    client = start()
    assert client.get("/v1/models/m").json()["rows"] == 5
    assert client.get("/v1/models/m/export").content == model.to_bytes()
    client.post("/v1/models/m/reset", json={})
    assert client.get("/v1/models/m/export").content == dl.RLS(forgetting=0.95).to_bytes()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_fleet_becomes_a_keyed_model_and_a_forecaster_one_with_steps(start, dtype):
    client, fleet, forecaster = start(), dl.Fleet(dl.RLS(dtype=dtype)), dl.Forecaster(dl.RLS(), steps=3)
    fresh = dl.RLS(dtype=dtype)
    for number in range(40):
        fleet.learn_one("ab"[number % 2], [float(number % 5)], float(number % 3))
        forecaster.learn_one([float(number % 5)], float(number % 3))
    assert (put(client, "k", fleet).json()["keys"], put(client, "f", forecaster).json()["steps"]) == (2, 3)
    client.engine.stop()
    client = start()
    for key in "ab":
        said = client.post("/v1/models/k/predict", json={"key": key, "x": [2.0]}).json()
        assert said["prediction"] == fleet.predict_one(key, [2.0])
    client.post("/v1/models/k/learn", json={"key": "new", "x": [1.0], "y": 2.0})
    fresh.learn_one([1.0], 2.0)
    assert client.get("/v1/models/k/export", params={"key": "new"}).content == fresh.to_bytes()
    assert client.post("/v1/models/k/reset", json={}).json()["keys"] == 0
    said = client.post("/v1/models/f/forecast", json={"rows": [{"x": [1.0]}] * 3}).json()["rows"]
    assert [row["prediction"] for row in said] == forecaster.forecast([[1.0]] * 3).predictions.tolist()


def test_a_file_that_cannot_be_served_is_refused_and_changes_nothing(start):
    client, model = start(features=5, file=50_000), dl.RLS()
    model.learn_one([1.0] * 5, 1.0)
    whole, wide = model.to_bytes(), dl.RLS()
    wide.learn_one([1.0] * 6, 1.0)
    waiting = dl.Pending(dl.RLS())
    waiting.predict_one("a", [1.0])
    wrong = [b"", b"nothing", whole[:-9], whole[:40] + bytes([whole[40] ^ 1]) + whole[41:]]
    for bad in [*wrong, wide, waiting, model.ask([1.0] * 5)]:
        assert refused(put(client, "m", bad), 422), bad
    for query in ({"level": "2"}, {"level": "x"}, {"level": "nan"}, {"level": "0.5,0.6"}, {"quantiles": ""}, {"steps": "2"}):
        assert refused(put(client, "m", whole, **query), 422, field=next(iter(query)).replace("quantiles", "quantiles[0]"))
    assert refused(put(client, "m", whole, quantiles="0.5,0.1"), 422, field="quantiles")
    assert refused(put(client, "m", bytes(50_001)), 413)
    assert refused(put(client, "a b", whole), 422, field="name")
    assert client.get("/v1/models").json()["models"] == []
    assert put(client, "m", whole).status_code == 201


def test_an_alias_stands_for_a_model_and_moves_at_once(start):
    client = start(models=3)
    for name in ("m1", "m2"):
        client.put(f"/v1/models/{name}", json={"learner": "rls"})
    path = "/v1/aliases/prod"
    assert refused(client.post("/v1/models/prod/learn", json={"x": [1.0], "y": 1.0}), 404)
    assert [client.put(path, json={"model": name}).status_code for name in ("m1", "m1")] == [201, 200]
    client.post("/v1/models/prod/learn", json={"x": [1.0], "y": 1.0})
    client.post("/v1/models/prod/predict", json={"id": "a", "x": [1.0]})
    assert client.put(path, json={"model": "m2"}).status_code == 200
    assert refused(client.post("/v1/models/prod/learn", json={"id": "a", "y": 1.0}), 404, field="id")  # it waits in m1
    client.post("/v1/models/prod/learn", json={"rows": [{"x": [1.0], "y": 1.0}] * 2})
    client.engine.stop()
    client = start(models=3)
    assert client.get("/v1/aliases").json() == {"aliases": {"prod": "m2"}}
    assert [client.get(f"/v1/models/{name}").json()["rows"] for name in ("m1", "m2", "prod")] == [1, 2, 2]
    assert client.get("/v1/models/prod").json()["name"] == "m2"
    assert client.post("/v1/models/prod/reset", json={}).json()["name"] == "m2"
    assert client.put(path, json={"model": "m1"}).status_code == 200
    assert client.delete("/v1/models/m2").status_code == 204
    for name in ("m1", "prod"):
        assert refused(client.delete(f"/v1/models/{name}"), 409)  # callers would be left without a model
    assert refused(client.put("/v1/models/prod", json={}), 409)
    assert refused(client.post("/v1/models/m1/copy", json={"to": "prod", "replace": True}), 409)
    assert refused(client.put("/v1/aliases/m1", json={"model": "m1"}), 409, field="name")
    for name in ("nobody", "prod"):  # not an alias of an alias either
        assert refused(client.put("/v1/aliases/other", json={"model": name}), 404, field="model")
    assert refused(client.put("/v1/aliases/a b", json={"model": "m1"}), 422, field="name")
    assert refused(client.put(path, json={"modle": "m1"}), 422)
    assert refused(client.put(path, content=b"{}", headers={"content-type": "text/plain"}), 415)
    assert client.delete(path).status_code == 204
    assert refused(client.delete(path), 404)
    assert client.delete("/v1/models/m1").status_code == 204


def test_a_model_of_the_command_line_is_pushed_into_a_service(tmp_path):
    pytest.importorskip("httpx")
    table = "wind,town,power\n" + "".join(f"{x['wind']},{x['town']},{y}\n" for x, y in rows(50))
    (tmp_path / "past.csv").write_text(table)

    def driftline(*words):
        command = [sys.executable, "-c", "from driftline.cli import main; main()", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    ended = driftline("run", "past.csv", "-t", "power", "--model", "rls", "--state", "model.drift")
    assert ended.returncode == 0, ended.stderr
    with Process(tmp_path / "s") as service:
        url = f"http://127.0.0.1:{service.port}"
        pushed = driftline("push", "model.drift", url, "power-1", "--alias", "power")
        assert (pushed.returncode, pushed.stdout) == (0, "power-1: rls\n"), pushed.stderr
        row = {"wind": 1.5, "town": "Rome"}
        said = service.client().call("POST", "/v1/models/power/predict", {"x": row})[1]
        assert said["prediction"] == dl.load(tmp_path / "model.drift").predict_one(row)
        again = driftline("push", "past.csv", url, "power-2")
        assert again.returncode == 1
        assert again.stderr.startswith("driftline push: 422: the body is not a model file")
