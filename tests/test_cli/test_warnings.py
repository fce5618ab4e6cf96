"""What the command line says of a learner whose predictions ran away: in words, in JSON and in the report."""

import json

import numpy as np
import pytest

import driftline as dl
from driftline.cli.label_lags import looks_at_labels
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


def test_a_run_warns_in_lines_of_their_own_in_json_and_in_the_report(capsys, run, tmp_path):
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


def test_no_number_is_longer_than_people_read(capsys, run, tmp_path):
    report = tmp_path / "report.html"
    _, out, _ = call(capsys, *run, "--report", report)
    words = (
        out.split() + report.read_text().split("<main>")[1].split("<script")[0].replace("<", " ").replace(">", " ").split()
    )
    numbers = [word for word in words if word.lstrip("-−").replace(",", "").replace(".", "").isdigit()]
    assert numbers
    assert max(map(len, numbers)) < 15


def test_a_kept_prior_tames_it(capsys, run):
    found = outcome(capsys, *run, "-s", "keep_prior=true")
    assert found["warnings"] == []
    assert found["r2"] > 0
    assert "Warning" not in call(capsys, *run, "-s", "keep_prior=true")[1]


@pytest.mark.parametrize("more", [[], ["--delay", 3], ["--steps", 2]], ids=["at once", "late", "ahead"])
def test_rows_that_are_not_learned_shift_the_lags_of_labels(capsys, tmp_path, more):
    """Auto looks at earlier labels, and counts those it learned; RLS does not look at them."""
    source = tmp_path / "a.csv"
    lines = [f"{t % 7},{'' if t in (40, 50) else t % 24}" for t in range(60)]
    source.write_text("\n".join(["x,y", *lines]) + "\n")
    code, out, _ = call(capsys, "run", source, "-t", "y", *more)
    (line,) = (line for line in out.splitlines() if line.startswith("Warning: "))
    words = "Auto: 2 rows were not learned because the target or a feature is missing. Lags of labels count labels, not rows"
    assert (code, words in line) == (0, True)
    assert outcome(capsys, "run", source, "-t", "y", *more)["warnings"] == [line.removeprefix("Warning: ")]
    assert outcome(capsys, "run", source, "-t", "y", "-m", "rls", *more)["warnings"] == []
    source.write_text(source.read_text().replace(",\n", ",1\n"))
    assert outcome(capsys, "run", source, "-t", "y", *more)["warnings"] == []


@pytest.mark.parametrize(
    ("learner", "looks"),
    [
        (dl.Auto(), True),
        (dl.RLS(), False),
        (dl.features.Lags(y=[1, 24]) | dl.RLS(), True),
        (dl.features.Lags(x=3) | dl.RLS(), False),
        (dl.Network([dl.RLS(), dl.features.Lags(y=2) | dl.RLS()]), True),
        (dl.Auto(experts=[dl.RLS()]), True),
        (dl.Averaged(dl.RLS()), False),
    ],
    ids=["auto", "rls", "lags of y", "lags of x", "network", "experts", "averaged"],
)
def test_learners_that_look_at_earlier_labels(learner, looks):
    assert looks_at_labels(learner) == looks


def test_a_comparison_says_which_learner_it_is(capsys, run):
    asked = ["compare", run[1], "-t", "count", "--models", "rls,ridge", "-s", "rls.forgetting=0.9"]
    code, out, err = call(capsys, *asked)
    assert code == 0
    assert "far worse than the mean" in out
    assert err.startswith("driftline compare: rls: RLS: a memory of 10 rows")
    rows = json.loads(call(capsys, *asked, "--json")[1])["rows"]
    assert {row["model"]: row["r2"] for row in rows}["rls"] < -1e6
