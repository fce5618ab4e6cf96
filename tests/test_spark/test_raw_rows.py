"""Partitions hold the rows that Python takes: text, times and gaps, encoded by the models' own columns."""

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql.types import StructType

import driftline as dl
from driftline.spark import fit, replay
from driftline.spark.bucket import Bucket, FollowCall
from driftline.spark.packing import HASH
from driftline.spark.rows import columns_of
from driftline.spark.settings import settings_of

from .killed import start
from .session import in_order, write_parts

SCHEMA = "sensor string, t long, shop string, at timestamp_ntz, load double, y double"
FEATURES = ["shop", "at", "load"]
COLUMNS = {"key": "sensor", "order": "t", "features": FEATURES, "label": "y"}
LEARNERS = [dl.RLS(missing="mean"), dl.Auto(missing={"": "last", "load": "skip"})]


def raw_rows(count=400, seed=0):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame({"sensor": [f"s{i}" for i in rng.integers(0, 5, count)], "t": np.arange(count)})
    rows["shop"] = rng.choice(["north", "south", "pier"], count)
    rows["at"] = pd.Timestamp("2026-03-01") + pd.to_timedelta(rng.integers(0, 10_000, count), unit="min")
    rows["at"] = rows["at"].astype("datetime64[us]")  # Spark reads no finer times
    rows["load"] = rng.standard_normal(count)
    rows["y"] = rows["load"] + 2 * (rows["shop"] == "pier") + 0.1 * rng.standard_normal(count)
    return rows


def with_gaps(rows):
    """The rows with gaps in every feature, but not in the first row of a sensor."""
    later = rows.duplicated("sensor")
    return rows.assign(
        shop=rows["shop"].where(~later | (rows["t"] % 7 != 3), None),
        at=rows["at"].where(~later | (rows["t"] % 11 != 5)),
        load=rows["load"].where(~later | (rows["t"] % 5 != 2)),
    )


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_replay_takes_the_rows_that_a_fleet_takes(spark, learner):
    rows = with_gaps(raw_rows())
    table = pa.Table.from_pandas(rows, preserve_index=False)
    found = in_order(replay(spark.createDataFrame(table, schema=SCHEMA).repartition(3), learner, **COLUMNS, level=0.9))
    fleet = dl.Fleet(learner, named=True, intervals=True)
    run = fleet.run(rows["sensor"], table.select(FEATURES), rows["y"], level=0.9)
    for name, expected in (("prediction", run.predictions), ("lower", run.lower), ("upper", run.upper)):
        assert np.array_equal(found[name], expected, equal_nan=True), name


def test_a_stream_takes_the_rows_that_a_fleet_takes(spark, tmp_path):
    rows = with_gaps(raw_rows())
    write_parts(rows, tmp_path / "in", 2)
    wanted = {"level": 0.8, "quantiles": (0.1, 0.9)}
    start(spark, tmp_path, LEARNERS[0], buckets=2, schema=SCHEMA, **COLUMNS, **wanted).awaitTermination()
    fleet = dl.Fleet(LEARNERS[0], named=True, intervals=True)
    run = fleet.run(rows["sensor"], pa.Table.from_pandas(rows[FEATURES], preserve_index=False), rows["y"], **wanted)
    found = in_order(spark.read.parquet(str(tmp_path / "out")))
    assert np.array_equal(
        np.column_stack([found["prediction"], found["upper"]]), np.column_stack([run.predictions, run.upper])
    )
    assert np.array_equal(np.stack(found["quantiles"]), run.quantiles)


def test_text_is_refused_where_no_model_encodes_it(spark):
    frame = spark.createDataFrame(raw_rows(10), SCHEMA)
    with pytest.raises(ValueError, match=r"spark\.replay: 'shop' holds text or times, .* the models in a fleet of RLS"):
        replay(frame, dl.RLS(), **COLUMNS)
    with pytest.raises(ValueError, match=r"spark\.fit: the column 'shop' must hold numbers, got string"):
        fit(frame, dl.RLS(), order="t", features=FEATURES, label="y")
    with pytest.raises(ValueError, match=r"the column 'shop' must hold numbers, text or times, got binary"):
        replay(frame.withColumn("shop", frame["shop"].cast("binary")), dl.Auto(), **COLUMNS)


def test_a_gap_is_named_where_the_learner_refuses_it(spark):
    frame = spark.createDataFrame(pa.Table.from_pandas(with_gaps(raw_rows(50)), preserve_index=False), schema=SCHEMA)
    with pytest.raises(Exception, match=r"spark\.replay: the column 'shop' has \d+ null values among"):
        replay(frame, dl.Auto(missing={"": "mean", "shop": "raise"}), **COLUMNS).count()


def follow_call(learner, **options):
    columns = columns_of("spark.follow", "sensor", "t", FEATURES, "y")
    types = StructType().add("sensor", "string").add("t", "long").add("y", "double")
    options = {"level": None, "quantiles": None, "id": "id", "idle": None, "alarms": False, **options}
    return FollowCall(learner, columns, 5, settings_of(learner, columns, types, buckets=5, **options), **options)


def late_batches(rows, parts, delay=40):
    """Each row without its label, and ``delay`` rows later a row with only the label, as batches."""
    rows = rows.assign(id=[f"o{t}" for t in rows["t"]], t=rows["t"].astype(float))
    rows[HASH] = rows["sensor"].str[1:].astype("int32")
    whole = pa.Table.from_pandas(rows, preserve_index=False)
    kept = {"asked": ["sensor", "t", "id", HASH, *FEATURES], "told": ["sensor", "t", "id", HASH, "y"]}
    asked, told = (whole.select(names) for names in kept.values())
    told = told.set_column(1, "t", pc.add(told["t"], delay + 0.5))
    together = pa.concat_tables([asked, told], promote_options="default").sort_by("t").combine_chunks()
    ends = np.linspace(0, len(together), parts + 1).astype(int)
    return [together.slice(start, stop - start).to_batches()[0] for start, stop in itertools.pairwise(ends.tolist())]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_late_labels_of_raw_rows_are_learned_as_by_a_pending_for_each_key(learner):
    rows, call = with_gaps(raw_rows(200)), follow_call(learner)
    bucket, models, predicted = call.new_bucket(), {}, {}
    for batch in late_batches(rows, 4):
        found = bucket.run(call, batch)
        expected = []
        for row in batch.to_pylist():
            model = models.setdefault(row["sensor"], dl.Pending(learner.clone()))
            if row["y"] is None:
                predicted[row["id"]] = model.predict_one(row["id"], {name: row[name] for name in FEATURES})
            else:
                model.learn_one(row["id"], row["y"])
            expected.append(predicted[row["id"]])
        assert np.array_equal(found["prediction"].to_numpy(), expected, equal_nan=True)
        bucket = Bucket.of(bucket.parts())  # as between two batches of a stream
    for key, model in models.items():
        assert bucket.fleet[key].to_bytes() == model.learner.to_bytes()
    assert len(bucket.waiting) == sum(map(len, models.values()))


def test_a_refused_late_row_is_named():
    call = follow_call(dl.Auto())
    batch = late_batches(with_gaps(raw_rows(30)), 1)[0]
    with pytest.raises(ValueError, match=r"Auto\.ask: x has NaN in feature") as raised:
        call.new_bucket().run(call, batch)
    assert any("spark.follow: the row of the id 'o" in note for note in raised.value.__notes__)
