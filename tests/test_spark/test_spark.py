"""Spark gives, bit for bit, what one fleet gives, each row once, even where it is killed."""

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import functions as F  # noqa: N812

import driftline as dl
from driftline.spark import fit, follow, replay
from tests import patience

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


def follow_until_killed(folder, batch, pause):
    """Kills the process that follows a stream, a while after a batch began; whether it had not ended before."""
    command = [sys.executable, "-m", "tests.test_spark.killed", str(folder)]
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + patience.SECONDS
    while not (folder / "checkpoint" / "offsets" / str(batch)).exists() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(pause)
    alive = process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return alive


def test_a_stream_that_is_killed_gives_every_row_once(spark, rows, tmp_path):
    write_parts(rows, tmp_path / "in", 4)
    rng = np.random.default_rng(0)  # how far into a batch: its reading, the state, the sink's files and the commit
    for batch in (0, 2):
        assert follow_until_killed(tmp_path, batch, rng.uniform(0, 0.6))
    assert not (tmp_path / "checkpoint" / "commits" / "3").exists()
    start(spark, tmp_path).awaitTermination()
    found = in_order(spark.read.parquet(str(tmp_path / "out")))
    run = dl.Fleet(dl.RLS(), named=True).run(rows["sensor"], rows[["a", "b"]], rows["y"])
    pd.testing.assert_frame_equal(found[rows.columns.tolist()], rows)
    assert np.array_equal(found["prediction"], run.predictions)
    write_parts(rows[:10], tmp_path / "more", 1)
    (tmp_path / "more" / "0.parquet").rename(tmp_path / "in" / "9.parquet")
    for options, words in (
        ({"learner": dl.RLS(forgetting=0.5)}, r"spark\.follow: the checkpoint was made with RLS\(forgetting=0\.99"),
        ({"features": ["b", "a"]}, "feature names should match"),
        ({"level": 0.9}, r"spark\.follow: the checkpoint was made without a level"),
    ):
        with pytest.raises(Exception, match=words):
            start(spark, tmp_path, **options).awaitTermination()
    start(spark, tmp_path).awaitTermination()  # nothing was lost
    assert spark.read.parquet(str(tmp_path / "out")).count() == len(rows) + 10


LATE = SCHEMA + ", order string"


def late_rows(rows, seed=0):
    """Each row without its label, and a later one, of the same sensor and order, that brings it and nothing else."""
    rng = np.random.default_rng(seed)
    asked = rows.assign(order=[f"o{t}" for t in rows["t"]], at=rows["t"].astype(float), y=np.nan)
    told = asked.assign(y=rows["y"], at=rows["t"] + rng.uniform(0.1, 900, len(rows)), a=np.nan, b=np.nan)
    whole = pd.concat([asked, told]).sort_values("at", ignore_index=True).drop(columns="at")
    return whole.assign(t=np.arange(len(whole)))


def pending_predictions(late):
    """By a Pending for each sensor."""
    models, expected, said = {}, [], {}
    for row in late.itertuples():
        model = models.setdefault(row.sensor, dl.Pending(dl.RLS()))
        if np.isnan(row.y):
            said[row.order] = model.predict_one(row.order, {"a": row.a, "b": row.b})
        else:
            model.learn_one(row.order, row.y)
        expected.append(said[row.order])
    return expected


def test_labels_that_come_later_are_learned_as_by_a_pending_for_each_key(spark, rows, tmp_path):
    late = late_rows(rows)
    write_parts(late, tmp_path / "in", 3)
    start(spark, tmp_path, schema=LATE, id="order").awaitTermination()
    found = in_order(spark.read.parquet(str(tmp_path / "out")))
    assert np.array_equal(found["prediction"], pending_predictions(late))
    assert found["y"].notna().sum() == len(rows)


