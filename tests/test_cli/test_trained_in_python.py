"""Models trained in Python on text, times and gaps predict files as they predict rows in Python."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import driftline as dl
from driftline.features import Standardize
from tests.test_cli.calling import call
from tests.test_cli.tables import write

ENDINGS = (".csv", ".jsonl", ".parquet")
WORDS = {"": "mean", "wind": "last", "town": "zero"}
LEARNERS = {
    "rls": lambda: dl.RLS(missing="mean"),
    "by column": lambda: dl.RLS(missing=WORDS),
    "auto": lambda: dl.Auto(missing="last"),
    "network": lambda: dl.Network([dl.RLS(), dl.Ridge()], missing="zero"),
    "pipeline": lambda: (Standardize() | dl.RLS()).set_params(missing="mean"),
    "classifier": lambda: dl.Classifier(dl.RLS(missing="mean")),
}


def weather(count, seed=0):
    """Rows with numbers, text, times and gaps."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"at": pd.date_range("2026-03-01 00:30", periods=count, freq="h")})
    frame["wind"] = rng.normal(size=count)
    frame["town"] = rng.choice(["Rome", "Oslo"], count)
    frame["wet"] = rng.random(count) < 0.5
    y = frame["wind"] + 3 * (frame["town"] == "Oslo") + frame["wet"] + rng.normal(scale=0.1, size=count)
    frame["wind"] = frame["wind"].mask((rng.random(count) < 0.1) & (frame.index > 0))
    frame["town"] = frame["town"].mask((rng.random(count) < 0.1) & (frame.index > 0))
    return frame, y.to_numpy()


def rows_of(frame):
    """The rows as mappings, None where a value is missing."""
    return [{name: None if pd.isna(value) else value for name, value in row.items()} for row in frame.to_dict("records")]


@pytest.mark.parametrize("by", ["loop", "run", "ids"])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_model_predicts_a_file_as_it_predicts_rows(capsys, tmp_path, name, by):
    frame, y = weather(130)
    labels = np.where(y > 2, "high", "low").tolist() if name == "classifier" else y.tolist()
    model, saved = LEARNERS[name](), None
    if by == "run":
        model.run(frame[:120], labels[:120])
    elif by == "loop":
        for row, label in zip(rows_of(frame[:120]), labels, strict=False):
            model.learn_one(row, label)
    else:
        saved = dl.Pending(model)
        for place, row in enumerate(rows_of(frame[:120])):
            saved.predict_one(place, row)
            if place >= 3:
                saved.learn_one(place - 3, labels[place - 3])
    (saved or model).save(tmp_path / "m")
    ahead = frame[120:].assign(town=["Oslo", "Bern", None, "Rome", "Oslo"] * 2)
    loaded = dl.load(tmp_path / "m")
    learner = loaded.learner if by == "ids" else loaded
    expected = [learner.ask(row).prediction for row in rows_of(ahead)] if by == "ids" else learner.predict(ahead).tolist()
    for ending in ENDINGS:
        source = write(pa.Table.from_pandas(ahead, preserve_index=False), tmp_path / f"a{ending}")
        code, _, err = call(capsys, "predict", tmp_path / "m", source, "--out", tmp_path / "out.jsonl", "--quiet")
        assert (code, err) == (0, "")
        found = [json.loads(line)["prediction"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
        assert found == expected if name == "classifier" else np.allclose(found, expected, rtol=1e-12)


FLEETS = {
    "numbers": (lambda: dl.Fleet(dl.RLS(), intervals=True), ["wind", "wet"]),
    "numbered": (lambda: dl.Fleet(dl.NLMS(), 3, intervals=True), ["wind", "wet"]),
    "text": (lambda: dl.Fleet(dl.Auto(missing="mean")), ["at", "wind", "town", "wet"]),
    "by column": (lambda: dl.Fleet(dl.RLS(missing=WORDS)), ["at", "wind", "town", "wet"]),
    "classifier": (lambda: dl.Fleet(dl.Classifier(dl.RLS(missing="skip"))), ["wind", "town"]),
}


@pytest.mark.parametrize("name", FLEETS)
def test_a_fleet_predicts_a_file_as_it_predicts_rows(capsys, tmp_path, name):
    make, columns = FLEETS[name]
    frame, y = weather(130)
    frame = frame[columns].fillna({"wind": 0.5}) if name.startswith("number") or name == "classifier" else frame[columns]
    frame = frame.fillna({"town": "Rome"}) if name == "classifier" else frame
    keys = np.arange(130) % 3 if name == "numbered" else np.array(["x", "y", "17"])[np.arange(130) % 3]
    labels = np.where(y > 2, "high", "low") if name == "classifier" else y
    fleet = make()
    fleet.run(keys[:120], frame[:120].astype(dict.fromkeys(["wet"], float) if "wet" in frame else {}), labels[:120])
    fleet.save(tmp_path / "m")
    ahead = frame[120:].reset_index(drop=True)
    level, out = [] if name == "classifier" else ["--level", "0.8"], tmp_path / "out.jsonl"
    table = pa.Table.from_pandas(ahead.assign(id=keys[120:], other="o"), preserve_index=False)
    ahead = ahead.astype({"wet": float}) if "wet" in ahead else ahead
    expected = fleet.predict_many(keys[120:], ahead)
    ends = fleet.predict_intervals(keys[120:], ahead, 0.8) if level else None
    for ending in ENDINGS:
        source = write(table, tmp_path / f"a{ending}")
        code, _, err = call(capsys, "predict", tmp_path / "m", source, "--key", "id", "--out", out, "--quiet", *level)
        assert (code, err) == (0, "")
        found = [json.loads(line) for line in out.read_text().splitlines()]
        assert [row["key"] for row in found] == [str(key) for key in keys[120:]]
        predicted = [row["prediction"] for row in found]
        assert predicted == list(expected) if name == "classifier" else np.allclose(predicted, expected, rtol=1e-12)
        if level:
            assert np.allclose([[row["lower"], row["upper"]] for row in found], np.transpose(ends), rtol=1e-12)


def test_the_column_of_a_fleets_keys_must_be_named(capsys, tmp_path):
    frame, y = weather(60)
    numbers = frame[["wind", "wet"]].fillna(0.0).astype(float)
    fleet, model = dl.Fleet(dl.RLS()), dl.RLS()
    fleet.run(["a", "b"] * 30, numbers, y)
    model.run(numbers, y)
    fleet.save(tmp_path / "fleet")
    model.save(tmp_path / "model")
    source = write(pa.Table.from_pandas(numbers.assign(id="a"), preserve_index=False), tmp_path / "a.csv")
    for name, options, words in (
        ("fleet", (), "holds a Fleet saved from Python; --key names the column of its keys"),
        ("fleet", ("--key", "name"), "there is no column 'name'"),
        ("fleet", ("--key", "id", "--level", "0.8"), "the fleet keeps no intervals; create it with intervals=True"),
        ("model", ("--key", "id"), "--key is for a Fleet saved from Python; this is one model"),
    ):
        code, out, err = call(capsys, "predict", tmp_path / name, source, *options)
        assert (code, out, words in " ".join(err.split())) == (1, "", True)
