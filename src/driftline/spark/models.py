"""The models by key, out of a stream's checkpoint or of a history."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from driftline.base.learner import Learner
from driftline.fleet import Fleet
from driftline.spark.bucket import PARTS
from driftline.spark.packing import NUMBER, SETTINGS, as_bytes
from driftline.spark.rows import Columns, columns_of, new_fleet
from driftline.spark.workers import require_workers
from driftline.storage.model_file import from_bytes

_FLEETS = StructType([StructField("fleet", BinaryType())])
_AT_ONCE = 1000  # keys of a fleet that passes through Spark


class Models:
    """The models by key, computed when they are asked for.

    Attributes:
        table: a DataFrame with a row for each key: ``key``, ``rows``, the number of rows that it learned, and ``model``, the
            model file of its learner, which :func:`driftline.from_bytes` reads.
    """

    def __init__(self, fleets: DataFrame, key: StructField) -> None:
        self._fleets = fleets
        self.table = fleets.mapInArrow(
            _by_key, StructType([key, StructField("rows", LongType()), StructField("model", BinaryType())])
        )

    def fleet(self) -> Fleet:
        """All models as one fleet, on the driver."""
        found = [from_bytes(bytes(row["fleet"])) for row in self._fleets.collect()]
        if not found:
            raise ValueError("spark.models: there are no models")
        return Fleet.merge(found)


def models(
    source: str | DataFrame,
    learner: Learner | None = None,
    *,
    key: str | None = None,
    order: str | None = None,
    features: Sequence[str] = (),
    label: str | None = None,
    level: float | None = None,
) -> Models:
    """The models by key: those of a checkpoint of :func:`follow`, or those that have learned a history.

    They equal those of one :class:`driftline.Fleet`, bit for bit.

    Args:
        source: the checkpoint of a query, read after its last batch; or a DataFrame, whose rows are learned as by
            :func:`replay`, with its other arguments. A task keeps the models of a thousand keys.
        learner: with a DataFrame: a learner with the parameters of every model.
        key: with a DataFrame: the column of the keys.
        order: with a DataFrame: the column that orders the rows of a key, without ties.
        features: with a DataFrame: the columns of the features.
        label: with a DataFrame: the column of the labels.
        level: with a DataFrame: any level makes the models keep intervals.
    """
    if isinstance(source, str):
        spark = SparkSession.getActiveSession()
        if spark is None:
            raise ValueError("spark.models: there is no Spark session; create one first")
        return _of_checkpoint(spark, source)
    if learner is None or key is None or order is None or label is None:
        raise TypeError("spark.models: a DataFrame needs learner, key, order, features and label")
    columns = columns_of("spark.models", key, order, features, label)
    columns.require(source, learner)
    require_workers(columns.where, source.sparkSession)
    fleets = _of_history(source, learner.clone(), columns, level is not None)
    return Models(fleets, StructField("key", source.schema[key].dataType))


def _of_history(df: DataFrame, learner: Learner, columns: Columns, intervals: bool) -> DataFrame:
    assert columns.key is not None
    name = columns.key

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        fleet, last = new_fleet(learner, intervals), None
        for batch in batches:
            if not len(batch):
                continue
            keys = batch.column(name).to_pylist()
            fleet.learn_many(keys, columns.table(columns.features_of(batch, learner)), columns.labels(batch, learner))
            last = keys[-1]
            if len(fleet) > _AT_ONCE:  # rows are sorted by key: only the last may come again
                done = from_bytes(fleet.to_bytes())
                done.drop([last])
                fleet.drop([key for key in fleet.keys_ if key != last])
                yield _packed(done)
        if len(fleet):
            yield _packed(fleet)

    return df.repartition(name).sortWithinPartitions(name, columns.order).mapInArrow(work, _FLEETS)


def _of_checkpoint(spark: SparkSession, checkpoint: str) -> Models:
    where = "spark.models"
    try:
        state = spark.read.format("statestore").option("stateVarName", "fleet").load(checkpoint)
        kept = state.where(F.col(f"key.{NUMBER}") == SETTINGS).select("value.settings").collect()
        settings = kept[0]["settings"]
    except Exception as error:
        raise ValueError(f"{where}: {checkpoint!r} is no checkpoint of follow with a finished batch: {error}") from error
    require_workers(where, spark)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for text in batch.column(PARTS[0]).to_pylist():
                fleet = from_bytes(as_bytes(text))
                if len(fleet):
                    yield _packed(fleet)

    texts = state.where(F.col(f"key.{NUMBER}") != SETTINGS).select(F.col(f"value.{PARTS[0]}").alias(PARTS[0]))
    kind = F.from_json(F.lit("{}"), f"key {json.loads(settings)['keys of the type']}")
    key = spark.range(1).select(kind.alias("found")).schema["found"].dataType["key"]
    return Models(texts.mapInArrow(work, _FLEETS), key)


def _packed(fleet: Fleet) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([fleet.to_bytes()], pa.binary())], names=["fleet"])


def _by_key(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A row for each key of fleets."""
    for batch in batches:
        for data in batch.column("fleet").to_pylist():
            fleet = from_bytes(data)
            for start in range(0, len(fleet), _AT_ONCE):
                keys = fleet.keys_[start : start + _AT_ONCE]
                found: list[Any] = [fleet[key] for key in keys]
                counts, files = [int(model.n_seen_) for model in found], [model.to_bytes() for model in found]
                yield pa.RecordBatch.from_arrays(
                    [pa.array(keys), pa.array(counts), pa.array(files)], ["key", "rows", "model"]
                )