def test_ids_that_do_not_fit_are_named(spark, rows, tmp_path):
    late = late_rows(rows[:40])
    twice = pd.concat([late[:1], late[:1].assign(t=len(late))], ignore_index=True)
    alone = late[late["y"].notna()][:1]
    nameless = late.assign(order=None).astype({"order": "string"})
    for number, (table, words) in enumerate(
        ((twice, "is already waiting"), (alone, "the column 'a' is null for the id"), (nameless, "the column 'order' has"))
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        write_parts(table, folder / "in", 1)
        with pytest.raises(Exception, match=rf"spark\.follow: .*{words}"):
            start(spark, folder, schema=LATE, id="order").awaitTermination()


def test_keys_that_come_no_more_are_let_go_and_start_anew(spark, rows, tmp_path):
    """s0 is away for 2,000 rows, longer than idle; s1 for 400, which is shorter."""
    sensor, t = rows["sensor"], rows["t"]
    away = ((sensor == "s0") & t.between(1000, 3000)) | ((sensor == "s1") & t.between(900, 1300))
    some = rows[~away].reset_index(drop=True)
    write_parts(some, tmp_path / "in", 4)
    start(spark, tmp_path, buckets=2, idle=900).awaitTermination()
    found = in_order(spark.read.parquet(str(tmp_path / "out")))
    fleet, expected = dl.Fleet(dl.RLS(), named=True), []
    for part in np.array_split(np.arange(len(some)), 4):
        batch = some.iloc[part]
        expected += [*fleet.run(batch["sensor"], batch[["a", "b"]], batch["y"]).predictions]
        last = some.iloc[: part[-1] + 1].groupby("sensor")["t"].max()
        fleet.drop([key for key in fleet.keys_ if last[key] < batch["t"].max() - 900])
    kept = dl.Fleet(dl.RLS(), named=True).run(some["sensor"], some[["a", "b"]], some["y"]).predictions
    assert np.array_equal(found["prediction"], expected)
    assert set(some["sensor"][np.array(expected) != kept]) == {"s0"}


def test_alarms_are_rows_of_their_own(spark, tmp_path):
    rows = sensor_rows(6000, sensors=10, seed=3)
    drifted = rows["sensor"].isin(["s3", "s8"]) & (rows["t"] >= 3000)
    rows.loc[drifted, "y"] += 6 * rows.loc[drifted, "a"]
    write_parts(rows, tmp_path / "in", 3)
    start(spark, tmp_path, alarms=True).awaitTermination()
    found = spark.read.parquet(str(tmp_path / "out")).toPandas().sort_values("t", ignore_index=True)
    once = found[~found["alarm"]].drop(columns="alarm").reset_index(drop=True)
    run = dl.Fleet(dl.RLS(), named=True, alarms=True).run(rows["sensor"], rows[["a", "b"]], rows["y"])
    pd.testing.assert_frame_equal(once, rows.assign(prediction=run.predictions))
    raised = found[found["alarm"]].drop(columns="alarm").reset_index(drop=True)
    pd.testing.assert_frame_equal(raised, once.iloc[run.alarms].reset_index(drop=True))
    assert set(raised["sensor"]) == {"s3", "s8"}


def test_another_number_of_buckets_starts_from_the_models_of_an_old_checkpoint(spark, rows, tmp_path):
    """Rows that wait go along: half of the labels come after the change."""
    late = late_rows(rows)
    old, new = tmp_path / "old", tmp_path / "new"
    options = {"schema": LATE, "id": "order", "idle": 5000}
    for folder, part in ((old, late[: len(late) // 2]), (new, late[len(late) // 2 :])):
        folder.mkdir()
        write_parts(part, folder / "in", 2)
    start(spark, old, buckets=3, **options).awaitTermination()
    write_parts(late[:200], old / "more", 1)
    (old / "more" / "0.parquet").rename(old / "in" / "9.parquet")
    with pytest.raises(Exception, match=r"spark\.follow: the checkpoint was not made with 7 buckets; use start= to change"):
        start(spark, old, buckets=7, **options).awaitTermination()
    start(spark, new, buckets=7, start=str(old / "checkpoint"), **options).awaitTermination()
    found = pd.concat([spark.read.parquet(str(folder / "out")).toPandas() for folder in (old, new)])
    found = found.sort_values("t", ignore_index=True)
    assert np.array_equal(found["prediction"], pending_predictions(late))


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
    with pytest.raises(ValueError, match=r"spark\.follow: stream must be a streaming DataFrame; use replay for history"):
        follow(frame, dl.RLS(), **COLUMNS)
    with pytest.raises(ValueError, match=r"spark\.follow: buckets must be"):
        follow(frame, dl.RLS(), **COLUMNS, buckets=0)
    stream = spark.readStream.schema(SCHEMA).parquet(str(Path(__file__).parent))
    for options, words in (
        ({"idle": timedelta(days=1)}, "idle must be a timedelta where order holds times, and a number where it holds"),
        ({"id": "city"}, "id is 'city', but the columns are sensor, t, a, b, y"),
        ({"id": "sensor", "level": 0.9}, "level cannot be combined with id"),
        ({"id": "sensor", "learner": dl.Auto()}, r"late labels \(id=\) need a learner of fixed size, not Auto"),
        ({"idle": -1}, "idle must be"),
    ):
        with pytest.raises((TypeError, ValueError), match=rf"^spark\.follow: {words}"):
            follow(stream, **{"learner": dl.RLS(), **COLUMNS, **options})
    for learner, words in (
        (dl.Auto(), "learner must be Ridge or RLS, got Auto; replay takes any learner"),
        (dl.RLS(keep_prior=True), "RLS must have a constant forgetting and keep_prior=False"),
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
