"""Models that classify: labels are numbers, texts or booleans, and answers have probabilities."""

import numpy as np
import pytest

import driftline as dl
from driftline.serve.problems import Problem
from driftline.serve.store import FullError
from tests.test_serve.tools import Direct, copy_of

NAMES = ("up", "down", "level")


def rows_of(rng, count):
    """Rows whose class depends on their numbers."""
    found = []
    for number in range(count):
        x = dict(zip("ab", rng.normal(size=2).round(3).tolist(), strict=True))
        found.append((f"r{number}", x, NAMES[(x["a"] > 0) + (x["b"] > 1)]))
    return found


def test_answers_and_model_match_the_library_bit_for_bit(tmp_path):
    learner, tickets = dl.Classifier(dl.RLS()), {}
    with Direct(tmp_path / "a") as service:
        service.put("m", learner="classifier", params={"learner": {"learner": "rls"}})
        for number, (one, x, y) in enumerate(rows_of(np.random.default_rng(0), 60)):
            if number % 3:
                (said,) = service.predict("m", id=one, x=x)
                tickets[one] = learner.ask(x), y
                assert said.prediction == tickets[one][0].prediction
                assert said.probabilities == learner.predict_proba_one(x)
            else:
                service.learn("m", id=one, x=x, y=y)
                learner.learn_one(x, y)
            if number % 5 == 4:
                for waiting in reversed(tickets):
                    service.learn("m", id=waiting, y=tickets[waiting][1])
                    learner.tell(*tickets[waiting])
                tickets.clear()
        assert service.export("m") == learner.to_bytes()
        status = service.status("m")
        killed = copy_of(tmp_path / "a", tmp_path / "b")
    assert sorted(status["classes"]) == sorted(NAMES)
    with Direct(killed) as again:
        assert again.export("m") == learner.to_bytes()
        assert again.status("m") == status
    with Direct(tmp_path / "a") as again:  # from its snapshot
        assert again.export("m") == learner.to_bytes()
        assert again.status("m") == status
        assert again.predict("m", x={"a": 3.0, "b": 0.0})[0].prediction == "down"


def test_the_scores_are_shares_of_mistakes(tmp_path):
    learner, mistakes, last, before = dl.Classifier(), [], [], None
    with Direct(tmp_path) as service:
        service.put("m", learner="classifier")
        for one, x, y in rows_of(np.random.default_rng(1), 80):
            said = learner.predict_one(x)
            if said is not None:
                mistakes.append(said != y)
                last.append(before != y)
            learner.learn_one(x, y)
            service.predict("m", id=one, x=x)
            service.learn("m", id=one, y=y)
            before = y
        status = service.status("m")
    assert status["mse"] == status["mae"] == pytest.approx(np.mean(mistakes), rel=1e-12)
    assert status["baselines"] == {"last": pytest.approx(np.mean(last), rel=1e-12), "mean": None}
    assert (status["rows"], status["unscored"]) == (80, 1)


def test_labels_are_numbers_texts_and_booleans_and_equal_ones_are_one_class(tmp_path):
    with Direct(tmp_path) as service:
        service.put("m", learner="classifier")
        service.learn("m", *[{"id": str(number), "x": [1.0 * number], "y": number % 2} for number in range(10)])
        service.learn("m", {"x": [1.0], "y": 1.0}, {"x": [1.0], "y": "1"})
        service.learn("m", x=[2.0], y=True)
        assert service.status("m")["classes"] == [0, 1, "1"]
        assert service.learn("m", id="3", y=1.0) == {"learned": 0, "known": 1}
        with pytest.raises(Problem, match="already learned with another label"):
            service.learn("m", id="3", y="1")


def test_a_refused_call_leaves_no_class(tmp_path):
    with Direct(tmp_path, classes=3) as service:
        service.put("m", learner="classifier")
        service.learn("m", x=[1.0], y="a")
        with pytest.raises(Problem):
            service.learn("m", {"x": [1.0], "y": "b"}, {"x": [1.0, 2.0], "y": "c"})
        assert service.status("m")["classes"] == ["a"]
        service.learn("m", {"x": [1.0], "y": "b"}, {"x": [1.0], "y": "c"})
        with pytest.raises(Problem, match="already has 3 classes") as refused:
            service.learn("m", {"x": [1.0], "y": "c"}, {"x": [1.0], "y": "d"})
        assert (refused.value.row, refused.value.field) == (1, "y")
        report = service.learn("m", {"x": [1.0], "y": "a"}, {"x": [1.0], "y": "d"}, report=True)
        assert report["learned"] == 1
        assert "already has 3 classes" in report["rows"][1].detail


