import csv
import io
import json
import math
import os
from dataclasses import replace

import numpy as np
import pytest

import papers
from driftline.evaluate import progress
from driftline.evaluate.tables import Table
from papers import (
    Check,
    Context,
    Findings,
    RequestError,
    UnknownTargetError,
    arcor_network,
    arcor_rates,
    dfop_coverage,
    page,
)
from papers.repeats import half_width


def square(job):
    return job * job


def findings(*held):
    checks = [Check(f"statement {i}", holds, "by numbers") for i, holds in enumerate(held)]
    return Findings(Table(["a"], [[1.0]]), checks, lambda: None)


def test_the_verdict_follows_from_the_checks():
    assert findings(True, True).verdict == "agrees"
    assert findings(True, False).verdict == "agrees in part"
    assert findings(False, False).verdict == "does not agree"


def test_every_name_gives_its_target_with_a_description():
    for name in papers.names():
        target = papers.find(name)
        assert target.name == name
        assert all([target.title, target.source, target.setting, target.claim])


@pytest.mark.parametrize("name", ["lecture-bond", "lecture_bounds", "Lecture-Bounds", "lecture"])
def test_a_misspelt_name_gets_the_closest_names(name):
    with pytest.raises(UnknownTargetError, match=r"there is no target .* Did you mean lecture-bounds"):
        papers.find(name)


def test_a_name_unlike_all_others_gets_the_whole_list():
    with pytest.raises(UnknownTargetError, match="lecture-bounds"):
        papers.find("zzz")


def test_a_name_that_is_not_text_is_refused():
    with pytest.raises(UnknownTargetError, match="there is no target 5"):
        papers.find(5)


def test_jobs_in_other_processes_return_in_order():
    context = Context(jobs=2, progress=False)
    assert context.map(math.factorial, range(8)) == [math.factorial(i) for i in range(8)]
    assert Context(jobs=1, progress=False).map(square, [3, 4]) == [9, 16]


