"""The effects of calls on the models, without HTTP."""

import numpy as np
import pytest

import driftline as dl
from driftline.base import registry
from driftline.serve import unit
from driftline.serve.engine import Engine
from driftline.serve.problems import Problem
from tests.test_serve.tools import Direct, copy_of, drive, library_account, same_bits


def test_answers_match_the_library_and_do_not_change(tmp_path):
    rng = np.random.default_rng(1)
    with Direct(tmp_path / "a") as service:
        service.put("m", learner="rls", level=0.5, quantiles=[0.2, 0.5, 0.7])
        drive(service, "m", rng, 30)
        said = {f"q{n}": service.predict("m", id=f"q{n}", x={"a": n, "b": 1, "c": 2})[0] for n in range(5)}
        service.learn("m", id="q0", y=4.0)
        told = service.predict("m", id="q0", x={"c": 2.0, "b": 1.0, "a": 0.0})
        killed = copy_of(tmp_path / "a", tmp_path / "b")
    answers = library_account(killed)["m", ""][1]
    assert said == {one: answers[one] for one in said}
    assert told == [said["q0"]]
    with Direct(killed) as again:
        assert [again.predict("m", id=f"q{n}", x={"a": n, "b": 1, "c": 2})[0] for n in range(5)] == list(said.values())


PARTS = {"learners": [{"learner": "rls"}, {"learner": "nlms"}]}  # a ticket of a network has tickets of its learners


@pytest.mark.parametrize(
    "spec", [{"learner": "rls"}, {"learner": "network", "params": PARTS}], ids=lambda spec: spec["learner"]
)
def test_a_refused_batch_learns_nothing_and_names_the_row(tmp_path, spec):
    with Direct(tmp_path) as service:
        service.put("m", **spec)
        service.predict("m", id="w", x={"a": 1.0})
        service.learn("m", x={"a": 2.0}, y=1.0)
        before, last = service.export("m"), service.engine.log.last
        rows = [{"id": "w", "y": 1.0}, {"x": {"a": 3.0}, "y": 2.0}]
        for bad, status in (
            ({"x": [1.0, 2.0], "y": 0.0}, 422),
            ({"id": "nobody", "y": 1.0}, 404),
            ({"id": "w", "y": 2.0}, 409),
            ({"key": "k", "x": {"a": 1.0}, "y": 2.0}, 422),
        ):
            with pytest.raises(Problem) as refused:
                service.learn("m", *rows, bad)
            assert (refused.value.status, refused.value.row) == (status, 2)
        assert service.export("m") == before
        assert service.engine.log.last == last
        assert service.learn("m", *rows) == {"learned": 2, "known": 0}


def test_a_learner_that_refuses_a_row_leaves_the_batch_unlearned(tmp_path):
    with Direct(tmp_path) as service:
        service.put("m", learner="lms", params={"rate": 1e200})
        before = service.status("m")
        with pytest.raises(Problem) as refused:
            service.learn("m", *[{"x": [1e150], "y": 1e150}] * 3)
        assert refused.value.status == 422
        assert service.status("m") == before


def test_a_repeated_call_gets_the_same_answer_and_a_conflicting_one_is_refused(tmp_path):
    with Direct(tmp_path) as service:
        service.put("m")
        assert service.learn("m", id="a", x={"u": 1}, y=2) == {"learned": 1, "known": 0}
        assert service.learn("m", id="a", x={"u": 1.0}, y=2.0) == {"learned": 0, "known": 1}
        assert service.learn("m", id="a", y=2.0) == {"learned": 0, "known": 1}
        batch = [{"id": "b", "x": {"u": 1}, "y": 0}, {"id": "a", "y": 2}, {"id": "b", "x": {"u": 1}, "y": 0}]
        assert service.learn("m", *batch) == {"learned": 1, "known": 2}
        for other in ({"y": 3.0}, {"x": {"u": 2}, "y": 2.0}):
            with pytest.raises(Problem, match="'a'") as refused:
                service.learn("m", id="a", **other)
            assert refused.value.status == 409
        assert service.status("m")["rows"] == 2


