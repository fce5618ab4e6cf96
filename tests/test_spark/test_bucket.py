"""A bucket of a stream, tested without Spark."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import StructType

import driftline as dl
from driftline.spark.bucket import Bucket, FollowCall, divided, merged
from driftline.spark.packing import HASH, as_bytes, as_text
from driftline.spark.rows import columns_of
from driftline.spark.settings import settings_of


@given(st.binary(max_size=50))
def test_bytes_are_encoded_as_ascii_of_eight_sevenths_the_length(data):
    text = as_text(data)
    assert text.isascii()
    assert len(text) == len(data) + -(-len(data) // 7)
    assert as_bytes(text) == data


def follow_call(learner=None, **options):
    columns = columns_of("spark.follow", "sensor", "t", ["a"], "y")
    schema = StructType().add("sensor", "string").add("t", "long").add("y", "double")
    options = {"level": None, "quantiles": None, "id": None, "idle": None, "alarms": False, **options}
    learner = learner or dl.RLS()
    return FollowCall(learner, columns, 5, settings_of(learner, columns, schema, buckets=5, **options), **options)


def batch(rows):
    """A batch of rows (sensor, t, a, y, id), whose hashes are the sensors' numbers."""
    table = pd.DataFrame(rows, columns=["sensor", "t", "a", "y", "id"]).astype({"a": float, "y": float})
    table[HASH] = table["sensor"].str[1:].astype("int32")
    return pa.RecordBatch.from_pandas(table, preserve_index=False)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("s0", 0, 1.0, None, "o1"), ("s0", 1, 2.0, None, "o1")], "the id 'o1' of the key 's0' is already waiting"),
        ([("s0", 0, None, 3.0, "o1")], "the column 'a' is null or not finite for the id 'o1', whose row is not waiting"),
        ([("s0", 0, np.inf, None, "o1")], "the column 'a' is null or not finite for the id 'o1'"),
        ([("s0", 0, 1.0, None, None)], "the column 'id' has 1 null values among 1 rows"),
    ],
)
def test_invalid_ids_are_named(rows, words):
    late = follow_call(id="id")
    with pytest.raises(ValueError, match=rf"^spark\.follow: {words}"):
        late.new_bucket().run(late, batch(rows))


def test_idle_keys_can_be_dropped_by_time():
    hours = follow_call(idle=timedelta(hours=2).total_seconds())
    bucket, start = hours.new_bucket(), datetime(2026, 1, 1)
    bucket.run(hours, batch([("s0", start, 1, 1, ""), ("s1", start + timedelta(hours=1), 1, 1, "")]))
    bucket = Bucket.of(bucket.parts())
    bucket.run(hours, batch([("s2", start + timedelta(hours=3), 1, 1, "")]))
    assert bucket.fleet.keys_ == ["s1", "s2"]
    assert bucket.hashes == [1, 2]
    bucket.run(hours, batch([("s2", start + timedelta(hours=3, seconds=1), 1, 1, "")]))
    assert bucket.fleet.keys_ == ["s2"]


def test_dividing_and_merging_a_bucket_changes_nothing():
    late = follow_call(id="id", idle=100.0)
    rng = np.random.default_rng(0)
    rows = [(f"s{i % 7}", i, rng.standard_normal(), None if i % 3 else 1.0, f"o{i}") for i in range(50)]
    bucket = late.new_bucket()
    bucket.run(late, batch(rows))
    parts = dict(divided(bucket.parts(), 3))
    assert sorted(parts) == [0, 1, 2]
    for number, part in parts.items():
        assert {hashed % 3 for hashed in Bucket.of(part).hashes} == {number}
    whole = merged([Bucket.of(part) for part in parts.values()])
    assert sorted(zip(whole.fleet.keys_, whole.hashes, whole.seen, strict=True)) == sorted(
        zip(bucket.fleet.keys_, bucket.hashes, bucket.seen, strict=True)
    )
    assert whole.waiting == bucket.waiting
    for key in bucket.fleet.keys_:
        assert np.array_equal(whole.fleet[key].coef_, bucket.fleet[key].coef_)