def test_workers_have_one_thread_each_unless_told_otherwise(monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    names = ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"]
    assert Context(jobs=2, progress=False).map(os.getenv, names) == ["1", "3"]


def test_progress_shows_the_rate_and_the_remaining_time(monkeypatch):
    monkeypatch.setattr(progress, "WAIT", 0.0)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    out = io.StringIO()
    Context(jobs=1, progress=out).map(square, [1, 2, 3], "squares")
    assert "squares/s" in out.getvalue()
    assert "left" in out.getvalue()


def test_the_first_existing_file_is_used(tmp_path):
    (tmp_path / "b.csv").write_text("1")
    context = Context(data=tmp_path)
    assert context.file("a.csv", "b.csv") == tmp_path / "b.csv"
    assert context.file("a.csv") is None
    assert Context().file("b.csv") is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": "/no/such/directory"}, "data must be a directory"),
        ({"jobs": 0}, "jobs must be"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_invalid_requests_are_refused_before_any_work(arguments, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        papers.run("lecture-bounds", quick=True, out=tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()


def test_an_output_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RequestError, match="out must be a directory"):
        papers.run("lecture-bounds", quick=True, out=tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.fixture
def idle(monkeypatch):
    """A target that fails if it is computed."""
    target = replace(papers.find("lecture-bounds"), compute=lambda _: pytest.fail("the work was done"))
    monkeypatch.setattr("papers.runner.find", lambda _: target)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a directory that nobody can write to")
def test_an_unwritable_output_folder_is_refused_before_any_work(idle):
    with pytest.raises(RequestError, match="out cannot be written to, got '/proc': "):
        papers.run("lecture-bounds", out="/proc")


def test_a_file_that_cannot_be_written_is_refused_before_any_work(idle, tmp_path):
    (tmp_path / "lecture-bounds.csv").mkdir()
    (tmp_path / "lecture-bounds.md").write_text("mine")
    with pytest.raises(RequestError, match=r"out cannot be written to, got '.*lecture-bounds\.csv': "):
        papers.run("lecture-bounds", out=tmp_path)
    assert (tmp_path / "lecture-bounds.md").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 2


def test_the_page_names_failures_omissions_and_the_command_to_run_it_again(tmp_path):
    target = papers.find("dfop-table1")
    found = Findings(
        Table(["a"], [[math.nan]]),
        [Check("one below two", False, "3 > 2")],
        lambda: None,
        left_out=["the row of weather.csv"],
    )
    context = Context(seed=7, data=tmp_path)
    text = page.page(target, found, context)
    assert "does not hold: one below two (3 > 2)" in text
    assert "the row of weather.csv" in text
    assert "python -m papers dfop-table1 --seed 7 --data DIR" in text
    assert "quick" not in text
    assert str(tmp_path) not in text
    assert page.content(target, found, context)["rows"] == [{"a": None}]


def test_a_target_that_reads_no_file_has_no_data_in_its_command(tmp_path):
    target = papers.find("lecture-bounds")
    assert page.command(target, Context(data=tmp_path)) == "python -m papers lecture-bounds --seed 0"


@pytest.mark.parametrize("held", [True, False])
def test_a_quick_run_is_marked_and_decides_nothing(held):
    """The setting describes thousands of rows and a hundred repetitions, more than a quick run has."""
    target, context = papers.find("lecture-bounds"), Context(quick=True)
    text, content = page.page(target, findings(held), context), page.content(target, findings(held), context)
    assert text.count(target.setting) == 1
    assert f"That of a full run; this quick run does a small part of it: {target.setting}" in text
    assert content["setting"].startswith("That of a full run; this quick run does a small part of it: ")
    assert "decides nothing, and its numbers should not be quoted" in text
    assert "undecided: statement 0 (by numbers)" in text
    assert "hold:" not in text
    assert "holds:" not in text
    assert "with the source" not in text
    assert content["verdict"] == "undecided"
    assert [check["holds"] for check in content["checks"]] == [None]
    assert "--quick" in content["command"]


@pytest.mark.parametrize("held", [True, False])
def test_a_full_run_states_its_verdict_on_the_page_and_in_the_numbers(held):
    target, context = papers.find("lecture-bounds"), Context()
    text, content = page.page(target, findings(held), context), page.content(target, findings(held), context)
    assert f"**Setting.** {target.setting}" in text
    said = "agrees" if held else "does not agree"
    assert f"This run **{said}** with the source: {int(held)} of 1 statements hold." in text
    assert content["setting"] == target.setting
    assert content["verdict"] == findings(held).verdict
    assert [check["holds"] for check in content["checks"]] == [held]


ROWS = {  # of numbers, where a formula gives their count
    "arcor-network": 2 * 2 * len(arcor_network.marks(400)),
    "arcor-rates": 3 * len(arcor_rates.POWERS),
    "dfop-coverage": len(dfop_coverage.STREAMS) * len(dfop_coverage.RATES) * len(dfop_coverage.DELTAS),
}


@pytest.mark.parametrize("name", papers.names())
def test_a_quick_run_writes_a_picture_a_page_and_the_same_numbers_twice(name, tmp_path):
    result = papers.run(name, quick=True, out=tmp_path, jobs=1, progress=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{name}.{e}" for e in ("png", "json", "csv", "md"))
    assert result.files["png"].read_bytes().startswith(b"\x89PNG")
    content = json.loads(result.files["json"].read_text(), parse_constant=pytest.fail)
    with result.files["csv"].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(content["rows"]) == ROWS.get(name, len(rows)) > 0
    for row, record in zip(rows, content["rows"], strict=True):
        assert {name: _number(text) for name, text in row.items()} == {n: _number(v) for n, v in record.items()}
    assert content["verdict"] == result.verdict == "undecided"
    assert content["verdict"] in result.files["md"].read_text()
    assert all(isinstance(check.holds, bool) for check in result.findings.checks)
    assert name != "arcor-network" or result.findings.verdict == "agrees"
    assert name not in ("dfop-fig3", "dfop-fig4") or all(np.isfinite(row[-1]) for row in result.findings.numbers.rows)


def _number(value):
    try:
        number = float(value)
    except (TypeError, ValueError):
        return value or None
    return number if math.isfinite(number) else None


def test_the_half_width_uses_students_t():
    from scipy import stats

    values = np.random.default_rng(0).normal(size=(12, 3))
    low, high = stats.t.interval(0.95, 11, loc=values.mean(axis=0), scale=stats.sem(values, axis=0))
    np.testing.assert_allclose(half_width(values), (high - low) / 2, rtol=1e-12)
    assert np.isnan(half_width(values[:1])).all()
