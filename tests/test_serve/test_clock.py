"""Rows with times: models that forget by the clock."""

import datetime as dt

import numpy as np
import pytest

import driftline as dl
from driftline.client import calls
from driftline.serve.problems import Problem
from tests.test_serve.tools import Direct, copy_of

RNG = np.random.default_rng(3)
WHEN = [dt.datetime(2026, 3, 1) + dt.timedelta(hours=float(at)) for at in np.cumsum(RNG.exponential(5.0, 60))]
X = RNG.normal(size=(60, 2)).round(3)
Y = (X @ [1.0, -2.0]).round(3)
ROWS = list(zip((dict(zip("ab", row, strict=True)) for row in X.tolist()), Y.tolist(), WHEN, strict=True))


def test_answers_and_model_file_match_the_library(tmp_path):
    """With ids, labels at once and late, after a kill and from a snapshot."""
    model, tickets = dl.RLS(half_life="6h"), {}
    with Direct(tmp_path / "a") as service:
        service.put("m", learner="rls", params={"half_life": "6h"})
        for number, (x, y, when) in enumerate(ROWS):
            at = when.isoformat()
            if number % 3:
                (said,) = service.predict("m", id=f"r{number}", x=x, at=at)
                tickets[f"r{number}"] = model.ask(x, at=when), y
                assert said.prediction == tickets[f"r{number}"][0].prediction
            else:
                service.learn("m", x=x, y=y, at=at)
                model.tell(model.ask(x, 0, at=when), y)
            if number % 7 == 6:
                for waiting in reversed(tickets):
                    service.learn("m", id=waiting, y=tickets[waiting][1])
                    model.tell(*tickets[waiting])
                tickets.clear()
        last = WHEN[-1] + dt.timedelta(hours=1)
        service.predict("m", id="waits", x={"a": 1.0, "b": 0.0}, at=last.isoformat())
        waits = model.ask({"a": 1.0, "b": 0.0}, at=last)
        assert dl.from_bytes(service.export("m")).coef_.tolist() == model.coef_.tolist()
        killed = copy_of(tmp_path / "a", tmp_path / "b")
    model.tell(waits, 3.0)
    for folder in (killed, tmp_path / "a"):
        with Direct(folder) as again:
            again.learn("m", id="waits", y=3.0)
            found = dl.from_bytes(again.export("m"))
            assert found.coef_.tolist() == model.coef_.tolist()
            assert found.clock_.last == model.clock_.last


def test_each_key_has_a_clock(tmp_path):
    models = {key: dl.RLS(half_life=6.0) for key in "ab"}
    with Direct(tmp_path) as service:
        service.put("m", learner="rls", params={"half_life": 6}, keyed=True)
        for number, (x, y, _) in enumerate(ROWS):
            key = "ab"[number % 3 > 0]
            service.learn("m", key=key, x=x, y=y, at=float(number))
            models[key].learn_one(x, y, at=float(number))
        for key, model in models.items():
            np.testing.assert_allclose(dl.from_bytes(service.export("m", key)).coef_, model.coef_, rtol=1e-12)


def test_a_row_whose_time_is_missing_or_goes_back_is_refused_and_learned_by_no_one(tmp_path):
    with Direct(tmp_path) as service:
        service.put("m", learner="rls", params={"half_life": "6h"})
        service.learn("m", x={"a": 1.0}, y=1.0, at="2026-03-02")
        for wrong, words in (
            ({}, "has no time"),
            ({"at": "2026-03-01"}, "goes back"),
            ({"at": "soon"}, "must be a number or"),
        ):
            with pytest.raises(Problem, match=words):
                service.learn("m", x={"a": 1.0}, y=1.0, **wrong)
        assert service.status("m")["rows"] == 1


@pytest.mark.parametrize(
    ("at", "sent"),
    [
        (WHEN[0].replace(microsecond=0), WHEN[0].replace(microsecond=0).isoformat()),
        (dt.datetime(2026, 3, 1, tzinfo=dt.UTC), "2026-03-01T00:00:00+00:00"),
        (np.datetime64("2026-03-01T12"), "2026-03-01T12:00:00.000000"),
        (np.int64(3), 3.0),
        ("2026-03-01", "2026-03-01"),
    ],
)
def test_the_client_sends_times_with_their_zone(at, sent):
    assert calls._plain({"x": [1.0], "at": at})["at"] == sent