def test_rows_pending_too_long_are_dropped_and_counted_even_after_a_restart(tmp_path, monkeypatch):
    monkeypatch.setattr(Engine, "_keep_short", lambda self: self._save(0.0))
    with Direct(tmp_path / "a", waiting=4, rows=4) as service:
        service.put("k", learner="rls", keyed=True)
        for number in range(9):
            service.predict("k", id=str(number), key="uvw"[number % 3], x=[1.0])
        before = service.status("k"), list(service.engine.log.models["k"].ids)
        killed = copy_of(tmp_path / "a", tmp_path / "b")
    assert before[0]["dropped"] == 5
    assert before[1] == ["5", "6", "7", "8"]
    with Direct(killed, waiting=4, rows=4) as again:
        assert (again.status("k"), list(again.engine.log.models["k"].ids)) == before
        with pytest.raises(Problem) as refused:
            again.learn("k", id="0", y=1.0)
        assert refused.value.status == 404


def test_ids_are_remembered_for_as_many_labels_as_promised(tmp_path):
    with Direct(tmp_path, remembered=2000) as service:
        service.put("m", learner="lms")
        for start in range(0, 4000, 500):
            service.learn("m", *[{"id": str(n), "x": [0.1], "y": 0.0} for n in range(start, start + 500)])
        oldest = 4000 - 2000
        known = service.learn("m", *[{"id": str(n), "y": 0.0} for n in range(oldest, 4000)])
        assert known == {"learned": 0, "known": 2000}
        with pytest.raises(Problem, match="is waiting for its label"):
            service.learn("m", id="0", y=0.0)


def test_a_deleted_model_is_gone_and_its_name_is_free(tmp_path):
    with Direct(tmp_path / "a") as service:
        service.put("m", learner="rls")
        service.learn("m", id="a", x=[1.0], y=1.0)
        with pytest.raises(Problem, match="different configuration"):
            service.put("m", learner="lms")
        service.delete("m")
        service.put("m", learner="lms")
        assert service.learn("m", id="a", x=[1.0], y=2.0) == {"learned": 1, "known": 0}
        killed = copy_of(tmp_path / "a", tmp_path / "b")
    with Direct(killed) as again:
        assert again.status("m")["rows"] == 1
        assert again.status("m")["learner"] == "lms"


def test_a_model_with_steps_learns_by_id_and_recovers(tmp_path):
    rng = np.random.default_rng(5)
    with Direct(tmp_path / "a") as service:
        service.put("f", learner="rls", steps=2)
        expected = dl.Forecaster(dl.RLS(), steps=2)
        for number in range(12):
            x, y = {"a": float(rng.normal())}, float(rng.normal())
            said = service.predict("f", id=str(number), x=x)[0][0]
            assert said == (float(expected.forecast([x]).predictions[0]) if number else 0.0)
            service.learn("f", id=str(number), y=y)
            expected.learn_one(x, y)
        assert service.export("f") == expected.to_bytes()
        service.predict("f", id="w", x={"a": 1.0})
        with pytest.raises(Problem):
            service.learn("f", {"id": "w", "y": 1.0}, {"x": {"b": 1.0}, "y": 1.0})
        assert service.export("f") == expected.to_bytes()
        killed = copy_of(tmp_path / "a", tmp_path / "b")
    with Direct(killed) as again:
        assert again.export("f") == expected.to_bytes()
        assert again.learn("f", id="w", y=1.0)["learned"] == 1


