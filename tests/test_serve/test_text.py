"""Text values in rows sent to a service."""

import pytest

pytest.importorskip("starlette")

import driftline as dl
from tests.test_serve.client import refused


def test_text_is_encoded_as_by_the_learners_and_survives_a_restart(start):
    rows = [{"x": {"shop": "north" if n % 3 else "south", "load": float(n % 5)}, "y": float(n % 3)} for n in range(40)]
    expected, client = dl.RLS(), start()
    client.put("/v1/models/m", json={"learner": "rls"})
    for row in rows[:20]:
        assert client.post("/v1/models/m/learn", json=row).status_code == 200
    assert client.post("/v1/models/m/learn", json={"rows": rows[20:]}).json() == {"learned": 20, "known": 0}
    for row in rows:
        expected.learn_one(row["x"], row["y"])
    asked = {"id": "a1", "x": {"load": 2.0, "shop": "harbour"}}  # a new text value
    said = client.post("/v1/models/m/predict", json=asked).json()["prediction"]
    assert said == expected.predict_one(asked["x"])
    client.engine.stop()
    client = start()
    again = {"id": "a1", "x": {"shop": "harbour", "load": 2.0}}
    assert client.post("/v1/models/m/predict", json=again).json()["prediction"] == said
    other = {"id": "a1", "x": {"shop": "pier", "load": 2.0}}
    assert refused(client.post("/v1/models/m/predict", json=other), 409)
    assert client.post("/v1/models/m/learn", json={"id": "a1", "y": 4.0}).json() == {"learned": 1, "known": 0}
    expected.learn_one(asked["x"], 4.0)
    assert client.get("/v1/models/m/export").content == expected.to_bytes()


def test_a_feature_cannot_change_between_number_and_text(client):
    client.post("/v1/models/m/learn", json={"x": {"u": 1.0, "shop": "north"}, "y": 1.0})
    for x, words in (
        ({"u": "one", "shop": "north"}, "x['u'] must be a number, got 'one'"),
        ({"shop": 3.0}, "x['shop'] must be text, got 3.0"),
    ):
        answer = client.post("/v1/models/m/learn", json={"x": x, "y": 1.0})
        assert refused(answer, 422, field="x")
        assert words in answer.json()["detail"]
    assert client.get("/v1/models/m").json()["rows"] == 1


def test_limits_count_text_values_as_the_features_they_become(start):
    client = start(features=3)
    client.put("/v1/models/m", json={"learner": "rls"})
    for shop in ("north", "south", "pier"):
        assert client.post("/v1/models/m/learn", json={"x": {"shop": shop}, "y": 1.0}).status_code == 200
    assert refused(client.post("/v1/models/m/learn", json={"x": {"shop": "harbour"}, "y": 1.0}), 422, field="x")
    assert client.post("/v1/models/m/learn", json={"x": {"shop": "south"}, "y": 1.0}).status_code == 200
