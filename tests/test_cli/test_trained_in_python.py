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


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("by", ["loop", "run", "ids"])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_model_predicts_a_file_as_it_predicts_rows(capsys, tmp_path, name, by, ending):
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
    source = write(pa.Table.from_pandas(ahead, preserve_index=False), tmp_path / f"a{ending}")
    code, _, err = call(capsys, "predict", tmp_path / "m", source, "--out", tmp_path / "out.jsonl", "--quiet")
    assert (code, err) == (0, "")
    found = [json.loads(line)["prediction"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    loaded = dl.load(tmp_path / "m")
    learner = loaded.learner if by == "ids" else loaded
    first = learner.ask(rows_of(ahead[:1])[0]).ahead
    steps = [None if by == "ids" else first + place for place in range(len(ahead))]
    expected = [learner.ask(row, step).prediction for row, step in zip(rows_of(ahead), steps, strict=True)]
    assert found == expected if name == "classifier" else np.allclose(found, expected, rtol=1e-12)
