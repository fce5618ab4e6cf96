"""When a call is retried, tested without a service."""

import datetime
import json
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

import driftline as dl
from driftline.client import ServiceError, UnsureError, calls
from driftline.client.trial import Trial
from driftline.serve.raw import as_raw
from tests.cases import for_each

SAFE = calls.learn("m", [{"id": "a", "y": 1.0}], batch=False)
UNSAFE = calls.learn("m", [{"id": "a", "y": 1.0}, {"x": [1.0], "y": 1.0}], batch=True)
PURE = calls.predict("m", [{"x": [1.0]}], batch=False)
PROBLEM = b'{"detail": "no", "row": 3, "field": "x.a"}'


def trial(call, addresses=("a",), patience=10.0, clock=lambda: 0.0):
    return Trial(call, addresses, patience, clock)


@pytest.mark.parametrize("call", [SAFE, PURE, calls.get("m", None), calls.put("m", {}), calls.delete("m")])
@for_each("status", [502, 503, 504])
def test_a_call_that_is_safe_to_repeat_is_sent_again(call, status):
    tried = trial(call)
    assert not tried.settled(status, PROBLEM)
    tried.failed(OSError("reset"), sent=True)
    assert tried.settled(200, b"{}")


def test_labels_without_ids_are_sent_again_only_if_nothing_was_learned():
    tried = trial(UNSAFE)
    tried.failed(OSError("refused"), sent=False)
    assert not tried.settled(503, PROBLEM)
    for status in (502, 504):
        with pytest.raises(UnsureError, match="may or may not have been done") as unsure:
            tried.settled(status, PROBLEM)
        assert unsure.value.status == status
    with pytest.raises(UnsureError, match="reset"):
        tried.failed(OSError("reset"), sent=True)


@pytest.mark.parametrize("status", [301, 401, 404, 409, 413, 422, 500, 507])
def test_a_refusal_is_raised_at_once_with_its_row_and_field(status):
    with pytest.raises(ServiceError) as refused:
        trial(SAFE).settled(status, PROBLEM)
    error = refused.value
    assert (error.status, error.detail, error.row, error.field) == (status, "no", 3, "x.a")
    assert str(error) == f"{status}: no (row 3)"


@pytest.mark.parametrize("body", [b"<html>Bad Gateway</html>", b"", b"[1]", b"\xff", b'{"title": 1}'])
def test_an_answer_that_is_not_a_problem_document_still_gives_a_detail(body):
    with pytest.raises(ServiceError) as refused:
        trial(SAFE).settled(500, body)
    assert refused.value.detail


def test_retries_stop_when_patience_ends():
    now = [0.0]
    tried = trial(SAFE, patience=5.0, clock=lambda: now[0])
    now[0] = 4.9
    assert not tried.settled(503, PROBLEM)
    now[0] = 5.0
    with pytest.raises(ServiceError, match="503"):
        tried.settled(503, PROBLEM)


def test_a_404_after_a_lost_answer_means_that_the_model_was_deleted():
    tried = trial(calls.delete("m"))
    with pytest.raises(ServiceError, match="404"):
        tried.settled(404, PROBLEM)
    tried.failed(OSError("reset"), sent=True)
    assert tried.settled(404, PROBLEM)


def test_each_address_is_tried_before_a_pause_and_pauses_grow_to_a_second():
    tried, pauses = trial(SAFE, ("a", "b", "c")), []
    for number in range(60):
        assert tried.address == "abc"[number % 3]
        tried.settled(503, PROBLEM)
        pauses.append(tried.pause())
    assert [pause > 0 for pause in pauses] == [False, False, True] * 20
    assert 0.025 <= pauses[2] <= 0.05
    assert all(0.5 <= pause <= 1.0 for pause in pauses[32::3])


def test_rows_are_encoded_as_json():

    x = np.array([1, 2], dtype=np.float32)
    sent = calls.learn("a/b é", [{"id": None, "key": None, "x": x, "y": np.int64(3)}], batch=False)
    assert (sent.path, sent.body, sent.repeatable) == (
        "/v1/models/a%2Fb%20%C3%A9/learn",
        b'{"x": [1.0, 2.0], "y": 3.0}',
        False,
    )
    assert calls.predict("m", [{"x": {"a": np.float32(0.5)}, "id": "i"}], batch=True).body == (
        b'{"rows": [{"x": {"a": 0.5}, "id": "i"}]}'
    )
    assert calls.get("m", "k&y", "/export").path == "/v1/models/m/export?key=k%26y"
    when = datetime.datetime(2026, 3, 1, 12, 30)
    times = {
        "a": when,
        "b": when.date(),
        "c": when.time(),
        "d": np.datetime64("2026-03-01T12:30"),
        "e": float("nan"),
        "f": None,
    }
    assert json.loads(calls.predict("m", [{"x": times}], batch=False).body)["x"] == {
        "a": "2026-03-01T12:30:00", "b": "2026-03-01", "c": "12:30:00", "d": "2026-03-01T12:30:00.000000",
        "e": None, "f": None,
    }  # fmt: skip
    with pytest.raises(ValueError, match="JSON"):
        calls.predict("m", [{"x": [float("inf")]}], batch=False)


@pytest.mark.parametrize(
    "value",
    [
        datetime.datetime(2026, 7, 1, 12, 30, tzinfo=ZoneInfo("Europe/Berlin")),
        pd.Timestamp("2026-07-01 12:30", tz="Europe/Berlin"),
        datetime.datetime(2026, 7, 1, 12, 30, 5, 7, tzinfo=datetime.UTC),
        datetime.time(12, 30, tzinfo=datetime.UTC),
        pd.Timestamp("2026-07-01 12:30:00.123456789"),
        np.datetime64("2026-07-01T12"),
        np.datetime64("2026-07"),
        datetime.timedelta(minutes=1.5),
        pd.Timedelta("90s"),
        np.timedelta64(90_000, "ms"),
        pd.NA,
        pd.NaT,
        None,
        True,
    ],
    ids=repr,
)
def test_the_service_reads_a_value_as_the_learner_does(value):
    """Features of the row that arrives are those of the row that was sent."""
    sent = calls.learn("m", [{"x": {"u": value, "v": 1.0}, "y": 2.0}], batch=False)
    here, there = dl.RLS(missing="mean"), dl.RLS(missing="mean")
    here.learn_one({"u": value, "v": 1.0}, 2.0)
    there.learn_one(as_raw(json.loads(sent.body)["x"], there), 2.0)
    assert here.to_bytes() == there.to_bytes()
