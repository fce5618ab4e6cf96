"""A call that takes long lets others go ahead, and is refused if it takes too long."""

import asyncio
import json
import threading

import numpy as np
import pytest

import driftline as dl

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from driftline.serve import engine as engine_module
from driftline.serve.problems import Problem
from driftline.serve.store import LostError
from tests.test_serve.tools import Direct


@pytest.fixture
def interrupted(monkeypatch):
    """Lets other calls go ahead after each row."""
    monkeypatch.setattr(engine_module, "_SLICE", 0.0)


def call(service, kind, name, *rows, **more):
    """A call, not awaited."""
    sent = service.requests.read_rows(kind, json.dumps({"rows": rows, **more}).encode())
    return service.engine.call(getattr(service.engine, kind), name, sent.rows, sent.body, sent.refused is not None)


def together(service, *calls):
    """Executes calls that all wait when the first begins; returns their outcomes and the order in which they ended."""
    order, waiting = [], threading.Event()

    async def one(number, work):
        try:
            return await work
        except Problem as problem:
            return problem
        finally:
            order.append(number)

    async def all_of_them():
        held = asyncio.ensure_future(service.engine.call(waiting.wait))
        await asyncio.sleep(0)
        asked = [asyncio.ensure_future(one(number, work)) for number, work in enumerate(calls)]
        await asyncio.sleep(0)
        waiting.set()
        await held
        return await asyncio.gather(*asked)

    return asyncio.run(all_of_them()), order


def rows(count, ids=None):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(count, 2)).round(3).tolist()
    return [
        {**({"id": f"{ids}{t}"} if ids else {}), "x": {"a": x[t][0], "b": x[t][1]}, "y": x[t][0] - 2.0} for t in range(count)
    ]


QUESTION = {"x": {"a": 1.0, "b": 1.0}}


def test_a_long_call_whose_commit_fails_is_answered(tmp_path, interrupted, monkeypatch):
    """It began in an earlier turn than the one in which the store is lost."""
    with Direct(tmp_path / "service") as service:
        service.put("a", learner="rls")

        def lose(group):
            monkeypatch.setattr(service.engine.store, "commit", commit)
            raise LostError("gone")

        commit = service.engine.store.commit
        monkeypatch.setattr(service.engine.store, "commit", lose)
        with pytest.raises(Problem, match="may or may not have been written") as refused:
            service.learn("a", *rows(30, "r"))
        assert refused.value.status == 504
        answer, statuses = None, set()
        while answer is None:  # until it leads again
            try:
                answer = service.learn("a", *rows(30, "r"))
            except Problem as problem:
                statuses.add(problem.status)
        assert statuses == {503}
        assert answer == {"learned": 30, "known": 0}


@pytest.mark.parametrize("learner", ["rls", "auto"])
def test_other_calls_go_ahead_of_a_forecast(tmp_path, interrupted, learner):
    """It is that of the library, from before a change that waits for it."""
    given, steps = rows(30), 12
    forecaster = dl.Forecaster(dl.Auto() if learner == "auto" else dl.RLS(), steps)
    for row in given:
        forecaster.learn_one(row["x"], row["y"])
    expected = forecaster.forecast([QUESTION["x"]] * steps, level=0.9)
    with Direct(tmp_path / "service") as service:
        service.put("a", learner=learner, steps=steps)
        service.put("b", learner="rls")
        service.learn("a", *given)
        sent = service.requests.read_rows("forecast", json.dumps({"rows": [QUESTION] * steps}).encode())
        (found, _, _), order = together(
            service,
            service.engine.call(service.engine.forecast, "a", sent.rows),
            call(service, "predict", "b", QUESTION),
            call(service, "learn", "a", *rows(1)),
        )
    assert order == [1, 0, 2]
    assert [answer.prediction for answer in found] == expected.predictions.tolist()


@pytest.mark.parametrize("learner", ["rls", "auto"])
@pytest.mark.parametrize("ids", [None, "r"])
def test_calls_of_other_models_go_ahead_of_a_long_one(tmp_path, interrupted, learner, ids):
    """The question about the busy model is answered from before the call; a change of it waits."""
    with Direct(tmp_path / "service") as service:
        for name in "abc":
            service.put(name, learner=learner)
            service.learn(name, *rows(10))
        before = service.predict("a", QUESTION)
        (long, other, changed, same, late), order = together(
            service,
            call(service, "learn", "a", *rows(3_000, ids)),
            call(service, "predict", "b", QUESTION),
            call(service, "learn", "c", *rows(1, "c")),
            call(service, "predict", "a", QUESTION),
            call(service, "learn", "a", *rows(2, "late")),
        )
        assert sorted(order[:3]) == [1, 2, 3]
        assert order[3:] == [0, 4]
        assert (long["learned"], changed["learned"], late["learned"]) == (3_000, 1, 2)
        assert same == before == other
        exported = {name: service.export(name) for name in "abc"}
        service.engine._save = lambda seconds: None  # stops as if killed
    with Direct(tmp_path / "service") as again:
        assert {name: again.export(name) for name in "abc"} == exported
        assert again.status("a")["rows"] == 3_012


