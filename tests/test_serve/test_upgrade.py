"""Upgrades and their way back, with a version whose format of model files has the next number."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import driftline as dl
from driftline.serve.engine import Engine
from driftline.serve.problems import Problem
from driftline.serve.sqlite import backup
from driftline.storage import model_file
from tests.test_serve.process import RUN, Process
from tests.test_serve.tools import Direct, copy_of, drive

NEXT = "import driftline.storage.model_file as file; file.VERSION += 1\n"
NEWER = f"written in a newer format, version '{model_file.VERSION + 1}'; this driftline reads version {model_file.VERSION}"


def statuses(service):
    found = service.client().call("GET", "/v1/models")[1]
    return {model["name"]: model for model in found["models"]}, found.get("unreadable", {})


def migrated(folder, before=""):
    ended = subprocess.run([sys.executable, "-c", before + RUN, "migrate", str(folder)], capture_output=True, text=True)
    return ended.returncode, ended.stdout.strip(), ended.stderr.strip()


def test_an_upgrade_of_fifty_models_and_the_ways_back(tmp_path):
    """After three of them learned in the new version, the old one runs the rest, and loses nothing of the three."""
    folder = tmp_path / "s"
    with Process(folder) as old:
        client = old.client()
        for number in range(50):
            client.call("PUT", f"/v1/models/m{number}", {"learner": ("rls", "lms")[number % 2]})
            client.call("POST", f"/v1/models/m{number}/learn", {"rows": [{"x": [0.1], "y": float(number)}] * 3})
        client.call("POST", "/v1/models/m7/predict", {"id": "w", "x": [0.1]})
        before = statuses(old)
        old.stop()
    backup(folder, tmp_path / "backup")
    with Process(folder, before=NEXT) as new:
        assert statuses(new) == before
        for number in (7, 8, 9):
            assert new.client().call("POST", f"/v1/models/m{number}/learn", {"x": [0.1], "y": 1.0})[0] == 200
        assert new.client().call("POST", "/v1/models/m7/learn", {"id": "w", "y": 2.0})[1]["learned"] == 1
        upgraded, _ = statuses(new)
        new.stop()
    with Process(folder) as old:
        client, (readable, unreadable) = old.client(), statuses(old)
        assert unreadable == {f"m{number}": NEWER for number in (7, 8, 9)}
        assert readable == {name: status for name, status in upgraded.items() if name not in unreadable}
        assert client.call("POST", "/v1/models/m7/learn", {"x": [0.1], "y": 1.0})[0] == 503
        assert client.call("PUT", "/v1/models/m7", {})[0] == 409
        assert client.call("POST", "/v1/models/m1/copy", {"to": "m8", "replace": True})[0] == 409
        assert client.call("PUT", "/v1/aliases/m9", {"model": "m1"})[0] == 409
        assert client.call("POST", "/v1/models/m1/learn", {"x": [0.1], "y": 1.0})[0] == 200
        assert b"driftline_unreadable_models 3" in client.call("GET", "/metrics")[1]
        assert client.call("DELETE", "/v1/models/m9")[0] == 204
        old.kill()
        assert f"the model m7 cannot be read, and is kept as it is: {NEWER}" in "".join(old.lines)
    with Process(folder, before=NEXT) as new:
        again, _ = statuses(new)
        assert again["m1"]["rows"] == 4
        assert {**again, "m1": None} == {**{n: s for n, s in upgraded.items() if n != "m9"}, "m1": None}
        new.stop()
    assert migrated(folder, NEXT) == (0, "46 rewritten", "")  # the new version has saved m1, m7 and m8
    assert migrated(folder, NEXT) == (0, "0 rewritten", "")
    code, _, words = migrated(folder)
    assert code == 1
    assert f"driftline migrate: the model m0: {NEWER}" in words
    with Process(tmp_path / "backup") as old:
        assert statuses(old) == before


def learned(service, name):
    """What a model learned; its file would differ in the version."""
    status = service.status(name)
    return status["rows"], status["weights"], status["mse"]


def test_the_log_of_a_model_that_cannot_be_read_is_kept(tmp_path, monkeypatch):
    """While the other models are saved and the log is cut up to the first entry that it needs."""
    monkeypatch.setattr(Engine, "_keep_short", lambda self: None)
    rng = np.random.default_rng(0)
    with monkeypatch.context() as newer, Direct(tmp_path / "a") as service:
        newer.setattr(model_file, "VERSION", model_file.VERSION + 1)
        for name in ("m", "n"):
            service.put(name, learner="rls")
        drive(service, "m", rng, 10)
        service._do(service.engine._save, 60.0)
        drive(service, "n", rng, 10)
        service.predict("m", id="late", x={"a": 1.0, "b": 2.0, "c": 3.0})
        expected = learned(service, "m"), learned(service, "n")
        killed = copy_of(tmp_path / "a", tmp_path / "b")
        first = service.engine.log.last
    with Direct(killed) as old:
        assert learned(old, "n") == expected[1]  # it has only the log
        with pytest.raises(Problem, match="a newer format") as refused:
            old.learn("m", x=[1.0], y=1.0)
        assert refused.value.status == 503
        old.learn("n", *[{"x": {"a": 1.0, "b": float(n), "c": 2.0}, "y": float(n % 3)} for n in range(20)])
        others = learned(old, "n")
    with Direct(killed) as old:  # after a graceful stop, which cuts the log
        assert learned(old, "n") == others
        assert old.engine.store.cut() < first
        assert old.engine.log_length > 0
    with monkeypatch.context() as newer:
        newer.setattr(model_file, "VERSION", model_file.VERSION + 1)
        with Direct(killed) as service:
            assert (learned(service, "m"), learned(service, "n")) == (expected[0], others)
            assert service.learn("m", id="late", y=1.0)["learned"] == 1


def test_a_damaged_snapshot_sets_its_model_aside(tmp_path):
    with Direct(tmp_path / "a") as service:
        for name in ("m", "n"):
            service.put(name, learner="rls", keyed=name == "n")
            service.learn(name, x=[1.0], y=1.0, **({"key": "k"} if name == "n" else {}))
    with Direct(tmp_path / "a") as service:
        store, place = service.engine.store, service.engine.log.models["n"].number
        with store._transaction() as cursor:
            cursor.execute("UPDATE snapshots SET data = substr(data, 1, 500) WHERE model = ?", (place,))
    with Direct(tmp_path / "a") as service:
        assert service.status("m")["rows"] == 1
        assert service.engine.log.unreadable["n"].startswith("key 'k': truncated, or not a driftline model")
        service.delete("n")
        service.put("n", learner="rls")
    with Direct(tmp_path / "a") as service:
        assert (service.engine.log.unreadable, service.status("n")["rows"]) == ({}, 0)


def test_model_files_in_a_folder_are_migrated(tmp_path):
    model = dl.RLS()
    model.learn_one([1.0], 2.0)
    (tmp_path / "below").mkdir()
    model.save(tmp_path / "below" / "model.drift")
    (tmp_path / "notes.txt").write_text("no model")
    (tmp_path / "empty").write_text("")
    assert migrated(tmp_path) == (0, "0 rewritten", "")
    assert migrated(tmp_path, NEXT) == (0, "1 rewritten", "")
    code, out, words = migrated(tmp_path)
    assert (code, out) == (1, "0 rewritten")
    assert words == f"driftline migrate: {tmp_path}/below/model.drift: {NEWER}"
    assert migrated(tmp_path / "nowhere")[0] == 2
