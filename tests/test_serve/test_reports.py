"""Batches that report on each row, and labels that come before their rows."""

import json

import numpy as np
import pytest

pytest.importorskip("starlette")

import driftline as dl
from tests.cases import for_each
from tests.test_serve.client import refused
from tests.test_serve.tools import Direct, copy_of, library_account


def post(client, verb, *rows, **options):
    answer = client.post(f"/v1/models/m/{verb}", json={"rows": rows, "on_error": "report", **options})
    assert answer.status_code == 200, answer.text
    return answer.json()


GOOD = [{"id": "a", "x": {"u": 1.0}, "y": 1.0}, {"x": {"u": 2.0}, "y": 2.0}]
BAD = [
    ({"x": {"u": 1.0}}, 422, "y"),
    ({"id": "w", "x": {"u": 5.0}, "y": 0.0}, 409, "x"),
    ({"id": "nobody", "y": 1.0}, 404, "id"),
    ({"x": [1.0, 2.0], "y": 1.0}, 422, "x"),
    (7, 422, None),
    ({"y": 1.0}, 422, "x"),
    ({"x": {"u": 1.0}, "y": 10**400}, 422, "y"),
    ({"key": "k", "x": {"u": 1.0}, "y": 1.0}, 422, "key"),
    ({"id": "a", "x": {"u": 1.0}, "y": 9.0}, 409, "id"),
    ({"x": {f"u{n}": 1.0 for n in range(9)}, "y": 1.0}, 422, "x"),
    ({"x": {"u": 1.0}, "y": -2000.0}, 422, "y"),
]


@for_each("bad, status, field", BAD)
def test_a_bad_row_is_reported_and_the_others_are_learned(start, bad, status, field):
    client, expected = start(features=8, folder=str(abs(hash(json.dumps(bad))))), dl.RLS(low=-1000)
    client.put("/v1/models/m", json={"learner": "rls", "params": {"low": -1000}})
    client.post("/v1/models/m/predict", json={"id": "w", "x": {"u": 3.0}})
    waiting = expected.ask({"u": 3.0})
    found = post(client, "learn", GOOD[0], bad, GOOD[1], {"id": "w", "y": 3.0}, GOOD[0])
    error = found["rows"][1]["error"]
    assert (error["status"], error["row"], error.get("field")) == (status, 1, field), error
    results = [row.get("result") for row in found["rows"]]
    assert (found["learned"], found["known"], results) == (3, 1, ["learned", None, "learned", "learned", "known"])
    expected.learn_one(GOOD[0]["x"], 1.0)
    expected.learn_one(GOOD[1]["x"], 2.0)
    expected.tell(waiting, 3.0)
    assert client.get("/v1/models/m/export").content == expected.to_bytes()
    client.engine.stop()
    again = start(features=8, folder=str(abs(hash(json.dumps(bad)))))
    assert again.get("/v1/models/m/export").content == expected.to_bytes()


def test_questions_are_reported_row_by_row(client):
    rows = [{"id": "a", "x": {"u": 1.0}}, {"id": "a", "x": {"u": 2.0}}, {"x": {"u": ""}}, {"x": {"u": 1.0}}]
    rows.append({"id": "a", "x": {"u": 1}})
    found = post(client, "predict", *rows)["rows"]
    assert [row.get("error", {}).get("status") for row in found] == [None, 409, 422, None, None]
    assert [row.get("prediction") for row in found] == [0.0, None, None, 0.0, 0.0]
    assert [row.get("id") for row in found] == ["a", "a", None, None, "a"]
    assert client.get("/v1/models/m").json()["waiting"] == 1
    client.post("/v1/models/m/learn", json={"x": {"u": 1.0}, "y": 1.0})
    wide = {"id": "b", "x": [1.0, 2.0]}
    found = post(client, "predict", wide, wide, {"id": "c", "x": {"u": 1.0}})["rows"]
    assert ["error" in row for row in found] == [True, True, False]  # a row that repeats a refused one is refused too
    assert client.get("/v1/models/m").json()["waiting"] == 2


def test_a_batch_of_refused_rows_alone_changes_nothing(client):
    before = client.engine.log.last
    found = post(client, "learn", {"id": "x", "y": 1.0}, {"id": "x", "y": 1.0}, 3)
    assert (found["learned"], found["known"], client.engine.log.last) == (0, 0, before)
    assert [row["error"]["status"] for row in found["rows"]] == [404, 404, 422]
    assert refused(client.post("/v1/models/m/learn", json={"rows": [3], "on_error": "report", "more": 1}), 422, field="more")
    assert refused(client.post("/v1/models/m/learn", json={"rows": [3], "on_error": "skip"}), 422, field="on_error")
    assert refused(client.post("/v1/models/m/forecast", json={"rows": [], "on_error": "report"}), 422, field="on_error")