def test_the_rows_of_a_long_call_are_those_of_short_ones(tmp_path, interrupted):
    with Direct(tmp_path / "one") as one, Direct(tmp_path / "two") as two:
        for service in (one, two):
            service.put("m", learner="rls")
        one.learn("m", *rows(600))
        for row in rows(600):
            two.learn("m", row)
        assert one.export("m") == two.export("m")


def test_a_batch_with_ids_learns_what_its_rows_learn_one_by_one(tmp_path):
    """It is learned as a table; answers and ids are remembered, live and after a restart."""
    with Direct(tmp_path / "one") as one, Direct(tmp_path / "two") as two:
        for service in (one, two):
            service.put("m", learner="rls")
        for start in (0, 300):
            assert one.learn("m", *rows(600, "r")[start : start + 300]) == {"learned": 300, "known": 0}
        for row in rows(600, "r"):
            two.learn("m", row)
        assert one.export("m") == two.export("m")
        figures = [service.status("m") for service in (one, two)]
        assert [each["rows"] for each in figures] == [600, 600]
        assert figures[0]["mse"] == pytest.approx(figures[1]["mse"], rel=1e-12)
        asked = [{"id": row["id"], "x": row["x"]} for row in rows(600, "r")]
        assert one.predict("m", *asked) == two.predict("m", *asked)
        one.engine._save = lambda seconds: None  # stops as if killed
        exported = one.export("m")
    with Direct(tmp_path / "one") as again:
        assert again.export("m") == exported
        assert again.learn("m", *rows(600, "r")) == {"learned": 0, "known": 600}
        more = [*rows(20, "s")[10:], *rows(10, "r")]
        assert again.learn("m", *more) == {"learned": 10, "known": 10}
        with pytest.raises(Problem, match="already learned with another label"):
            again.learn("m", *[{**row, "y": 7.0} for row in rows(10, "r")])
        with pytest.raises(Problem, match="appears twice"):
            again.learn("m", *[{**row, "id": "twice"} for row in rows(10)])


@pytest.mark.parametrize(("ids", "more"), [(None, {}), ("r", {}), ("r", {"on_error": "report"})])
def test_a_call_of_too_much_work_is_refused_and_learns_nothing(tmp_path, interrupted, ids, more):
    with Direct(tmp_path / "service", work=1e-9) as service:
        service.put("m", learner="rls")
        service.learn("m", x={"a": 1.0, "b": 2.0}, y=1.0)
        before, status = service.export("m"), service.status("m")
        (problem,), _ = together(service, call(service, "learn", "m", *rows(600, ids), **more))
        assert problem.status == 413
        assert "processor time" in problem.detail
        assert (service.export("m"), service.status("m")["rows"]) == (before, status["rows"])
        assert service.learn("m", id="r1", x={"a": 1.0, "b": 2.0}, y=1.0)["learned"] == 1


def test_a_model_that_is_deleted_reset_or_copied_meanwhile_waits(tmp_path, interrupted):
    with Direct(tmp_path / "service") as service:
        service.put("a", learner="rls")
        engine = service.engine
        (long, copied, reset), order = together(
            service,
            call(service, "learn", "a", *rows(300)),
            engine.call(engine.copy, "a", "b", False),
            engine.call(engine.reset, "a"),
        )
        assert order == [0, 1, 2]
        assert (long["learned"], copied["rows"], reset["rows"]) == (300, 300, 0)


def test_a_long_call_ends_before_the_service_stops(tmp_path, interrupted):
    service = Direct(tmp_path / "service")
    service.put("m", learner="rls")

    async def stop_meanwhile():
        learning = asyncio.ensure_future(call(service, "learn", "m", *rows(500)))
        await asyncio.sleep(0)
        service.engine._queue.end()
        return await learning

    assert asyncio.run(stop_meanwhile())["learned"] == 500
    service.close()
    with Direct(tmp_path / "service") as again:
        assert again.status("m")["rows"] == 500
