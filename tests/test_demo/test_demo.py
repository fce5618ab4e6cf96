"""The demonstration: its stream, and its commands, which end with a report."""

import re

import numpy as np
import pytest

import driftline as dl
from driftline.cli.locks import locked
from driftline.demo import demand, serving
from driftline.demo.tour import show, steps
from tests.test_cli.calling import call


def test_the_coefficients_of_the_stream_change_as_documented():
    """Least squares, given the points of change, finds the constants within four standard errors.

    Half of the noise carries over from hour to hour, which widens the errors by up to sqrt(3).
    """
    columns = demand.make()
    hour = np.arange(demand.ROWS)
    cold, wind = np.maximum(20 - columns["temperature"], 0), columns["wind"]
    early = hour < demand.NEW_PIPES
    design = np.column_stack([np.ones(demand.ROWS), cold, cold * hour / 8760, wind * early, wind * ~early, columns["price"]])
    labels = columns["demand"] / np.where(hour < demand.NEW_DISTRICT, 1.0, 2.2)
    effects = np.linalg.lstsq(design, labels, rcond=None)[0]
    deviation = np.std(labels - design @ effects)
    errors = deviation * np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
    assert deviation == pytest.approx(3.0, rel=0.05)
    assert np.all(np.abs(effects - [60.0, 3.0, -1.5, 4.0, 0.5, -0.25]) < 4 * np.sqrt(3) * errors)
    assert np.all(errors < 0.02 * np.abs(effects) + 0.02)


def test_all_commands_run_and_the_last_lines_name_the_report_and_the_next_command(tmp_path, capsys):
    show(tmp_path)
    printed, warned = capsys.readouterr()
    assert warned == ""
    assert printed.count("$ driftline") == len(steps(tmp_path))
    report = tmp_path / "report.html"
    *_, named, suggested = printed.strip().splitlines()
    assert named.endswith(str(report.resolve()))
    assert suggested.endswith("run FILE --target COLUMN --report report.html")
    assert "Auto following demand" in report.read_text()
    predictions = (tmp_path / "predictions.csv").read_text().splitlines()
    assert len(predictions) == demand.ROWS + 1
    forecast = (tmp_path / "forecast.csv").read_text().splitlines()
    assert [line.split(",")[:3] for line in (forecast[1], forecast[-1])] == [
        ["8760", "1", "2026-01-01 00:00:00"],
        ["8783", "24", "2026-01-01 23:00:00"],
    ]


def test_the_rows_to_predict_follow_the_stream():
    """A year of hours from the start of 2025; the next day has the weather of the last one."""
    columns, coming = demand.make(), demand.expected(24)
    assert coming["time"].astype(str).tolist() == [f"2026-01-01T{hour:02}:00" for hour in range(24)]
    assert list(coming) == list(columns)[:-1]
    for name in serving.INPUTS:
        assert coming[name].tolist() == columns[name][-24:].tolist()
        assert demand.expected(1)[name].tolist() == columns[name][-24:-23].tolist()


@pytest.mark.parametrize("name", ["demand.csv", "next_day.csv", "model.drift"])
def test_a_users_file_is_not_overwritten(tmp_path, capsys, name):
    (tmp_path / name).write_text("mine\n")
    code, out, err = call(capsys, "demo", tmp_path)
    assert code in (1, 2)
    assert f"{tmp_path / name}: is no" in err
    assert (tmp_path / name).read_text() == "mine\n"
    assert "Traceback" not in out + err


def test_a_second_demo_in_the_same_folder_is_refused(tmp_path, capsys):
    source = tmp_path / "demand.csv"
    with locked("demo", {"FOLDER": source}):
        code, out, err = call(capsys, "demo", tmp_path)
    assert (code, out) == (2, "")
    assert err.startswith(f"driftline demo: FOLDER {source}: in use by process ")
    assert not source.exists()


def test_the_stream_goes_through_a_service_that_stops_by_itself(tmp_path, capsys, monkeypatch):
    """The model left in the folder equals the library's, given the same predictions and labels."""
    pytest.importorskip("httpx")
    pytest.importorskip("uvicorn")
    from driftline.serve.engine import Engine
    from driftline.serve.limits import Limits
    from driftline.serve.sqlite import SqliteStore

    columns = demand.make(count := 960)
    monkeypatch.setattr(demand, "make", lambda: columns)
    for _ in range(2):  # the second run starts over
        code, out, err = call(capsys, "demo", tmp_path, "--serve", "--seconds", "0.1")
        assert (code, err) == (0, "")
    assert "960 rows learned" in out
    assert re.search(r"http://127\.0\.0\.1:\d+/$", out, re.MULTILINE)
    engine = Engine(SqliteStore(tmp_path / "service"), Limits())
    served = engine.log.models["demand"].export(None)
    engine.store.close()
    inputs = zip(*(columns[name].tolist() for name in serving.INPUTS), strict=True)
    rows = [dict(zip(serving.INPUTS, x, strict=True)) for x in inputs]
    pending, y = dl.Pending(dl.Auto()), columns["demand"].tolist()
    for row in range(0, count, serving.LATE):
        for one in range(row, row + serving.LATE):
            pending.predict_one(one, rows[one])
        for one in range(max(row - serving.LATE, 0), row if row + serving.LATE < count else count):
            pending.learn_one(one, y[one])
    assert served == pending.learner.to_bytes()
