"""The warnings of the command line about predictions that ran away: in text, in JSON and in the report."""

import json

import numpy as np
import pytest

from tests.test_cli.calling import call, outcome
from tests.test_linear.test_keep_prior import calendar


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of RLS with a memory of 10 rows and 12 weights."""
    X, y = calendar()
    path = tmp_path_factory.mktemp("calendar") / "counts.csv"
    names = ",".join([*(f"x{j}" for j in range(X.shape[1])), "count"])
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header=names, comments="")
    return ["run", path, "-t", "count", "-m", "rls", "-s", "forgetting=0.9"]


def test_a_run_warns_on_separate_lines_in_json_and_in_the_report(capsys, run, tmp_path):
    report = tmp_path / "report.html"
    code, out, err = call(capsys, *run, "--report", report)
    assert (code, err) == (0, "")
    short, far = (line for line in out.splitlines() if line.startswith("Warning: RLS: "))
    assert "a memory of 10 rows does not determine 12 weights" in short
    assert "predictions missed labels by up to" in far
    assert "R² far worse than the mean" in out
    assert "  far above the last value's" in out
    assert "a memory of 10 rows does not determine" in report.read_text()
    found = outcome(capsys, *run)
    assert found["warnings"] == [line.removeprefix("Warning: ") for line in (short, far)]
    assert found["r2"] < -1e6


def test_printed_numbers_are_short(capsys, run, tmp_path):
    report = tmp_path / "report.html"
    _, out, _ = call(capsys, *run, "--report", report)
    words = (
        out.split() + report.read_text().split("<main>")[1].split("<script")[0].replace("<", " ").replace(">", " ").split()
    )
    numbers = [word for word in words if word.lstrip("-−").replace(",", "").replace(".", "").isdigit()]
    assert numbers
    assert max(map(len, numbers)) < 15


def test_keeping_the_prior_prevents_the_warnings(capsys, run):
    found = outcome(capsys, *run, "-s", "keep_prior=true")
    assert found["warnings"] == []
    assert found["r2"] > 0
    assert "Warning" not in call(capsys, *run, "-s", "keep_prior=true")[1]


def test_the_warnings_of_compare_name_the_learner(capsys, run):
    asked = ["compare", run[1], "-t", "count", "--models", "rls,ridge", "-s", "rls.forgetting=0.9"]
    code, out, err = call(capsys, *asked)
    assert code == 0
    assert "far worse than the mean" in out
    assert err.startswith("driftline compare: rls: RLS: a memory of 10 rows")
    rows = json.loads(call(capsys, *asked, "--json")[1])["rows"]
    assert {row["model"]: row["r2"] for row in rows}["rls"] < -1e6