def test_a_full_disk_leaves_no_class(tmp_path, monkeypatch):
    with Direct(tmp_path) as service:
        service.put("m", learner="classifier")

        def full(group):
            monkeypatch.undo()
            raise FullError("no room")

        monkeypatch.setattr(service.engine.store, "commit", full)
        with pytest.raises(Problem, match="the disk is full"):
            service.learn("m", x=[1.0], y="a")
        service.engine._probed = 0.0
        service.learn("m", x=[1.0], y="b")
        assert service.status("m")["classes"] == ["b"]


def test_a_label_may_come_before_its_row_and_declared_classes_are_known_from_the_start(tmp_path):
    with Direct(tmp_path / "a", early=10) as service:
        service.put("m", learner="classifier", params={"classes": ["no", "yes"]})
        assert service.learn("m", id="a", y="maybe")["early"] == 1
        killed = copy_of(tmp_path / "a", tmp_path / "b")
    with Direct(killed, early=10) as again:
        again.predict("m", id="a", x=[1.0])
        assert again.status("m")["classes"] == ["no", "yes", "maybe"]
        assert again.status("m")["rows"] == 1
        answer = again.predict("m", x=[1.0])[0]
        assert set(answer.probabilities) == {"no", "yes", "maybe"}
        assert sum(answer.probabilities.values()) == pytest.approx(1)
        again.copy("m", "n")
        again.learn("n", x=[1.0], y="new")
        assert again.status("n")["classes"] == ["no", "yes", "maybe", "new"]
        assert again.status("m")["classes"] == ["no", "yes", "maybe"]
        again.reset("m")
        assert again.status("m")["classes"] == ["no", "yes"]
        again.delete("n")


def test_keys_have_classifiers_of_their_own(tmp_path):
    with Direct(tmp_path) as service:
        service.put("m", learner="classifier", keyed=True)
        service.learn("m", key="u", x=[1.0], y="a")
        service.learn("m", key="v", x=[1.0], y="b")
        assert service.predict("m", key="v", x=[1.0])[0].prediction == "b"
        assert dl.from_bytes(service.export("m", "u")).classes_.tolist() == ["a"]


def test_over_http(client, tmp_path):
    assert client.put("/v1/models/c", json={"learner": "classifier"}).status_code == 201
    for number in range(20):
        found = client.post("/v1/models/c/learn", json={"x": {"a": number - 10}, "y": "high" if number > 9 else "low"})
        assert found.json() == {"learned": 1, "known": 0}
    answer = client.post("/v1/models/c/predict", json={"id": "q", "x": {"a": 9}}).json()
    assert answer == {"id": "q", "prediction": "high", "probabilities": answer["probabilities"]}
    assert [each["class"] for each in answer["probabilities"]] == ["low", "high"]
    assert client.post("/v1/models/c/predict", json={"id": "q", "x": {"a": 9}}).json() == answer
    assert client.get("/v1/models/c").json()["classes"] == ["low", "high"]
    for body in ({"learner": "classifier", "steps": 3}, {"learner": "classifier", "quantiles": [0.5]}):
        assert client.put("/v1/models/d", json=body).status_code == 422
    refused = client.post("/v1/models/m/learn", json={"x": [1.0], "y": "high"})
    assert refused.status_code == 422
    assert refused.json()["detail"] == 'y must be a finite number, got "high"'
    data = client.get("/v1/models/c/export").content
    sent = client.put("/v1/models/e", content=data, headers={"content-type": "application/octet-stream"})
    assert sent.status_code == 201
    assert sent.json()["classes"] == ["high", "low"]
    assert client.post("/v1/models/e/predict", json={"x": {"a": 9}}).json()["prediction"] == "high"
    assert client.get("/metrics").status_code == 200
