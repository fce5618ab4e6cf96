"""predict, inspect, compare and models."""

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import driftline as dl
from driftline.base import registry
from tests.test_cli.calling import call, predictions
from tests.test_cli.tables import mixed, write


@pytest.fixture
def trained(capsys, tmp_path):
    """The state of a run over the first 400 rows, and a file of the other rows."""
    table = mixed()
    source, state = write(table.slice(0, 400), tmp_path / "a.csv"), tmp_path / "model.drift"
    assert call(capsys, "run", source, "-t", "load", "-m", "kalman", "--state", state, "--quiet")[0] == 0
    return state, table.slice(400)


@pytest.mark.parametrize("name", ["b.csv", "b.parquet", "b.jsonl"])
@pytest.mark.parametrize("labelled", [True, False])
def test_predict_gives_the_models_predictions_and_learns_nothing(capsys, tmp_path, trained, name, labelled):
    state, rest = trained
    before = state.read_bytes()
    source = write(rest if labelled else rest.drop_columns(["load"]), tmp_path / name)
    out = tmp_path / "out.parquet"
    code, printed, _ = call(capsys, "predict", state, source, "--out", out, "--level", "0.8")
    assert (code, printed) == (0, f"200 predictions: {out}\n")
    model = dl.load(state)
    found = predictions(out)
    rows = rest.drop_columns(["load"])
    np.testing.assert_allclose(found["prediction"].to_numpy(), [model.predict_one(x) for x in rows.to_pylist()], rtol=1e-12)
    ends = found["lower"].to_numpy(), found["upper"].to_numpy()
    np.testing.assert_allclose(ends, model.predict_intervals(rows, 0.8), rtol=1e-12)
    assert ("target" in found.column_names) == labelled
    assert state.read_bytes() == before


def test_predict_reads_a_model_saved_from_python(capsys, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    model = dl.RLS()
    for x in X:
        model.learn_one({"a": x[0], "b": x[1]}, x.sum())
    model.save(tmp_path / "m")
    table = pa.table({"b": X[:, 1], "other": X[:, 0], "a": X[:, 0]})
    code, out, _ = call(capsys, "predict", tmp_path / "m", write(table, tmp_path / "a.csv"))
    assert code == 0
    predicted = np.array([float(line.split(",")[1]) for line in out.splitlines()[1:]])
    np.testing.assert_allclose(predicted, [model.predict_one(x) for x in X], rtol=1e-12)
    code, _, err = call(capsys, "predict", tmp_path / "m", write(table.drop_columns(["a"]), tmp_path / "b.csv"))
    assert code == 1
    assert "there is no column 'a'" in err


def test_predict_is_silent_if_scikit_learn_is_imported(capsys, tmp_path, trained):
    """scikit-learn would make the model warn about rows without names, which are in order here."""
    pytest.importorskip("sklearn.utils.validation")
    state, rest = trained
    out = tmp_path / "out.csv"
    assert call(capsys, "predict", state, write(rest, tmp_path / "b.csv"), "--out", out)[0::2] == (0, "")


@pytest.mark.parametrize("missing", ["raise", "mean"])
def test_predict_reads_a_model_without_feature_names(capsys, tmp_path, missing):
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = dl.RLS(missing=missing).fit(X, X.sum(axis=1))
    model.save(tmp_path / "m")
    code, out, _ = call(capsys, "predict", tmp_path / "m", write(pa.table({"p": X[:, 0], "q": X[:, 1]}), tmp_path / "a.csv"))
    assert code == 0
    predicted = np.array([float(line.split(",")[1]) for line in out.splitlines()[1:]])
    np.testing.assert_allclose(predicted, model.predict(X), rtol=1e-12)
    three = write(pa.table({"p": X[:, 0], "q": X[:, 1], "r": X[:, 1]}), tmp_path / "b.csv")
    code, _, err = call(capsys, "predict", tmp_path / "m", three)
    assert (code, "3 columns of numbers, the model learned from 2" in err) == (1, True)


def test_a_missing_column_or_one_of_another_type_is_refused(capsys, tmp_path, trained):
    state, rest = trained
    code, _, err = call(capsys, "predict", state, write(rest.drop_columns(["wind"]), tmp_path / "b.parquet"))
    assert (code, "there is no column 'wind', which the model learned from" in err) == (1, True)
    text = rest.set_column(1, "wind", [["strong"] * 200])
    code, _, err = call(capsys, "predict", state, write(text, tmp_path / "c.parquet"))
    assert (code, "column 'wind': holds text, but held number before" in err) == (1, True)


def test_inspect_shows_weights_by_name_memory_and_certificate(capsys, trained):
    state, _ = trained
    model = dl.load(state)
    code, out, _ = call(capsys, "inspect", state, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["weights"] == dict(zip(model.feature_names_in_.tolist(), model.coef_.tolist(), strict=True))
    assert found["rows_learned"] == model.n_seen_
    assert found["certificate"]["comparator"] == model.certificate().comparator
    assert found["run"]["target"] == "load"
    code, out, _ = call(capsys, "inspect", state, "--top", "2")
    assert code == 0
    largest = max(found["weights"], key=lambda name: abs(found["weights"][name]))
    assert largest in out
    table = out.split("\n\n")[1].split("\n")
    assert [line.split("  ")[0] for line in table[-2:]] == [f"… and {len(found['weights']) - 2} more", "(intercept)"]


@pytest.mark.parametrize("content", [b"", b"garbage", None])
@pytest.mark.parametrize("command", ["inspect", "predict"])
def test_a_file_that_is_not_a_model_is_refused(capsys, tmp_path, command, content):
    path = tmp_path / "m"
    if content is not None:
        path.write_bytes(content)
    more = [write(mixed(20), tmp_path / "a.csv")] if command == "predict" else []
    code, out, err = call(capsys, command, path, *more)
    assert (code, out) == (2 if content is None else 1, "")
    assert err.startswith(f"driftline {command}: ")


def test_compare_gives_each_learner_the_scores_of_its_own_run(capsys, tmp_path):
    source = write(mixed(), tmp_path / "a.csv")
    arguments = [source, "-t", "load", "--models", "kalman,rls", "-s", "rls.forgetting=0.9", "--delay", 2]
    code, out, err = call(capsys, "compare", *arguments, "--json")
    assert (code, err.splitlines()[1:]) == (0, [])
    assert err.startswith("driftline compare: rls: RLS: a memory of 10 rows does not determine 19 weights")
    rows = {row["model"]: row for row in json.loads(out)["rows"]}
    for name, settings in (("kalman", []), ("rls", ["-s", "forgetting=0.9"])):
        code, out, _ = call(capsys, "run", source, "-t", "load", "-m", name, *settings, "--delay", 2, "--json")
        alone = json.loads(out)
        assert rows[name]["rmse"] == pytest.approx(alone["rmse"])
        assert rows["(last value)"]["rmse"] == pytest.approx(alone["last_value_rmse"])
        assert rows["(running mean)"]["rmse"] == pytest.approx(alone["running_mean_rmse"])


def test_a_learner_that_refuses_rows_drops_out_and_the_others_continue(capsys, tmp_path):
    rng = np.random.default_rng(0)
    x = 1000 * rng.normal(size=300)
    source = write(pa.table({"x": x, "y": x + rng.normal(size=300)}), tmp_path / "a.csv")
    code, out, err = call(capsys, "compare", source, "-t", "y", "--models", "lms,rls", "-s", "lms.rate=0.1")
    assert code == 0
    assert re.fullmatch(r"driftline compare: lms dropped out: line \d+: LMS.tell: the weights left .*\n", err)
    assert "rls" in out
    code, _, err = call(capsys, "compare", source, "-t", "y", "--models", "lms", "-s", "lms.rate=0.1")
    assert code == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--models", "rsl"], "there is no model 'rsl'. Did you mean rls?"),
        (["--models", "rls", "-s", "forgetting=0.9"], "--set takes model.name=value"),
        (["--models", "rls", "-s", "kalman.noise=0.9"], "--set takes model.name=value, with one of rls"),
    ],
)
def test_invalid_comparisons_exit_with_2(capsys, tmp_path, arguments, words):
    code, _, err = call(capsys, "compare", write(mixed(20), tmp_path / "a.csv"), "-t", "load", *arguments)
    assert code == 2
    assert words in " ".join(err.split())