def test_reported_batches_of_any_learner_equal_the_library_after_a_kill(tmp_path):
    """With rows that the learner itself refuses, in units that were there and in new ones."""
    rng = np.random.default_rng(3)
    with Direct(tmp_path / "a") as service:
        service.put("m", learner="network", params={"learners": [{"learner": "rls"}, {"learner": "nlms"}]}, keyed=True)
        for number in range(25):
            rows = []
            for part in range(4):
                bad = rng.random() < 0.3
                x = [1.0, 2.0, 3.0] if bad else rng.normal(size=2).round(3).tolist()
                row = {"id": f"{number} {part}", "key": f"{rng.integers(6)}" + "new" * int(bad and number % 2), "x": x}
                rows.append(row | ({"y": float(rng.normal())} if number % 3 else {}))
            verb = service.learn if number % 3 else service.predict
            verb("m", *rows, report=True)
            if not number % 3:
                service.learn("m", *[{"id": row["id"], "y": 1.0} for row in rows], report=True)
        killed = copy_of(tmp_path / "a", tmp_path / "b")
        units = service.engine.log.models["m"].units
        expected = {key: service.export("m", key) for key in units}
    account = library_account(killed)
    assert {key: learner.to_bytes() for (_, key), (learner, _) in account.items()} == expected
    with Direct(killed) as again:
        assert {key: again.export("m", key) for key in again.engine.log.models["m"].units} == expected


def test_labels_wait_for_their_rows(tmp_path):
    """A row whose label came first is predicted without it, then learned at once; the oldest label is dropped."""
    with Direct(tmp_path / "a", early=2) as service:
        service.put("m", learner="rls")
        assert service.learn("m", {"id": "a", "y": 1.0}, {"id": "b", "y": 2.0}) == {"learned": 0, "known": 0, "early": 2}
        assert service.learn("m", id="b", y=2.0) == {"learned": 0, "known": 1}
        with pytest.raises(Exception, match="another label of the id 'b' already waits") as other:
            service.learn("m", id="b", y=3.0)
        assert other.value.status == 409
        service.learn("m", id="c", y=3.0)
        assert (service.status("m")["early"], service.engine.counts["early_dropped"]) == (2, 1)
        service.copy("m", "n")
        killed = copy_of(tmp_path / "a", tmp_path / "b")
    with Direct(killed, early=2) as again:
        for name in ("m", "n"):
            assert again.predict(name, {"id": "c", "x": [1.0]}, {"id": "a", "x": [2.0]})[0].prediction == 0.0
            expected = dl.RLS()
            expected.ask([1.0])
            expected.learn_one([1.0], 3.0)
            status = again.status(name)
            assert (status["early"], status["waiting"], status["rows"], status["mse"]) == (1, 1, 1, 9.0)
            assert again.learn(name, id="c", y=3.0) == {"learned": 0, "known": 1}
            assert again.export(name) == expected.to_bytes()
            again.learn(name, id="b", x=[3.0], y=2.0)  # the label came again, with its row
            assert again.status(name)["early"] == 0
        exported = again.export("m")
        killed = copy_of(tmp_path / "b", tmp_path / "c")
    with Direct(killed) as last:
        assert (last.export("m"), last.status("m")["early"]) == (exported, 0)
        with pytest.raises(Exception, match="is waiting for its label"):
            last.learn("m", id="z", y=1.0)  # the option is off again


def test_an_early_label_that_the_model_refuses_is_dropped_and_its_row_waits(tmp_path):
    with Direct(tmp_path, early=5) as service:
        service.put("m", learner="rls", params={"low": 0}, keyed=True)
        service.learn("m", {"id": "a", "y": -1.0}, {"id": "b", "key": "u", "y": 1.0})
        service.predict("m", {"id": "a", "key": "k", "x": [1.0]}, {"id": "b", "key": "k", "x": [1.0]})
        status = service.status("m")
        assert (status["early"], status["waiting"], status["rows"], service.engine.counts["early_dropped"]) == (0, 2, 0, 2)
        assert service.learn("m", id="a", y=1.0)["learned"] == 1
        service.learn("m", id="c", y=1.0)
        service.reset("m")
        assert service.status("m")["early"] == 0
