"""Keyed models whose keys learn from each other."""

import numpy as np
import pytest

import driftline as dl
from driftline.serve.problems import Problem
from tests.test_serve.tools import Direct, copy_of

KEYS = ("north", "south", "west")


def rows_of(count, seed=0):
    """Rows of three keys, whose labels have a common part and a level of their own."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        key = str(rng.choice(KEYS))
        x = dict(zip("ab", rng.normal(size=2).round(3).tolist(), strict=True))
        found.append((f"r{number}", key, x, x["a"] - x["b"] + len(key) + float(rng.normal(0, 0.1))))
    return found


@pytest.mark.parametrize("learner", ["rls", "auto"])
def test_answers_and_fleet_match_the_library_bit_for_bit(tmp_path, learner):
    fleet, tickets = dl.Fleet(dl.RLS() if learner == "rls" else dl.Auto(), named=True, pooled=True), {}
    with Direct(tmp_path / "a") as service:
        service.put("m", learner=learner, keyed=True, pooled=True, quantiles=[0.1, 0.9])
        for number, (one, key, x, y) in enumerate(rows_of(90)):
            if number % 3:
                (said,) = service.predict("m", id=one, key=key, x=x)
                tickets[one] = fleet.ask(key, x), y
                assert said.prediction == tickets[one][0].prediction
                lower, upper = tickets[one][0].interval(0.9)
                assert (said.lower, said.upper) == ((lower, upper) if np.isfinite(upper - lower) else (None, None))
                levels = tickets[one][0].quantiles([0.1, 0.9]).tolist()
                assert said.quantiles == tuple(level if np.isfinite(level) else None for level in levels)
            else:
                service.learn("m", id=one, key=key, x=x, y=y)
                fleet.tell(fleet.ask(key, x, 0), y)
            if number % 5 == 4:
                for waiting in reversed(tickets):
                    service.learn("m", id=waiting, y=tickets[waiting][1])
                    fleet.tell(*tickets[waiting])
                tickets.clear()
        service.predict("m", id="waits", key="new", x={"a": 1.0, "b": 0.0})
        assert service.export("m") == fleet.to_bytes()
        assert service.export("m", "south") == fleet["south"].to_bytes()
        status = service.status("m")
        killed = copy_of(tmp_path / "a", tmp_path / "b")
    assert (status["rows"], status["keys"], status["waiting"]) == (90, 3, 1)
    for folder in (killed, tmp_path / "a"):  # from the log, and from its snapshot
        with Direct(folder) as again:
            assert again.export("m") == fleet.to_bytes()
            assert again.status("m") == status
            with pytest.raises(Problem, match="another key"):
                again.predict("m", id="waits", key="west", x={"a": 1.0, "b": 0.0})
            again.learn("m", id="waits", y=3.0)
            assert again.status("m")["keys"] == 4


def test_a_new_key_has_a_finite_interval_from_its_first_row(tmp_path):
    with Direct(tmp_path) as service:
        service.put("m", learner="rls", keyed=True, pooled=True)
        service.learn("m", *[{"id": one, "key": key, "x": x, "y": y} for one, key, x, y in rows_of(300)])
        (said,) = service.predict("m", key="east", x={"a": 0.0, "b": 0.0})
        assert -np.inf < said.lower < said.prediction < said.upper < np.inf
        assert service.status("m")["keys"] == 3


def test_a_refused_row_undoes_its_batch(tmp_path):
    with Direct(tmp_path, keys=3) as service:
        service.put("m", learner="rls", keyed=True, pooled=True)
        service.learn("m", *[{"id": one, "key": key, "x": x, "y": y} for one, key, x, y in rows_of(30)])
        before = service.export("m"), service.status("m")
        batch = [{"key": key, "x": x, "y": y} for _, key, x, y in rows_of(5, 1)]
        with pytest.raises(Problem, match="already has 3 keys") as refused:
            service.learn("m", *batch, {"key": "east", "x": {"a": 1.0, "b": 1.0}, "y": 1.0})
        assert refused.value.field == "key"
        assert (service.export("m"), service.status("m")) == before
        with pytest.raises(Problem, match="has no key"):
            service.export("m", "east")


def test_options_that_do_not_fit_are_refused(tmp_path):
    with Direct(tmp_path) as service:
        for config in ({"pooled": True}, {"pooled": True, "keyed": True, "steps": 3}):
            with pytest.raises(Problem, match="keyed model without steps"):
                service.put("m", **config)
        with pytest.raises(Problem, match="pooled needs regressors"):
            service.put("m", learner="classifier", keyed=True, pooled=True)
        assert service.put("m", keyed=True, pooled=False)[0]
        assert "pooled" not in service.status("m")


def test_over_http(client):
    fleet = dl.Fleet(dl.RLS(), named=True, pooled=True)
    for _, key, x, y in rows_of(40):
        fleet.tell(fleet.ask(key, x, 0), y)
    kind = {"content-type": "application/octet-stream"}
    sent = client.put("/v1/models/p", content=fleet.to_bytes(), headers=kind)
    assert sent.status_code == 201
    assert (sent.json()["pooled"], sent.json()["keyed"], sent.json()["keys"]) == (True, True, 3)
    answer = client.post("/v1/models/p/predict", json={"key": "west", "x": {"a": 1.0, "b": 0.0}}).json()
    assert answer["prediction"] == fleet.predict_one("west", {"a": 1.0, "b": 0.0})
    assert client.get("/v1/models/p/export").content == fleet.to_bytes()
    assert client.get("/v1/models/p", params={"key": "west"}).status_code == 422
    assert client.post("/v1/models/p/reset", json={}).json()["keys"] == 0
    numbered = dl.Fleet(dl.RLS(), 3, pooled=True)
    numbered.tell(numbered.ask(1, [1.0], 0), 1.0)
    refused = client.put("/v1/models/q", content=numbered.to_bytes(), headers=kind)
    assert refused.status_code == 422
    assert "named=True" in refused.json()["detail"]
