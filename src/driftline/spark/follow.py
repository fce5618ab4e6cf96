"""A fleet along a structured stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StructField, StructType

from driftline.base.learner import Learner
from driftline.base.rules import COUNT
from driftline.fleet import Fleet
from driftline.spark.rows import Columns, columns_of, new_fleet, output_schema, run
from driftline.storage import codec
from driftline.storage.model_file import from_bytes

_BUCKET = "__driftline_bucket"
_STORE = "spark.sql.streaming.stateStore.providerClass"
_ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def follow(
    stream: DataFrame,
    learner: Learner,
    *,
    key: str,
    order: str,
    features: Sequence[str],
    label: str,
    buckets: int = 64,
    level: float | None = None,
) -> DataFrame:
    """Predicts, then learns, the rows of a stream as they come; returns them with ``prediction``.

    Each key has a model of its own, and predictions are the bits of one :class:`driftline.Fleet`. The keys are divided into
    buckets by Spark's hash, and the state of a bucket is one fleet as bytes: reading and writing it costs the more the
    fewer rows a batch has for each key of the bucket. Sets the session's state store to RocksDB, which this kind of
    state needs.

    Args:
        stream: a streaming DataFrame.
        learner: says the kind and the parameters of the models. A checkpoint belongs to it and to ``features``.
        key: the column of the keys.
        order: the column that orders the rows of a key within a batch, without ties. A row that comes in a later batch is
            learned after those of earlier batches.
        features: the columns of the features.
        label: the column of the labels.
        buckets: how many states there are; about a thousand keys each. A checkpoint belongs to this number.
        level: adds ``lower`` and ``upper``, the ends of the intervals at this level.
    """
    columns = columns_of("spark.follow", key, order, features, label)
    COUNT.require(columns.where, "buckets", buckets)
    if not stream.isStreaming:
        raise ValueError(f"{columns.where}: stream is no streaming DataFrame; replay is for history")
    columns.require(stream, learner)
    schema = output_schema(stream, columns, learner, level)
    stream.sparkSession.conf.set(_STORE, _ROCKS)
    numbered = stream.withColumn(_BUCKET, F.pmod(F.hash(F.col(key)), F.lit(buckets)))
    processor = _Follower(learner.clone(), columns, level, stream.columns)
    return numbered.groupBy(_BUCKET).transformWithStateInPandas(
        statefulProcessor=processor, outputStructType=schema, outputMode="Append", timeMode="None"
    )


class _Follower(StatefulProcessor):
    """Takes the rows of one bucket through its fleet."""

    def __init__(self, learner: Learner, columns: Columns, level: float | None, names: list[str]) -> None:
        self._learner, self._columns, self._level, self._names = learner, columns, level, names

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the state: the bytes of a fleet."""
        self._state = handle.getValueState("fleet", StructType([StructField("bytes", BinaryType())]))

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        """Predicts and learns the rows of one batch."""
        columns = self._columns
        table = pd.concat(list(rows))[self._names].sort_values([columns.order], kind="stable", ignore_index=True)
        fleet = self._fleet()
        batch = pa.RecordBatch.from_pandas(table, preserve_index=False)
        added = run(fleet, batch, columns, self._level)
        self._state.update((fleet.to_bytes(),))
        yield table.assign(
            **{name: values.to_pandas() for name, values in zip(("prediction", "lower", "upper"), added, strict=False)}
        )

    def close(self) -> None:
        """Nothing is left open."""

    def _fleet(self) -> Fleet:
        if not self._state.exists():
            return new_fleet(self._learner, self._level)
        fleet: Fleet = from_bytes(bytes(self._state.get()[0]))
        wanted, found = (codec.encode_model("Fleet", learner) for learner in (self._learner, fleet.learner))
        if wanted != found:
            raise ValueError(f"{self._columns.where}: the checkpoint is one of {fleet.learner!r}, not of {self._learner!r}")
        if fleet._options.intervals != (self._level is not None):
            other = "with a level" if self._level is None else "without a level"
            raise ValueError(f"{self._columns.where}: the checkpoint was made {other}")
        return fleet
