"""Spark gives the results of one fleet bit for bit, and each row once, even if it is killed."""

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import functions as F  # noqa: N812

import driftline as dl
from driftline.spark import fit, replay

from .killed import start
from .session import COLUMNS, SCHEMA, drifting_rows, in_order, write_parts

QUANTILES = (0.1, 0.5, 0.95)


@pytest.mark.parametrize("learner", [dl.RLS(), dl.Averaged(dl.RLS())], ids=repr)
def test_replay_equals_one_fleet(frame, rows, learner):
    found = in_order(replay(frame, learner, **COLUMNS, level=0.9, quantiles=QUANTILES))
    fleet = dl.Fleet(learner, named=True, intervals=True)
    run = fleet.run(rows["sensor"], rows[["a", "b"]], rows["y"], level=0.9, quantiles=QUANTILES)
    assert found.columns.tolist() == [*rows.columns, "prediction", "lower", "upper", "quantiles"]
    assert np.array_equal(np.stack(found["quantiles"]), run.quantiles)
    assert np.isfinite(run.quantiles[-1]).all()
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
def test_fit_equals_one_learner_on_the_whole_history(frame, rows, learner):
    model = fit(frame, learner, order="t", features=["a", "b"], label="y")
    expected = learner.clone().fit(rows[["a", "b"]], rows["y"])
    assert type(model) is type(learner)
    assert model.n_seen_ == len(rows)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert np.abs(model.predict(rows[["a", "b"]]) - expected.predict(rows[["a", "b"]])).max() < 1e-12 * rows["y"].std()


LATE = SCHEMA + ", order string"


def late_rows(rows, seed=0):
    """Each row without its label, and later a row of the same sensor and order that contains only the label."""
    rng = np.random.default_rng(seed)
    asked = rows.assign(order=[f"o{t}" for t in rows["t"]], at=rows["t"].astype(float), y=np.nan)
    told = asked.assign(y=rows["y"], at=rows["t"] + rng.uniform(0.1, 900, len(rows)), a=np.nan, b=np.nan)
    whole = pd.concat([asked, told]).sort_values("at", ignore_index=True).drop(columns="at")
    return whole.assign(t=np.arange(len(whole)))


def pending_predictions(late):
    """The predictions of a separate Pending for each sensor."""
    models, expected, predicted = {}, [], {}
    for row in late.itertuples():
        model = models.setdefault(row.sensor, dl.Pending(dl.RLS()))
        if np.isnan(row.y):
            predicted[row.order] = model.predict_one(row.order, {"a": row.a, "b": row.b})
        else:
            model.learn_one(row.order, row.y)
        expected.append(predicted[row.order])
    return expected


def test_idle_keys_are_dropped_and_start_again_from_scratch(spark, rows, tmp_path):
    """s0 is absent for 2,000 rows, longer than `idle`; s1 for 400, which is shorter."""
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


