"""``driftline run --time when --half-life 6h``: memory by the clock, in files, late, by key and by id."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import driftline as dl
from driftline.cli.app import app

RNG = np.random.default_rng(5)
ROWS = 80
STEPS = np.where(RNG.random(ROWS) < 0.1, RNG.uniform(10, 90, ROWS), RNG.exponential(1.0, ROWS))
WHEN = (np.datetime64("2026-03-01") + np.round(3600 * np.cumsum(STEPS)).astype("timedelta64[s]")).astype("datetime64[us]")
X = RNG.normal(size=(ROWS, 2))
Y = X @ [1.0, -2.0] + 0.1 * RNG.normal(size=ROWS)
KEYS = np.array(["a", "b"])[RNG.integers(2, size=ROWS)]


@pytest.fixture
def folder(tmp_path):
    frame = pd.DataFrame(
        {"when": WHEN, "u": X[:, 0], "v": X[:, 1], "key": KEYS, "id": [f"r{i}" for i in range(ROWS)], "y": Y}
    )
    frame.to_csv(tmp_path / "x.csv", index=False)
    return tmp_path


def run(folder, *more, code=0):
    command = ["run", str(folder / "x.csv"), "-t", "y", "--model", "rls", "--time", "when", "--half-life", "6h"]
    command += ["--features", "u,v", "--out", str(folder / "out.csv"), *more]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == code, result.output
    return pd.read_csv(folder / "out.csv") if code == 0 else result.output


def said(**options):
    return (
        dl.RLS(half_life="6h", missing="mean").run(pd.DataFrame(X, columns=["u", "v"]), Y, times=WHEN, **options).predictions
    )


def test_a_run_counts_by_the_clock(folder):
    np.testing.assert_allclose(run(folder)["prediction"], said(), rtol=1e-9, atol=1e-12)


def test_late_labels_too(folder):
    model, waiting, expected = dl.RLS(half_life="6h", missing="mean"), [], []
    for t in range(ROWS):
        waiting.append(model.ask({"u": X[t, 0], "v": X[t, 1]}, 3, at=WHEN[t]))
        expected.append(waiting[t].prediction)
        if t >= 3:
            model.tell(waiting[t - 3], Y[t - 3])
    np.testing.assert_allclose(run(folder, "--delay", "3")["prediction"], expected, rtol=1e-9, atol=1e-12)


def test_keys_too(folder):
    found = run(folder, "--key", "key", "--missing", "skip")
    for key in "ab":
        mine = key == KEYS
        alone = dl.RLS(half_life="6h").run(X[mine], Y[mine], times=WHEN[mine])
        np.testing.assert_allclose(found["prediction"][mine], alone.predictions, rtol=1e-9, atol=1e-12)


def test_ids_too(folder):
    np.testing.assert_allclose(run(folder, "--id", "id")["prediction"], said(), rtol=1e-9, atol=1e-12)


def test_a_run_that_goes_on_is_the_run_that_never_stopped(folder):
    text = (folder / "x.csv").read_text().splitlines(keepends=True)
    whole = run(folder)["prediction"]
    (folder / "x.csv").write_text("".join(text[:41]))
    state = ["--state", str(folder / "m.drift")]
    run(folder, *state)
    (folder / "x.csv").write_text("".join(text))
    rest = run(folder, *state, "--resume")["prediction"]
    np.testing.assert_allclose(rest, whole, rtol=1e-9, atol=1e-12)
    assert dl.load(folder / "m.drift").clock_.last == float(WHEN[-1].astype(int))


def test_a_line_whose_time_goes_back_is_named(folder):
    text = (folder / "x.csv").read_text().splitlines(keepends=True)
    text[5], text[6] = text[6], text[5]
    (folder / "x.csv").write_text("".join(text))
    output = run(folder, code=1)
    assert "time goes back" in output
    assert "line 7" in output
    run(folder, "-s", "late_rows=accept")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--half-life", "6h"], "--half-life needs --time"),
        (["--half-life", "6h", "--time", "when", "--steps", "3"], "--half-life: forecasts of --steps count rows"),
        (["--half-life", "6 moons", "--time", "when"], "half_life must be None or a positive number"),
        (["-s", "half_life=6h"], "half_life='6h' needs the rows' times: at=, times= or --time"),
    ],
)
def test_what_does_not_go_together_is_refused(folder, options, words):
    result = CliRunner().invoke(app, ["run", str(folder / "x.csv"), "-t", "y", "--model", "rls", *options])
    assert result.exit_code != 0
    assert words in " ".join(result.output.replace("│", " ").split())


def test_a_saved_run_shows_its_half_life(folder):
    run(folder, "--state", str(folder / "m.drift"))
    result = CliRunner().invoke(app, ["inspect", str(folder / "m.drift"), "--json"])
    assert json.loads(result.output)
    assert "6h" in result.output
