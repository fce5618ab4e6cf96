"""Spark gives, bit for bit, what one fleet gives, each row once, even where it is killed."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import functions as F  # noqa: N812

import driftline as dl
from driftline.spark import fit, follow, replay

from .killed import start
from .session import COLUMNS, SCHEMA, sensor_rows, write_parts


@pytest.fixture(scope="module")
def rows():
    return sensor_rows()


@pytest.fixture(scope="module")
def frame(spark, rows):
    return spark.createDataFrame(rows.sample(frac=1, random_state=0), SCHEMA).repartition(3)


def in_order(found):
    table = found.toPandas().sort_values("t", ignore_index=True)
    assert table["t"].is_unique
    return table


@pytest.mark.parametrize("learner", [dl.RLS(), dl.Averaged(dl.RLS())], ids=repr)
def test_replay_is_one_fleet(frame, rows, learner):
    found = in_order(replay(frame, learner, **COLUMNS, level=0.9))
    fleet = dl.Fleet(learner, named=True, intervals=True)
    run = fleet.run(rows["sensor"], rows[["a", "b"]], rows["y"], level=0.9)
    assert found.columns.tolist() == [*rows.columns, "prediction", "lower", "upper"]
    pd.testing.assert_frame_equal(found[rows.columns.tolist()], rows)
    for name, expected in (("prediction", run.predictions), ("lower", run.lower), ("upper", run.upper)):
        assert np.array_equal(found[name], expected)


def test_classes_are_replayed_too(frame, rows):
    classes = frame.withColumn("y", F.when(F.col("y") > 0, "up").otherwise("down"))
    found = in_order(replay(classes, dl.Classifier(dl.RLS()), **COLUMNS))
    labels = np.where(rows["y"] > 0, "up", "down")
    run = dl.Fleet(dl.Classifier(dl.RLS()), named=True).run(rows["sensor"], rows[["a", "b"]], labels)
    assert found["prediction"].tolist() == run.predictions.tolist()


@pytest.mark.parametrize("learner", [dl.RLS(forgetting=0.999, ridge=0.5), dl.Ridge(intercept=False)], ids=repr)
def test_fit_is_one_learner_of_the_whole_history(frame, rows, learner):
    model = fit(frame, learner, order="t", features=["a", "b"], label="y")
    expected = learner.clone().fit(rows[["a", "b"]], rows["y"])
    assert type(model) is type(learner)
    assert model.n_seen_ == len(rows)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert np.abs(model.predict(rows[["a", "b"]]) - expected.predict(rows[["a", "b"]])).max() < 1e-12 * rows["y"].std()


def test_a_stream_that_is_killed_gives_every_row_once(spark, rows, tmp_path):
    write_parts(rows, tmp_path / "in", 6)
    command = [sys.executable, "-m", "tests.test_spark.killed", str(tmp_path)]
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    offsets = tmp_path / "checkpoint" / "offsets"
    deadline = time.monotonic() + 100
    while not (offsets / "2").exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)  # in the midst of the third batch
    process.wait()
    assert not (tmp_path / "checkpoint" / "commits" / "5").exists()
    start(spark, tmp_path).awaitTermination()
    found = in_order(spark.read.parquet(str(tmp_path / "out")))
    run = dl.Fleet(dl.RLS(), named=True).run(rows["sensor"], rows[["a", "b"]], rows["y"])
    pd.testing.assert_frame_equal(found[rows.columns.tolist()], rows)
    assert np.array_equal(found["prediction"], run.predictions)
    write_parts(rows[:10], tmp_path / "more", 1)
    (tmp_path / "more" / "0.parquet").rename(tmp_path / "in" / "9.parquet")
    for options, words in (
        ({"learner": dl.RLS(forgetting=0.5)}, r"spark\.follow: the checkpoint is one of RLS\(forgetting=0\.99"),
        ({"features": ["b", "a"]}, "feature names should match"),
        ({"level": 0.9}, r"spark\.follow: the checkpoint was made without a level"),
    ):
        with pytest.raises(Exception, match=words):
            start(spark, tmp_path, **options).awaitTermination()
    start(spark, tmp_path).awaitTermination()  # nothing was lost
    assert spark.read.parquet(str(tmp_path / "out")).count() == len(rows) + 10


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"key": "city"}, r"spark\.replay: key is 'city', but the columns are sensor, t, a, b, y"),
        ({"order": "time"}, "order is 'time'"),
        ({"features": ["a", "z"]}, "a feature is 'z'"),
        ({"features": ["a", "a"]}, "a feature is named twice"),
        ({"features": []}, "features must name one column or more"),
        ({"features": ["a", "sensor"]}, "the column 'sensor' must hold numbers, got string"),
        ({"label": "sensor"}, "the column 'sensor' must hold numbers, got string"),
        ({"level": 1.5}, "level must be"),
    ],
)
def test_columns_that_do_not_fit_are_refused_before_anything_runs(frame, change, words):
    with pytest.raises(ValueError, match=words):
        replay(frame, dl.RLS(), **{**COLUMNS, **change})


def test_what_no_verb_takes(spark, frame):
    with pytest.raises(TypeError, match=r"spark\.replay: features must be a list of columns, got 'a'"):
        replay(frame, dl.RLS(), **{**COLUMNS, "features": "a"})
    with pytest.raises(TypeError, match=r"spark\.replay: learner must be a driftline learner"):
        replay(frame, dl.RLS, **COLUMNS)
    with pytest.raises(ValueError, match="the rows have a column 'prediction' already"):
        replay(frame.withColumn("prediction", F.lit(1.0)), dl.RLS(), **COLUMNS)
    with pytest.raises(ValueError, match=r"spark\.follow: stream is no streaming DataFrame; replay is for history"):
        follow(frame, dl.RLS(), **COLUMNS)
    with pytest.raises(ValueError, match=r"spark\.follow: buckets must be"):
        follow(frame, dl.RLS(), **COLUMNS, buckets=0)
    for learner, words in (
        (dl.Auto(), "learner must be Ridge or RLS, got Auto; replay takes any learner"),
        (dl.RLS(keep_prior=True), "RLS must have a constant forgetting and no keep_prior"),
        (dl.RLS(dtype="float32"), "dtype must be 'float64'"),
        (dl.RLS(missing="skip"), "missing must be 'raise'"),
    ):
        with pytest.raises((TypeError, ValueError), match=rf"^spark\.fit: .*{words}"):
            fit(frame, learner, order="t", features=["a"], label="y")


@pytest.mark.parametrize("column", ["sensor", "a", "y"])
def test_nulls_are_named(frame, column):
    holes = frame.withColumn(column, F.when(F.col("t") == 100, None).otherwise(F.col(column)))
    with pytest.raises(Exception, match=rf"spark\.replay: the column '{column}' has 1 null values among"):
        replay(holes, dl.RLS(), **COLUMNS).count()


def test_rows_with_nulls_are_skipped_where_the_learner_skips_them(frame, rows):
    holes = frame.withColumn("a", F.when(F.col("t") % 10 == 0, None).otherwise(F.col("a")))
    found = in_order(replay(holes, dl.RLS(missing="skip"), **COLUMNS))
    X = rows[["a", "b"]].copy()
    X.loc[::10, "a"] = np.nan
    run = dl.Fleet(dl.RLS(missing="skip"), named=True).run(rows["sensor"], X, rows["y"])
    assert np.array_equal(found["prediction"], run.predictions, equal_nan=True)
    assert found["prediction"].isna().sum() == 400