@pytest.mark.parametrize("learner", registry.regressors())
def test_a_batch_learned_as_a_table_equals_its_rows_bit_for_bit(tmp_path, learner):
    """The widest table that is learned in one call, and one with its names in another order."""
    rng, config = np.random.default_rng(6), {"learner": learner}
    if learner in ("kernel", "averaged", "network"):
        within = {"learner": "rls"}
        config["params"] = {"learners": [within, {"learner": "lms"}]} if learner == "network" else {"learner": within}
    for width in (3, unit._ROW_BY_ROW):
        names = [f"f{number}" for number in range(width)]
        X = rng.uniform(-0.3, 0.3, size=(60, width))
        y = X[:, 0] + 0.1 * rng.normal(size=60)
        rows = [{"x": dict(zip(names, x.tolist(), strict=True)), "y": label} for x, label in zip(X, y.tolist(), strict=True)]
        with Direct(tmp_path / f"{width}", entries=10**6) as service:
            try:
                service.put("m", **config)
            except Problem as problem:
                pytest.skip(problem.detail)
            service.learn("m", *rows[:3])
            service.learn("m", *rows[3:40])
            mixed = [{"x": dict(reversed(row["x"].items())), "y": row["y"]} for row in rows[40:]]
            service.learn("m", *mixed)
            status = service.status("m")
            account = library_account(tmp_path / f"{width}")["m", ""][0]
            assert same_bits(service.export("m"), account)
            killed = copy_of(tmp_path / f"{width}", tmp_path / f"killed{width}")
        with Direct(killed) as again:
            assert again.status("m") == status
        if width > 3:
            continue
        with Direct(tmp_path / "single", entries=10**6) as service:
            service.put("m", **config)
            for row in rows:
                service.learn("m", **row)
            one_by_one = service.status("m")
        for name in ("rows", "coverage", "alarms", "last_alarm"):
            assert one_by_one[name] == status[name]
        for name in ("mse", "mae"):
            assert one_by_one[name] == pytest.approx(status[name], rel=1e-12)
        assert one_by_one["baselines"] == pytest.approx(status["baselines"], rel=1e-12)


def test_a_table_with_an_invalid_row_is_refused_whole_and_the_row_is_named(tmp_path):
    with Direct(tmp_path) as service:
        service.put("m", learner="lms", params={"rate": 0.1})
        service.learn("m", x=[1.0], y=0.0)
        before = service.export("m")
        rows = [{"x": [1.0], "y": 1.0}] * 12
        rows[7] = {"x": [1e160], "y": 1e160}
        with pytest.raises(Problem) as refused:
            service.learn("m", *rows)
        assert (refused.value.status, refused.value.row) == (422, 7)
        assert service.export("m") == before


def test_only_the_latest_rows_are_kept(tmp_path):
    with Direct(tmp_path, entries=10**6) as service:
        service.put("m", learner="lms", params={"rate": 0.01})
        for start in range(0, 2000, 250):
            service.learn("m", *[{"x": [1.0], "y": float(n)} for n in range(start, start + 250)])
        for number in range(2000, 2030):
            service.learn("m", x=[1.0], y=float(number))
        model = service.engine.log.models["m"]
        seen, status, _ = model.news(0, None)
        assert seen == 2030
        assert [row[4] for row in status["latest"]] == [float(n) for n in range(1730, 2030)]
        assert [row[0] for row in status["latest"]] == list(range(1731, 2031))
        assert model.news(2028, None)[1]["latest"][0][4] == 2028.0
        assert model.latest._rows < 300 + 250


def test_the_status_counts_keys_whose_first_row_still_waits(tmp_path):
    with Direct(tmp_path) as service:
        service.put("k", learner="rls", keyed=True)
        service.predict("k", id="w", key="b", x={"a": 1.0})
        assert (service.status("k")["rows"], service.status("k")["mse"]) == (0, None)
        service.learn("k", id="t", key="a", x={"a": 1.0}, y=2.0)
        service.predict("k", id="u", key="c", x={"a": 1.0})
        assert (service.status("k")["rows"], service.status("k")["mse"], service.status("k")["waiting"]) == (1, 4.0, 2)


def test_the_range_and_the_scale_of_the_label(tmp_path):
    """A label outside is refused with its row, and half an interval is none."""
    inner = {"learner": {"learner": "rls"}, "transformation": "log", "high": 40}
    for name, learner, params in (
        ("m", "rls", {"low": 0.5, "high": 40}),
        ("t", "transformed", inner),
        ("f", "rls", {"low": 3}),
    ):
        with Direct(tmp_path / name) as service:
            service.put(name, learner=learner, params=params, steps=2 if name == "f" else None)
            said, *ends, _ = service.predict(name, id="a", x={"a": 1.0})[0]
            assert said == (3 if name == "f" else 1 if name == "t" else 0.5)
            assert tuple(ends) == ((None, None) if name == "f" else (0, 40) if name == "t" else (0.5, 40))
            if name == "f":
                continue
            before = service.export(name)
            with pytest.raises(Problem, match="y is 0") as refused:
                service.learn(name, {"x": {"a": 1.0}, "y": 2.0}, {"id": "a", "y": 0.0})
            assert (refused.value.status, refused.value.row) == (422, 1)
            assert service.export(name) == before
            service.learn(name, id="a", y=2.0)


