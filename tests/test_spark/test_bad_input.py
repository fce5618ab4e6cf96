"""Invalid rows, columns and checkpoints are named on the driver, and nothing is lost."""

import json
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

import driftline as dl
from driftline.spark import fit, follow, replay
from driftline.spark.rows import columns_of
from driftline.spark.settings import require_same, settings_of

from .killed import start
from .session import COLUMNS, SCHEMA, in_order, write_parts


@pytest.fixture(scope="module")
def stream(spark):
    return spark.readStream.schema(SCHEMA + ", at double, up boolean").parquet(str(Path(__file__).parent))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"key": "city"}, r"spark\.replay: key is 'city', but the columns are sensor, t, a, b, y"),
        ({"order": "time"}, "order is 'time'"),
        ({"features": ["a", "z"]}, "a feature is 'z'"),
        ({"features": ["a", "a"]}, "a feature is named twice"),
        ({"features": []}, "features must name one column or more"),
        ({"features": "a"}, "features must be a list of columns, got 'a'"),
        ({"features": None}, "features must be a list of columns, got None"),
        ({"features": ["a", "y"]}, "the label 'y' is one of the features"),
        ({"features": ["a", "sensor"]}, "'sensor' holds text or times, .* the models in a fleet of RLS have a fixed size"),
        ({"label": "sensor"}, "the column 'sensor' must hold numbers, got string"),
        ({"key": ["sensor"]}, r"key must be the name of a column, got \['sensor'\]"),
        ({"level": 1.5}, "level must be"),
        ({"learner": dl.RLS}, "learner must be a driftline learner"),
        ({"learner": dl.Classifier(dl.RLS()), "level": 0.9}, "level is for regressors"),
    ],
)
def test_invalid_columns_are_refused_before_anything_runs(frame, change, words):
    with pytest.raises((TypeError, ValueError), match=rf"^spark\.replay: .*{words}" if "replay" not in words else words):
        replay(frame, **{"learner": dl.RLS(), **COLUMNS, **change})


def test_replay_refuses_invalid_tables(frame, rows, stream):
    for table, words in (
        (rows, "the rows must be a DataFrame of Spark, got pandas"),
        (stream, "the rows are a stream; follow is for streams"),
        (frame.withColumn("Prediction", F.lit(1.0)), "the rows have a column 'prediction' already"),
        (frame.select("*", F.lit(1).alias("A")), "the rows have two columns 'a'"),
        (frame.withColumnRenamed("b", "b.c"), "Spark takes the dot in the column 'b.c' for a field"),
        (frame.withColumn("sensor", F.array("sensor")), "the column 'sensor' must hold single values, got array<string>"),
        (frame.withColumn("t", F.struct("t")), "the column 't' must hold single values, got struct<t:bigint>"),
    ):
        with pytest.raises((TypeError, ValueError), match=rf"^spark\.replay: {words}"):
            replay(table, dl.RLS(), **COLUMNS)


def test_follow_refuses_invalid_arguments(frame, stream):
    with pytest.raises(ValueError, match=r"spark\.follow: the rows are no stream; replay is for history"):
        follow(frame, dl.RLS(), **COLUMNS)
    for options, words in (
        ({"buckets": 0}, "buckets must be"),
        ({"buckets": 2.5}, "buckets must be"),
        ({"buckets": 2**31}, "buckets must be"),
        ({"key": "at"}, "the keys in 'at' must be texts or whole numbers, got double"),
        ({"learner": dl.RLS(forgetting=lambda t: 0.9)}, "a checkpoint cannot hold this learner: .*forgetting is a function"),
        ({"start": "/nowhere"}, "start is '/nowhere', which is no checkpoint of follow"),
        ({"idle": timedelta(days=1)}, "idle must be a timedelta where order holds times, and a number where it holds"),
        ({"idle": -1}, "idle must be"),
        ({"id": "city"}, "id is 'city', but the columns are sensor, t, a, b, y"),
        ({"id": "sensor", "level": 0.9}, "level cannot be combined with id"),
        ({"id": "sensor", "alarms": True, "learner": dl.Auto()}, "alarms with id need a learner of fixed size, not Auto"),
    ):
        with pytest.raises((TypeError, ValueError), match=rf"^spark\.follow: {words}"):
            follow(stream, **{"learner": dl.RLS(), **COLUMNS, **options})


def test_fit_refuses_invalid_arguments(frame):
    for learner, words in (
        (dl.Auto(), "learner must be Ridge or RLS, got Auto; replay takes any learner"),
        (dl.RLS(keep_prior=True), "RLS must have a constant forgetting and keep_prior=False"),
        (dl.RLS(dtype="float32"), "dtype must be 'float64'"),
        (dl.RLS(missing="skip"), "missing must be 'raise'"),
    ):
        with pytest.raises((TypeError, ValueError), match=rf"^spark\.fit: .*{words}"):
            fit(frame, learner, order="t", features=["a"], label="y")
    with pytest.raises(ValueError, match=r"^spark\.fit: there are no rows"):
        fit(frame.limit(0), dl.RLS(), order="t", features=["a"], label="y")


