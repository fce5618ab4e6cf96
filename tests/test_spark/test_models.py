"""Models out of a checkpoint or a history, the estimator, workers without driftline, and Connect."""

import subprocess
import sys

import numpy as np
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import functions as F  # noqa: N812

import driftline as dl
from driftline.spark import DriftlineEstimator, DriftlineModel, models, workers

from .killed import start
from .session import COLUMNS, write_parts


def files(fleet):
    return {key: fleet[key].to_bytes() for key in fleet.keys_}


def fleet_of(learner, rows):
    fleet = dl.Fleet(learner, named=True)
    fleet.learn_many(rows["sensor"], rows[["a", "b"]], rows["y"])
    return fleet


@pytest.mark.parametrize("learner", [dl.RLS(), dl.Averaged(dl.RLS())], ids=repr)
def test_models_of_a_history_equal_those_of_a_fleet(frame, rows, learner):
    found, expected = models(frame, learner, **COLUMNS), fleet_of(learner, rows)
    assert files(found.fleet()) == files(expected)
    table = {row["key"]: row for row in found.table.collect()}
    assert {key: bytes(row["model"]) for key, row in table.items()} == files(expected)
    assert {key: row["rows"] for key, row in table.items()} == rows.groupby("sensor").size().to_dict()


def test_a_task_passes_models_on_before_it_has_too_many(spark):
    rows = spark.range(5000).select((F.col("id") % 2500).alias("sensor"), F.col("id").alias("t"), F.rand(1).alias("a"))
    rows = rows.withColumn("b", F.col("a") * F.col("a")).withColumn("y", F.col("a") + 1).cache()
    found, given = models(rows, dl.RLS(), **COLUMNS).fleet(), rows.toPandas().sort_values("t")
    assert files(found) == files(fleet_of(dl.RLS(), given))


def test_models_of_a_checkpoint_equal_those_of_a_fleet(spark, rows, tmp_path):
    write_parts(rows, tmp_path / "in", 3)
    start(spark, tmp_path, buckets=3).awaitTermination()
    found = models(str(tmp_path / "checkpoint"))
    assert files(found.fleet()) == files(fleet_of(dl.RLS(), rows))
    assert found.table.schema["key"].dataType.simpleString() == "string"
    assert {row["key"] for row in found.table.select("key").collect()} == {*rows["sensor"]}
    with pytest.raises(ValueError, match="is no checkpoint of follow"):
        models(str(tmp_path / "out"))


def test_an_estimator_with_keys_is_saved_and_loaded(frame, rows, tmp_path):
    estimator = DriftlineEstimator(learner=dl.RLS(forgetting=0.98), **COLUMNS, level=0.9)
    estimator.write().overwrite().save(str(tmp_path / "estimator"))
    again = DriftlineEstimator.load(str(tmp_path / "estimator"))
    assert again.getLearner().get_params() == dl.RLS(forgetting=0.98).get_params()
    model = again.fit(frame)
    model.save(str(tmp_path / "model"))
    loaded = DriftlineModel.load(str(tmp_path / "model"))
    expected = dl.Fleet(dl.RLS(forgetting=0.98), named=True, intervals=True)
    expected.run(rows["sensor"], rows[["a", "b"]], rows["y"])
    assert files(loaded.model) == files(expected)
    found = loaded.transform(frame.drop("y")).toPandas().sort_values("t")
    assert found["prediction"].tolist() == expected.predict_many(rows["sensor"], rows[["a", "b"]]).tolist()
    lower, upper = expected.predict_intervals(rows["sensor"], rows[["a", "b"]], 0.9)
    assert (found["lower"].tolist(), found["upper"].tolist()) == (lower.tolist(), upper.tolist())
    assert loaded.uid == again.uid


def test_a_pipeline_with_vectors_is_saved_and_loaded(frame, rows, tmp_path):
    stages = [VectorAssembler(inputCols=["a", "b"], outputCol="x")]
    learner = dl.Averaged(dl.RLS())  # row by row, in one task
    stages.append(DriftlineEstimator(learner=learner, features="x", order="t", label="y", prediction="said"))
    Pipeline(stages=stages).fit(frame).save(str(tmp_path / "pipeline"))
    found = PipelineModel.load(str(tmp_path / "pipeline")).transform(frame).toPandas().sort_values("t")
    expected = learner.clone().fit(rows[["a", "b"]].to_numpy(), rows["y"])
    assert np.array_equal(found["said"], expected.predict(rows[["a", "b"]].to_numpy()))
    assert found.columns.tolist() == [*rows.columns, "x", "said"]


def test_an_estimator_without_keys_merges_moments(frame, rows):
    model = DriftlineEstimator(learner=dl.Ridge(), features=["a", "b"], order="t", label="y").fit(frame)
    expected = dl.Ridge().fit(rows[["a", "b"]], rows["y"])
    assert np.allclose(model.model.coef_, expected.coef_, rtol=1e-10)
    with pytest.raises(ValueError, match="DriftlineEstimator: order is not set"):
        DriftlineEstimator(learner=dl.Ridge(), features=["a"], label="y").fit(frame)


def test_workers_without_driftline_are_named_before_the_first_task(frame, monkeypatch):
    monkeypatch.setattr(workers, "_CHECK", workers._CHECK.replace("import driftline", "import driftline_of_another_name"))
    monkeypatch.setattr(workers, "_checked", set())
    words = r"spark\.models: the workers cannot run driftline: .*ModuleNotFoundError.*set PYSPARK_PYTHON"
    with pytest.raises(RuntimeError, match=words):
        models(frame, dl.RLS(), **COLUMNS)


CONNECT = """
import sys
import numpy as np, driftline as dl
from pyspark.sql import SparkSession
from driftline.spark import DriftlineEstimator, fit, models, replay
from tests.test_spark.session import COLUMNS, sensor_rows
spark = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2").getOrCreate()
rows = sensor_rows(500, sensors=4)
frame = spark.createDataFrame(rows)
fleet = dl.Fleet(dl.RLS(), named=True)
run = fleet.run(rows["sensor"], rows[["a", "b"]], rows["y"])
found = replay(frame, dl.RLS(), **COLUMNS).toPandas().sort_values("t")
assert found["prediction"].tolist() == run.predictions.tolist()
taken = models(frame, dl.RLS(), **COLUMNS).fleet()
assert {key: taken[key].to_bytes() for key in taken.keys_} == {key: fleet[key].to_bytes() for key in fleet.keys_}
assert fit(frame, dl.RLS(), order="t", features=["a", "b"], label="y").n_seen_ == 500
model = DriftlineEstimator(learner=dl.RLS(), **COLUMNS).fit(frame)
model.save(sys.argv[1])
from driftline.spark import DriftlineModel
said = DriftlineModel.load(sys.argv[1]).transform(frame).toPandas().sort_values("t")["prediction"]
assert said.tolist() == fleet.predict_many(rows["sensor"], rows[["a", "b"]]).tolist()
spark.stop()
"""


def test_everything_but_streams_runs_over_connect(tmp_path):
    pytest.importorskip("grpc")
    ended = subprocess.run([sys.executable, "-c", CONNECT, str(tmp_path / "m")], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