def test_models_lists_the_registry(capsys):
    code, out, _ = call(capsys, "models", "--json")
    listed = {entry["name"]: entry for entry in json.loads(out)}
    assert code == 0
    assert listed.keys() == registry.learners().keys()
    for name, cls in registry.learners().items():
        assert [param["name"] for param in listed[name]["parameters"]] == list(cls._params)
        assert listed[name]["cost"].startswith("O(")
        for param in listed[name]["parameters"]:
            assert param["meaning"], (name, param)
            assert not set(param["meaning"]) & set("`\\"), (name, param)
    code, out, _ = call(capsys, "models")
    assert all(name in out for name in registry.learners())
    starts = {line.index(line.lstrip() if line[0] == " " else line.split()[1]) for line in out.splitlines()}
    assert len(starts) == 1  # all in one column
    code, out, _ = call(capsys, "models", "rls")
    assert "forgetting" in out
    assert "the memory is about 1 / (1 - forgetting) rows" in " ".join(out.split())
    assert call(capsys, "models", "rsl")[0] == 2


def test_a_model_trained_on_frames_with_text_and_dates_predicts_files(capsys, tmp_path):
    """The model was saved from Python, and encodes the file's columns itself; an unknown text has no effect."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "code": rng.choice(["007", "042"], 200),
        "day": pd.date_range("2026-01-01", periods=200),
        "x": rng.normal(size=200),
    })  # fmt: skip
    model = dl.RLS()
    model.run(frame, rng.normal(size=200))
    model.save(tmp_path / "model.drift")
    rows = frame.tail(3).assign(code=["007", "042", "999"])
    rows.to_csv(tmp_path / "rows.csv", index=False)
    code, out, err = call(capsys, "predict", tmp_path / "model.drift", tmp_path / "rows.csv")
    assert (code, err) == (0, "")
    predicted = [float(line.split(",")[1]) for line in out.splitlines()[1:]]
    np.testing.assert_allclose(predicted, model.predict(rows), rtol=1e-12)
    rows.drop(columns="code").to_csv(tmp_path / "less.csv", index=False)
    code, _, err = call(capsys, "predict", tmp_path / "model.drift", tmp_path / "less.csv")
    assert code != 0
    assert "no column 'code'" in err
