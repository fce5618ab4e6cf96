"""Rows with text, times, truth values and gaps: each edge predicts what any of them learned."""

import datetime as dt
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

pytest.importorskip("starlette")

import driftline as dl
from tests.test_cli.calling import call
from tests.test_cli.tables import write
from tests.test_cli.test_trained_in_python import rows_of, weather
from tests.test_serve.client import refused

FRAME, LABELS = weather(130)
ROWS, LABELS = rows_of(FRAME), LABELS.tolist()
AHEAD = FRAME[120:].assign(town=["Oslo", "Bern", None, "Rome", "Oslo"] * 2)
WORDS = {"": "mean", "wind": "last"}
LATE = 3


def as_json(row):
    """A row as a client sends it."""
    return {name: value.isoformat() if isinstance(value, pd.Timestamp) else value for name, value in row.items()}


def post(client, path, **body):
    answer = client.post(f"/v1/models/{path}", json=body)
    assert answer.status_code == 200, answer.content
    return answer.json()


ARROW = {"content-type": "application/vnd.apache.arrow.stream"}


def stream_of(table):
    """A table as the body of a request."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


# A model trained on the rows, by each edge: after each row, or with labels that come three rows late, by id.


def in_python(by, _):
    model = dl.Forecaster(dl.RLS(missing=WORDS), steps=3) if by == "steps" else dl.RLS(missing=WORDS)
    pending = dl.Pending(model) if by == "ids" else None
    for place, (row, y) in enumerate(zip(ROWS[:120], LABELS, strict=False)):
        if pending is None:
            model.learn_one(row, y)
        else:
            pending.predict_one(f"r{place}", row)
            if place >= LATE:
                pending.learn_one(f"r{place - LATE}", LABELS[place - LATE])
    return model.to_bytes()


def by_the_service(by, make):
    client = make()
    client.put("/v1/models/m", json={"learner": "rls", "params": {"missing": WORDS}, "steps": 3 if by == "steps" else None})
    for place, (row, y) in enumerate(zip(ROWS[:120], LABELS, strict=False)):
        if by == "ids":
            post(client, "m/predict", id=f"r{place}", x=as_json(row))
            if place >= LATE:
                post(client, "m/learn", id=f"r{place - LATE}", y=LABELS[place - LATE])
        elif place < 60:
            post(client, "m/learn", x=as_json(row), y=y)
    if by != "ids":
        rows = [{"x": as_json(row), "y": y} for row, y in zip(ROWS[60:120], LABELS[60:120], strict=True)]
        assert post(client, "m/learn", rows=rows) == {"learned": 60, "known": 0}
    client.engine.stop()
    return make().get("/v1/models/m/export").content  # after a recovery from the log or a snapshot


@pytest.mark.parametrize("by", ["rows", "ids", "steps"])
def test_the_service_learns_raw_rows_as_python_does(start, by):
    assert by_the_service(by, start) == in_python(by, start)


def test_a_model_of_the_service_predicts_files_and_rows(capsys, tmp_path, start):
    data = by_the_service("rows", start)
    (tmp_path / "m").write_bytes(data)
    model = dl.from_bytes(data)
    expected = [model.predict_one(row) for row in rows_of(AHEAD)]
    for ending in (".csv", ".jsonl", ".parquet"):
        source = write(pa.Table.from_pandas(AHEAD, preserve_index=False), tmp_path / f"a{ending}")
        code, _, err = call(capsys, "predict", tmp_path / "m", source, "--out", tmp_path / "out.jsonl", "--quiet")
        assert (code, err) == (0, "")
        found = [json.loads(line)["prediction"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_forecaster_of_the_service_forecasts_files_and_rows(capsys, tmp_path, start):
    data = by_the_service("steps", start)
    (tmp_path / "m").write_bytes(data)
    source = write(pa.Table.from_pandas(AHEAD[:3], preserve_index=False), tmp_path / "a.jsonl")
    code, _, err = call(capsys, "forecast", tmp_path / "m", source, "--out", tmp_path / "out.jsonl", "--quiet")
    assert (code, err) == (0, "")
    found = [json.loads(line)["prediction"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    expected = dl.from_bytes(data).forecast(rows_of(AHEAD[:3])).predictions
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("steps", [None, 3])
def test_a_model_of_the_command_line_predicts_rows_in_the_service(capsys, tmp_path, start, ending, steps):
    """It is put in the place of the service's own: only its columns say what the rows mean."""
    source = write(pa.Table.from_pandas(FRAME[:120].assign(y=LABELS[:120]), preserve_index=False), tmp_path / f"a{ending}")
    more = [] if steps is None else ["--steps", steps]
    code, _, err = call(capsys, "run", source, "-t", "y", "-m", "rls", "--state", tmp_path / "m", "--quiet", *more)
    assert (code, err) == (0, "")
    model, client = dl.load(tmp_path / "m"), start()
    client.put("/v1/models/m", json={"learner": "rls", "steps": steps})
    client.engine.log.models["m"].units[""].learner = dl.load(tmp_path / "m")
    sent = [{"x": as_json(row)} for row in rows_of(AHEAD[:3])]
    if steps is None:
        expected = [model.predict_one(row) for row in rows_of(AHEAD[:3])]
    else:
        expected = model.forecast(rows_of(AHEAD[:3])).predictions.tolist()
    answers = post(client, "m/predict" if steps is None else "m/forecast", rows=sent)["rows"]
    assert [answer["prediction"] for answer in answers] == expected