def test_late_labels_are_learned_as_by_a_pending_for_each_key_even_after_rebucketing(spark, rows, tmp_path):
    """The second query starts from the models and pending rows of the first: half of the labels arrive later."""
    late = late_rows(rows)
    old, new = tmp_path / "old", tmp_path / "new"
    options = {"schema": LATE, "id": "order", "idle": 5000}
    for folder, part in ((old, late[: len(late) // 2]), (new, late[len(late) // 2 :])):
        folder.mkdir()
        write_parts(part, folder / "in", 2)
    start(spark, old, buckets=3, **options).awaitTermination()
    with pytest.raises(ValueError, match=r"spark\.follow: the checkpoint was made with id"):
        start(spark, new, buckets=7, start=str(old / "checkpoint"), schema=LATE, idle=5000)
    start(spark, new, buckets=7, start=str(old / "checkpoint"), **options).awaitTermination()
    found = pd.concat([spark.read.parquet(str(folder / "out")).toPandas() for folder in (old, new)])
    found = found.sort_values("t", ignore_index=True)
    assert np.array_equal(found["prediction"], pending_predictions(late))
    assert found["y"].notna().sum() == len(rows)


def test_a_killed_stream_gives_every_row_once(spark, rows, killed):
    folder = killed.result()
    assert not (folder / "checkpoint" / "commits" / "3").exists()
    start(spark, folder).awaitTermination()
    found = in_order(spark.read.parquet(str(folder / "out")))
    run = dl.Fleet(dl.RLS(), named=True).run(rows["sensor"], rows[["a", "b"]], rows["y"])
    pd.testing.assert_frame_equal(found[rows.columns.tolist()], rows)
    assert np.array_equal(found["prediction"], run.predictions)


def test_a_cluster_matches_one_machine_bit_for_bit_and_gives_alarms_as_separate_rows(spark, cluster):
    """Executors are separate processes here: they receive the learner and the package as on any cluster."""
    folder, rows = cluster.result(), drifting_rows()
    run = dl.Fleet(dl.RLS(), named=True, alarms=True).run(rows["sensor"], rows[["a", "b"]], rows["y"])
    assert np.array_equal(in_order(spark.read.parquet(str(folder / "replayed")))["prediction"], run.predictions)
    found = spark.read.parquet(str(folder / "out")).toPandas().sort_values("t", ignore_index=True)
    once = found[~found["alarm"]].drop(columns="alarm").reset_index(drop=True)
    pd.testing.assert_frame_equal(once, rows.assign(prediction=run.predictions))
    raised = found[found["alarm"]].drop(columns="alarm").reset_index(drop=True)
    pd.testing.assert_frame_equal(raised, once.iloc[run.alarms].reset_index(drop=True))
    assert set(raised["sensor"]) == {"s3", "s8"}


@pytest.fixture(scope="module")
def lender(rows):
    """A pooled fleet that has learned other sensors."""
    fleet = dl.Fleet(dl.RLS(), pooled=True, named=True)
    fleet.learn_many([f"old {sensor}" for sensor in rows["sensor"]], rows[["a", "b"]], rows["y"])
    return fleet


def test_a_pool_that_was_fitted_first_serves_every_key_alike(spark, frame, rows, lender, tmp_path):
    """The same bits as one fleet that takes the pool, however the keys are divided."""
    fleet = dl.Fleet(dl.RLS(), named=True, pooled=lender)
    run = fleet.run(rows["sensor"], rows[["a", "b"]], rows["y"], level=0.9)
    assert np.isfinite(run.lower).all()
    found = in_order(replay(frame, dl.RLS(), **COLUMNS, level=0.9, pooled=lender))
    assert np.array_equal(found["prediction"], run.predictions)
    assert np.array_equal(found["upper"], run.upper)
    write_parts(rows, tmp_path / "in", 3)
    start(spark, tmp_path, buckets=3, level=0.9, pooled=lender).awaitTermination()
    followed = in_order(spark.read.parquet(str(tmp_path / "out")))
    assert np.array_equal(followed["prediction"], run.predictions)
    assert np.array_equal(followed["lower"], run.lower)
    write_parts(rows[:50], tmp_path / "more", 1)
    for file in (tmp_path / "more").iterdir():
        file.rename(tmp_path / "in" / f"more {file.name}")
    with pytest.raises(Exception, match="the checkpoint was made with the pool"):
        start(spark, tmp_path, buckets=3, level=0.9).awaitTermination()


def test_what_cannot_be_a_pool_is_refused(spark, frame, rows, lender, tmp_path):
    for pooled, error, words in [
        (dl.RLS(), TypeError, "spark.replay: pooled must be a pooled fleet"),
        (dl.Fleet(dl.RLS()), ValueError, "must be a pooled one that has learned rows"),
    ]:
        with pytest.raises(error, match=words):
            replay(frame, dl.RLS(), **COLUMNS, pooled=pooled)
    write_parts(rows[:10], tmp_path / "in", 1)
    with pytest.raises(ValueError, match="id cannot be combined with pooled"):
        start(spark, tmp_path, schema=LATE, id="order", pooled=lender)
