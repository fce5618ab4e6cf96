"""Intervals by group of rows in the report."""

import json
import re

import numpy as np
import pytest

import driftline as dl
from driftline.evaluate import coverage_by
from driftline.report import RunLog

ROWS = 1200
TIMES = np.datetime64("2025-01-01T00:00") + np.arange(ROWS) * np.timedelta64(1, "h")  # a Wednesday


def stream():
    """An hour, a yes or no, and noise that grows with the hour; labels of either sign."""
    rng = np.random.default_rng(2)
    hour = np.arange(ROWS) % 8.0
    X = np.column_stack([hour, rng.random(ROWS) < 0.3, rng.standard_normal(ROWS)])
    y = 3 * X[:, 2] + (1 + hour) * rng.standard_normal(ROWS)
    y[700:710] = np.nan
    return X, y


def log_of(cuts=(), times=TIMES):
    X, y = stream()
    model, log = dl.RLS(forgetting=0.99, missing="skip"), RunLog(level=0.9)
    for rows in np.split(np.arange(ROWS), cuts):
        when = None if times is None else times[rows]
        log.add(model.run(X[rows], y[rows], level=0.9), X[rows], y[rows], times=when)
    return log


def found_in(log):
    return {grouping.name: grouping for grouping in log.groups.groupings(["h", "holiday", "noise"])}


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("hour", np.arange(ROWS) % 24),
        ("weekday", (np.arange(ROWS) // 24 + 2) % 7),
        ("h", np.arange(ROWS) % 8),
        ("holiday", stream()[0][:, 1]),
    ],
)
def test_groups_are_those_of_coverage_by(name, keys):
    X, y = stream()
    found = coverage_by(dl.RLS(forgetting=0.99, missing="skip").run(X, y, level=0.9), y, keys)
    lines = found_in(log_of())[name].lines
    for what, own in (("rows", "rows"), ("coverage", "coverage"), ("width", "width")):
        np.testing.assert_allclose([getattr(line, own) for line in lines], found[what], rtol=1e-12)


def test_tenths_of_the_predictions_hold_a_tenth_of_the_rows_each():
    lines = found_in(log_of())["prediction"].lines
    rows = np.array([line.rows for line in lines])
    assert len(lines) == 10
    assert np.abs(rows - rows.sum() / 10).max() < 12
    run = dl.RLS(forgetting=0.99, missing="skip").run(*stream(), level=0.9)
    judged = np.isfinite(run.lower) & np.isfinite(run.errors)
    inside = (np.abs(run.errors) <= run.upper - run.predictions)[judged].sum()
    assert sum(round(line.coverage * line.rows) for line in lines) == inside
    assert rows.sum() == judged.sum()


def test_columns_with_many_values_are_not_groups_and_dates_are_needed_for_hours():
    assert set(found_in(log_of(times=None))) == {"prediction", "h", "holiday"}
    assert set(found_in(log_of(times=np.arange(ROWS)))) == {"prediction", "h", "holiday"}


def test_groups_do_not_depend_on_the_blocks_and_survive_a_state():
    whole, cut = log_of(), log_of(cuts=[1, 500, 513, 705])
    assert found_in(cut) == found_in(whole)
    state = {
        name: value if isinstance(value, np.ndarray) else json.loads(json.dumps(value))
        for name, value in cut.state().items()
    }
    assert found_in(RunLog.restore(state)) == found_in(whole)


def test_the_page_names_the_group_with_the_lowest_coverage(tmp_path):
    log = log_of()
    log.write(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    worst = found_in(log)["holiday"].worst
    shown = re.findall(r"<summary>By x1: at least ([\d.]+)", page)
    assert [float(share) for share in shown] == [pytest.approx(100 * worst.coverage, abs=0.06)]