def test_keyed_models_and_arrow_streams_take_raw_rows(start):
    client = start()
    client.put("/v1/models/m", json={"learner": "rls", "params": {"missing": WORDS}, "keyed": True})
    keys = [f"k{place % 3}" for place in range(120)]
    table = pa.Table.from_pandas(FRAME[:120].assign(key=keys, y=LABELS[:120]), preserve_index=False)
    assert client.post("/v1/models/m/learn", content=stream_of(table), headers=ARROW).json()["learned"] == 120
    models = {}
    for key, row, y in zip(keys, ROWS, LABELS, strict=False):
        models.setdefault(key, dl.RLS(missing=WORDS)).learn_one(row, y)
    for key, model in models.items():
        assert client.get("/v1/models/m/export", params={"key": key}).content == model.to_bytes()


def test_arrow_streams_are_read_as_the_library_reads_tables(start):
    """Times are local in their zone, durations seconds, and decimals numbers."""
    client, y = start(), [1.0, 2.0, 3.0]
    hours = [dt.datetime(2026, 7, 1, hour, tzinfo=dt.UTC) for hour in (1, 21, 23)]
    table = pa.table({
        "local": pa.array(hours, pa.timestamp("us", "Europe/Berlin")),
        "fine": pa.array(hours, pa.timestamp("ns", "Asia/Tokyo")),
        "day": pa.array([dt.date(2026, 7, 1), None, dt.date(2026, 7, 4)]),
        "took": pa.array([1500, None, 3], pa.duration("ms")),
        "price": pa.array([Decimal("1.25"), Decimal("2.50"), None], pa.decimal128(5, 2)),
        "shop": pa.array(["north", "south", None]).dictionary_encode(),
    })  # fmt: skip
    client.put("/v1/models/m", json={"learner": "rls", "params": {"missing": "mean"}})
    answer = client.post("/v1/models/m/learn", content=stream_of(table.append_column("y", pa.array(y))), headers=ARROW)
    assert answer.json() == {"learned": 3, "known": 0}
    model = dl.RLS(missing="mean")
    model.run(table, y)
    assert client.get("/v1/models/m/export").content == model.to_bytes()
    for labels in (pa.array([Decimal("1.5"), Decimal("0.5"), Decimal(2)]), pa.array([1500, 500, 2000], pa.duration("ms"))):
        answer = client.post("/v1/models/m/learn", content=stream_of(table.append_column("y", labels)), headers=ARROW)
        assert answer.json() == {"learned": 3, "known": 0}
        model.run(table, [1.5, 0.5, 2.0])
    assert client.get("/v1/models/m/export").content == model.to_bytes()
    for name, values in (("y", pa.array(hours)), ("id", pa.array([Decimal(1)] * 3))):
        answer = client.post("/v1/models/m/learn", content=stream_of(pa.table({"x": y, name: values})), headers=ARROW)
        assert refused(answer, 422)
        assert answer.json()["field"] == name
        assert f"the column '{name}' must hold" in answer.text
    for bad in (pa.array([[1.0]] * 3), pa.array([1.0, np.inf, 2.0])):
        table = pa.table({"wrong": bad, "y": y})
        answer = client.post("/v1/models/m/learn", content=stream_of(table), headers=ARROW)
        assert refused(answer, 422)
        assert "the column 'wrong'" in answer.text


def test_a_skipped_row_has_no_prediction_and_teaches_nothing(start):
    client = start()
    client.put("/v1/models/m", json={"learner": "rls", "params": {"missing": "skip"}})
    for n in range(20):
        post(client, "m/learn", x={"u": float(n % 4), "v": 1.0}, y=float(n % 4))
    before = client.get("/v1/models/m").json()
    gap = {"u": None, "v": 1.0}
    assert post(client, "m/predict", id="a", x=gap) == {"id": "a", "prediction": None, "lower": None, "upper": None}
    assert post(client, "m/learn", id="a", y=2.0) == {"learned": 1, "known": 0}
    assert post(client, "m/learn", x=[None, 1.0], y=2.0) == {"learned": 1, "known": 0}
    client.engine.stop()
    client = start()
    after = client.get("/v1/models/m").json()
    assert post(client, "m/learn", id="a", y=2.0) == {"learned": 0, "known": 1}
    assert {**before, "rows": 22, "unscored": 2} == after
    assert dl.from_bytes(client.get("/v1/models/m/export").content).n_skipped_ == 2


def test_text_that_only_looks_like_a_time_is_a_category(start):
    client, expected = start(), dl.RLS()
    client.put("/v1/models/m", json={"learner": "rls"})
    for n, text in enumerate(["9999-12-31T23:59-14:00", "2026-02-30", "2026-02-28", "12:30", "pier"]):
        post(client, "m/learn", x={"place": text}, y=float(n))
        expected.learn_one({"place": text}, float(n))
    assert client.get("/v1/models/m/export").content == expected.to_bytes()
    words = "x['when'] must be a time, got 'soon'"
    post(client, "m/learn", x={"place": "pier", "when": "2026-03-01T10:00+01:00"}, y=1.0)
    answer = client.post("/v1/models/m/learn", json={"x": {"place": "pier", "when": "soon"}, "y": 1.0})
    assert refused(answer, 422, field="x")
    assert words in answer.json()["detail"]