def with_hole(frame, column, value=None):
    return frame.withColumn(column, F.when(F.col("t") == 100, F.lit(value)).otherwise(F.col(column)))


@pytest.mark.parametrize("column", ["sensor", "t", "a", "y"])
def test_nulls_are_named(rows, column):
    table = pa.Table.from_pandas(rows[:10], preserve_index=False)
    holes = pc.if_else(pc.equal(table["t"], 7), None, table[column])
    batch = table.set_column(table.schema.get_field_index(column), column, holes).combine_chunks().to_batches()[0]
    with pytest.raises(ValueError, match=rf"^spark\.replay: the column '{column}' has 1 null values among 10 rows"):
        columns_of("spark.replay", **COLUMNS).features_of(batch, dl.RLS())


def test_nulls_nan_and_infinity_are_named_on_the_driver(frame, rows):
    with pytest.raises(Exception, match=r"spark\.replay: the column 'sensor' has 1 null values among"):
        replay(with_hole(frame, "sensor"), dl.RLS(), **COLUMNS).count()
    sensor = rows["sensor"][100]
    with pytest.raises(
        Exception, match=rf"spark\.replay: the column 'a' holds inf in the row with sensor = '{sensor}', t = 100"
    ):
        replay(with_hole(frame, "a", float("inf")), dl.RLS(), **COLUMNS).count()
    with pytest.raises(Exception, match=r"spark\.fit: the column 'y' holds nan in the row with t = 100"):
        fit(with_hole(frame, "y", float("nan")), dl.RLS(), order="t", features=["a"], label="y")


def test_rows_with_nulls_are_skipped_if_the_learner_skips_missing_values(frame, rows):
    holes = frame.withColumn("a", F.when(F.col("t") % 10 == 0, None).otherwise(F.col("a")))
    found = in_order(replay(holes, dl.RLS(missing="skip"), **COLUMNS))
    X = rows[["a", "b"]].copy()
    X.loc[::10, "a"] = np.nan
    run = dl.Fleet(dl.RLS(missing="skip"), named=True).run(rows["sensor"], X, rows["y"])
    assert np.array_equal(found["prediction"], run.predictions, equal_nan=True)
    assert found["prediction"].isna().sum() == 400


def settings(learner=None, features=("a", "b"), key_type="string", **options):
    schema = StructType().add("sensor", key_type).add("t", "long").add("y", "double")
    columns = columns_of("spark.follow", "sensor", "t", list(features), "y")
    options = {"level": None, "quantiles": None, "id": None, "idle": None, "alarms": False, "buckets": 5, **options}
    return settings_of(learner or dl.RLS(), columns, schema, **options)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"learner": dl.Kalman()}, r"was made with the learner RLS\(.*\), not Kalman"),
        ({"learner": dl.RLS(forgetting=0.5)}, r"was made with the learner RLS\(forgetting=0\.99.* not RLS\(forgetting=0\.5"),
        ({"features": ["a", "b", "t"]}, r"was made with the features \['a', 'b'\], not \['a', 'b', 't'\]"),
        ({"features": ["b", "a"]}, r"was made with the features \['a', 'b'\], not \['b', 'a'\]"),
        ({"key_type": "long"}, "was made with keys of the type 'string', not 'bigint'"),
        ({"level": 0.9}, "was made without level"),
        ({"quantiles": (0.1, 0.9)}, "was made without quantiles"),
        ({"alarms": True}, "was made without alarms"),
        ({"buckets": 7}, "was made with the number of buckets 5, not 7; start= changes it"),
    ],
)
def test_a_call_with_other_settings_cannot_resume_a_checkpoint(change, words):
    kept = json.dumps(settings())
    require_same("spark.follow", kept, settings())
    with pytest.raises(ValueError, match=rf"^spark\.follow: the checkpoint {words}"):
        require_same("spark.follow", kept, settings(**change))


def test_a_checkpoint_in_another_format_is_refused():
    kept = json.dumps({**settings(), "models in format": 2})
    with pytest.raises(ValueError, match="the checkpoint was made with models in format 2, not "):
        require_same("spark.follow", kept, settings())


def test_a_checkpoint_stays_usable_after_a_call_with_other_settings(spark, rows, tmp_path):
    """With 64 buckets the rows of the single key go to a new bucket, so only the stored settings reveal the mismatch."""
    one = rows[rows["sensor"] == "s3"].reset_index(drop=True)
    write_parts(one[:60], tmp_path / "in", 1)
    start(spark, tmp_path, buckets=1).awaitTermination()
    write_parts(one[60:], tmp_path / "more", 1)
    (tmp_path / "more" / "0.parquet").rename(tmp_path / "in" / "9.parquet")
    with pytest.raises(Exception, match=r"spark\.follow: the checkpoint was made with the number of buckets 1, not 64"):
        start(spark, tmp_path, buckets=64).awaitTermination()
    start(spark, tmp_path, buckets=1).awaitTermination()
    found = in_order(spark.read.parquet(str(tmp_path / "out")))
    run = dl.RLS().run(one[["a", "b"]], one["y"])
    assert np.array_equal(found["prediction"], run.predictions)
