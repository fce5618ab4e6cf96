"""Models in MLflow predict what they predict without it."""

import json
import os
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("mlflow")

import mlflow

import driftline as dl
import driftline.mlflow
from driftline.client import Client
from tests import patience
from tests.test_consume.servers import free_port
from tests.test_docs.pages import PAGES, blocks
from tests.test_serve.process import Process

pytestmark = pytest.mark.filterwarnings("ignore")  # of mlflow and what it imports


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    """A store of runs and models of its own, in files."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"file://{tmp_path}/mlruns")
    yield
    while mlflow.active_run():
        mlflow.end_run()


def rows(count=60, seed=0):
    rng = np.random.default_rng(seed)
    when = pd.date_range("2026-01-01", periods=count, freq="h")
    return pd.DataFrame(
        {"when": when, "day": rng.choice(["mo", "tu"], count), "wind": rng.normal(size=count)}
    ), when.hour + 0.0


def test_a_learner_with_columns_is_logged_and_loaded():
    X, y = rows()
    model = dl.RLS(missing="mean").fit(X, y)
    about = dl.mlflow.log_model(model, "load")
    assert dl.mlflow.load_model(about.model_uri).to_bytes() == model.to_bytes()
    found = mlflow.pyfunc.load_model(about.model_uri)
    assert np.array_equal(found.predict(X), model.predict(X))
    assert {spec.name: spec.type.name for spec in about.signature.inputs} == {
        "when": "datetime",
        "day": "string",
        "wind": "double",
    }
    assert len(found.predict(found.input_example)) == 1
    assert found.get_raw_model().to_bytes() == model.to_bytes()


def test_a_level_gives_intervals():
    X, y = rows(400)
    model = dl.RLS().fit(X[["wind"]], y)
    found = mlflow.pyfunc.load_model(dl.mlflow.log_model(model, "load", level=0.8).model_uri).predict(X[["wind"]])
    lower, upper = model.predict_intervals(X[["wind"]], 0.8)
    expected = pd.DataFrame({"prediction": model.predict(X[["wind"]]), "lower": lower, "upper": upper})
    pd.testing.assert_frame_equal(found, expected)
    with pytest.raises(ValueError, match="level"):
        dl.mlflow.save_model(model, "elsewhere", level=1.5)


def test_a_learner_of_arrays():
    X, y = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50.0)
    model = dl.Auto().fit(X, y)
    found = mlflow.pyfunc.load_model(dl.mlflow.log_model(model, "arrays").model_uri)
    assert np.array_equal(found.predict(X), model.predict(X))


def test_a_fleet_takes_a_column_of_keys():
    X, y = rows()
    keys = np.where(np.arange(60) % 2, "odd", "even")
    fleet = dl.Fleet(dl.RLS())
    fleet.learn_many(keys, X[["wind"]], y)
    about = dl.mlflow.log_model(fleet, "fleet")
    found = mlflow.pyfunc.load_model(about.model_uri)
    assert np.array_equal(found.predict(X[["wind"]].assign(key=keys)), fleet.predict_many(keys, X[["wind"]]))
    assert [spec.name for spec in about.signature.inputs] == ["key", "wind"]
    loaded = dl.mlflow.load_model(about.model_uri)
    loaded.learn_one("odd", {"wind": 1.0}, 2.0)  # goes on
    assert loaded.summary()["rows"].sum() == 61


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match=r"mlflow\.save_model: model must be a learner or a fleet, got int"):
        dl.mlflow.save_model(3, "x")


def test_the_recipe_pushes_a_registered_version_into_the_service(tmp_path):
    text = "\n".join(text for kind, text in blocks(PAGES["docs/mlflow.md"]) if kind == "python")
    with Process(tmp_path / "service") as service:
        X, y = rows()
        address = f"http://127.0.0.1:{service.port}"
        names = {"X": X, "y": y, "dl": dl}
        exec(compile(text.replace("http://127.0.0.1:8440", address), "docs/mlflow.md", "exec"), names)
        with Client(address) as client:
            assert client.aliases() == {"load": "load-1"}
            assert client.export("load") == names["model"].to_bytes()


def test_mlflow_serves_it(tmp_path):
    pytest.importorskip("uvicorn")
    pytest.importorskip("fastapi")
    X, y = rows()
    model = dl.RLS().fit(X[["wind"]], y)
    dl.mlflow.save_model(model, tmp_path / "saved")
    port = free_port()
    command = [sys.executable, "-m", "mlflow", "models", "serve", "-m", str(tmp_path / "saved"), "--env-manager", "local"]
    command += ["-p", str(port), "-h", "127.0.0.1"]
    with open(tmp_path / "log", "w") as log:
        environment = {**os.environ, "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
        server = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, env=environment)
    try:
        body = json.dumps({"dataframe_split": X[["wind"]].to_dict(orient="split")}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}/invocations", body, {"content-type": "application/json"})
        until = time.monotonic() + patience.SECONDS
        while True:
            try:
                with urllib.request.urlopen(request) as answer:
                    found = json.loads(answer.read())["predictions"]
                break
            except urllib.error.URLError as error:
                if isinstance(error, urllib.error.HTTPError) or server.poll() is not None or time.monotonic() > until:
                    raise AssertionError((tmp_path / "log").read_text()) from error
                time.sleep(0.1)
    finally:
        if server.poll() is None:
            os.killpg(server.pid, 15)
        server.wait(patience.SECONDS)
    assert found == model.predict(X[["wind"]]).tolist()
