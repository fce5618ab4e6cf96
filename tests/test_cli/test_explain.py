"""``explain``: what changed in some rows of a run."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.test_cli.calling import call, outcome

ROWS, CHANGE = 1500, 1100


@pytest.fixture
def run(capsys, tmp_path):
    """The state of a run and its file; for 48 hours labels are 0.6 times what they should be."""
    rng = np.random.default_rng(0)
    wind = rng.normal(size=ROWS) + 5
    times = pd.date_range("2026-03-01", periods=ROWS, freq="h")
    load = 20 + 3 * wind + rng.normal(size=ROWS)
    load[CHANGE : CHANGE + 48] *= 0.6
    sky = rng.choice(["clear", "cloudy"], ROWS)
    path, state = tmp_path / "load.csv", tmp_path / "m.drift"
    pd.DataFrame({"when": times, "wind": wind, "sky": sky, "load": load}).to_csv(path, index=False)
    outcome(capsys, "run", path, "-t", "load", "--time", "when", "-m", "rls", "--state", state)
    return state, path, times


def test_a_period_is_explained_in_words_and_as_json(capsys, run):
    state, path, times = run
    period = ["--from", times[CHANGE].isoformat(), "--to", times[CHANGE + 48].isoformat()]
    code, out, err = call(capsys, "explain", state, path, *period)
    assert (code, err) == (0, "")
    assert out.startswith("label_scale from row 1,100: load is 0.60")
    code, out, err = call(capsys, "explain", state, path, *period, "--json")
    (event,) = json.loads(out)
    assert (event["kind"], event["column"], event["row"]) == ("label_scale", None, CHANGE)


@pytest.mark.parametrize(
    ("start", "stop", "words"),
    [
        ("2027-01-01", "2027-01-02", "has no row at --from 2027-01-01 or later"),
        ("2026-03-20", "2026-03-19", "has no rows from 2026-03-20 to before 2026-03-19"),
        ("2026-03-02", "2026-03-03", "has 24 rows before --from 2026-03-02; at least 128 are needed"),
        ("noon", "2026-03-03", "--from must be a time such as 2026-03-01T12:00, got 'noon'"),
    ],
)
def test_periods_that_are_not_there_are_refused(capsys, run, start, stop, words):
    state, path, _ = run
    code, out, err = call(capsys, "explain", state, path, "--from", start, "--to", stop)
    assert code != 0
    assert not out
    assert words in err