def test_a_reset_model_is_as_new_and_its_ids_are_free(tmp_path):
    with Direct(tmp_path / "a") as service:
        service.put("m", learner="rls", params={"forgetting": 0.9}, quantiles=[0.5])
        new = service.status("m")
        service.learn("m", x=[1.0], y=1e160)
        service.predict("m", id="waits", x=[1.0])
        service.learn("m", id="told", x=[1.0], y=1.0)
        since = service.engine.log.models["m"].since
        assert service.reset("m") == service.status("m") == {**new, "since": service.engine.log.models["m"].since}
        assert service.engine.log.models["m"].since > since
        killed = copy_of(tmp_path / "a", tmp_path / "b")
    with Direct(killed) as again:
        with pytest.raises(Problem) as refused:
            again.learn("m", id="waits", y=1.0)
        assert refused.value.status == 404
        assert again.learn("m", id="told", x=[1.0], y=2.0) == {"learned": 1, "known": 0}
        expected = dl.RLS(forgetting=0.9)
        expected.learn_one([1.0], 2.0)
        assert again.export("m") == expected.to_bytes()


@pytest.mark.parametrize("keys", [("",), ("u", "v")])
def test_a_copy_goes_on_like_its_model_and_replaces_another(tmp_path, keys):
    """Also after a kill: the copy has no log of its own before it was made."""
    keyed = {"keyed": keys != ("",)}
    with Direct(tmp_path / "a") as service:
        service.put("m", learner="rls", **keyed)
        service.put("old", learner="lms")
        service.learn("old", id="x", x=[1.0], y=1.0)
        waiting = drive(service, "m", np.random.default_rng(4), 40, keys)
        twin = service.copy("m", "twin")
        assert {**twin, "name": "m", "since": None} == {**service.status("m"), "since": None}
        with pytest.raises(Problem, match="already exists") as refused:
            service.copy("m", "old")
        assert refused.value.status == 409
        with pytest.raises(Problem, match="to itself"):
            service.copy("m", "m", replace=True)
        service.copy("m", "old", replace=True)
        service.learn("m", id=waiting[0], y=3.0)
        killed = copy_of(tmp_path / "a", tmp_path / "b")
        for name in ("twin", "old"):
            service.learn(name, id=waiting[0], y=3.0)
        after = [service.export("m", key) for key in keys]
        for name in ("twin", "old"):
            assert [service.export(name, key) for key in keys] == after
    with Direct(killed) as again:
        for name in ("twin", "old"):
            assert again.learn(name, id=waiting[0], y=3.0) == {"learned": 1, "known": 0}
        for name in ("m", "twin", "old"):
            assert [again.export(name, key) for key in keys] == after
            status = again.status(name)
            assert {**status, "name": "m", "since": None} == {**again.status("m"), "since": None}


def test_a_copy_that_is_removed_at_once_leaves_nothing(tmp_path):
    """All in one group of the log."""
    with Direct(tmp_path / "a") as service:
        service.put("m", learner="rls")
        service.learn("m", id="a", x=[1.0], y=1.0)

        def both():
            service.engine.copy("m", "n", False)
            service.engine.delete("n")

        service._do(both)
        killed = copy_of(tmp_path / "a", tmp_path / "b")
    with Direct(killed) as again:
        assert list(again.engine.log.models) == ["m"]
        assert again.engine.store._read("SELECT count(*) FROM snapshots, recent WHERE snapshots.model = 2") == [(0,)]


def test_the_log_is_cut_by_its_bytes_too(tmp_path):
    with Direct(tmp_path / "service", log=10_000) as service:
        service.put("m", learner="rls")
        for row in range(60):
            service.learn("m", *[{"id": f"r{row}-{part}", "x": {"a": part / 7}, "y": 1.0} for part in range(20)])
        assert service.engine.log.cut > 0
        assert service.engine.log_length < 20
        service.engine._save = lambda seconds: None  # stops as if killed
    with Direct(tmp_path / "service", log=10_000) as again:
        assert again.status("m")["rows"] == 1_200
