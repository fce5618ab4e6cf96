"""``--quantiles``: the columns and the score are those of the same calls in Python."""

import numpy as np
import pandas as pd
import pytest

import driftline as dl
from tests.test_cli.calling import call, outcome, predictions

LEVELS = [0.05, 0.5, 0.95]
OPTION = ("--quantiles", "0.05,0.5,0.95")
NAMES = [f"quantile_{level}" for level in LEVELS]


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.standard_normal(300), "z": rng.standard_normal(300)})
    frame["y"] = frame["x"] + rng.exponential(size=300)
    frame.to_csv(tmp_path / "a.csv", index=False)
    return tmp_path / "a.csv", frame


def columns(path, names=NAMES):
    table = predictions(path)
    return np.column_stack([table[name].to_numpy(zero_copy_only=False) for name in names])


@pytest.mark.parametrize("delay", [0, 5])
def test_a_run_writes_and_scores_quantiles(capsys, tmp_path, file, delay):
    source, frame = file
    out = tmp_path / "out.parquet"
    found = outcome(capsys, "run", source, "-t", "y", "-m", "rls", "--delay", delay, "--out", out, *OPTION)
    model, tickets = dl.RLS(), []
    for t, row in enumerate(frame[["x", "z"]].to_dict("records")):
        tickets.append(model.ask(row, delay))
        if t >= delay:
            model.tell(tickets[t - delay], frame["y"][t - delay])
    wanted = np.array([ticket.quantiles(LEVELS) for ticket in tickets])
    assert np.array_equal(columns(out), wanted)
    scored = np.isfinite(wanted).all(axis=1)
    assert found["crps"] == pytest.approx(dl.evaluate.crps(wanted[scored], LEVELS, frame["y"][scored]).mean())
    assert "coverage" not in predictions(out).column_names


def test_keys_ids_and_steps_have_quantiles(capsys, tmp_path, file):
    source, frame = file
    frame.assign(key=[f"k{t % 3}" for t in range(300)], id=range(300)).to_csv(source, index=False)
    out, state = tmp_path / "out.parquet", tmp_path / "m.drift"
    keyed = dl.Fleet(dl.RLS(missing="skip"), named=True, intervals=True)
    X = frame[["x", "z"]].to_numpy()
    wanted = keyed.run([f"k{t % 3}" for t in range(300)], X, frame["y"], quantiles=LEVELS).quantiles
    outcome(capsys, "run", source, "-t", "y", "-m", "rls", "--key", "key", "--drop", "id", "--out", out, *OPTION)
    assert np.allclose(columns(out), wanted, rtol=1e-12)
    outcome(capsys, "run", source, "-t", "y", "-m", "rls", "--id", "id", "--drop", "key", "--out", out, *OPTION)
    assert np.array_equal(columns(out), dl.RLS().run(X, frame["y"], quantiles=LEVELS).quantiles)
    drop = ("--drop", "id,key")
    outcome(capsys, "run", source, "-t", "y", "-m", "rls", "--steps", 2, *drop, "--state", state, "--out", out, *OPTION)
    forecaster = dl.Forecaster(dl.RLS(), steps=2)
    run = forecaster.run(frame[["x", "z"]], frame["y"], quantiles=LEVELS)
    assert np.allclose(columns(out, [f"{name}_2" for name in NAMES]), run.quantiles[:, 1], equal_nan=True)
    frame[["x", "z"]][:2].assign(id=0, key="k0").to_csv(source, index=False)
    code, _, err = call(capsys, "forecast", state, source, "--out", out, *OPTION)
    assert code == 0, err
    assert np.allclose(columns(out), forecaster.forecast(frame[["x", "z"]][:2], quantiles=LEVELS).quantiles)


def test_predict_gives_every_row_quantiles(capsys, tmp_path, file):
    source, frame = file
    out, state = tmp_path / "out.csv", tmp_path / "m.drift"
    outcome(capsys, "run", source, "-t", "y", "-m", "rls", "--state", state)
    model = dl.RLS().fit(frame[["x", "z"]], frame["y"])
    for rows in (1, 3):
        frame[["x", "z"]][:rows].to_csv(source, index=False)
        call(capsys, "predict", state, source, "--out", out, *OPTION)
        assert np.allclose(pd.read_csv(out)[NAMES], model.predict_quantiles(frame[["x", "z"]][:rows], LEVELS), rtol=1e-12)


@pytest.mark.parametrize("text", ["0.9,0.1", "0", "a", "", "0.5,0.5", "0.1,,0.9"])
def test_bad_quantiles_are_refused(capsys, file, text):
    code, _, err = call(capsys, "run", file[0], "-t", "y", "--quantiles", text)
    assert code == 2
    assert "--quantiles must be probabilities in ascending order" in " ".join(err.replace("│", " ").split())
