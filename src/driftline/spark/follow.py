"""A fleet along a structured stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, NumericType, StructField, StructType, TimestampType

from driftline.base.learner import Learner
from driftline.base.rules import COUNT, number
from driftline.fleet.core import has_fixed_size
from driftline.spark.bucket import Bucket, Task
from driftline.spark.rows import Columns, columns_of, output_schema

_BUCKET = "__driftline_bucket"
_STORE = "spark.sql.streaming.stateStore.providerClass"
_ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_PARTS = ("fleet", "seen", "waiting")


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
    id: str | None = None,  # noqa: A002 - as elsewhere in driftline
    idle: float | timedelta | None = None,
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
        id: the column of ids, for labels that come later. A row without a label is predicted, and waits in the state; a
            later row of the same key and id brings the label, and gets the prediction of the first. For learners of fixed
            size, and without a level: then it is a :class:`driftline.Pending` for each key, bit for bit.
        idle: lets a key go, with its rows that wait, at the end of a batch in which its last row lies further behind the
            newest row of its bucket than this, by ``order``: a number, or a timedelta where ``order`` holds times. A key
            that comes back starts anew. None keeps all keys.
    """
    columns = columns_of("spark.follow", key, order, features, label)
    COUNT.require(columns.where, "buckets", buckets)
    if not stream.isStreaming:
        raise ValueError(f"{columns.where}: stream is no streaming DataFrame; replay is for history")
    columns.require(stream, learner)
    task = Task(learner.clone(), columns, level, id, _idle(idle, stream, columns))
    _require_ids(task, stream)
    schema = output_schema(stream, columns, learner, level)
    stream.sparkSession.conf.set(_STORE, _ROCKS)
    numbered = stream.withColumn(_BUCKET, F.pmod(F.hash(F.col(key)), F.lit(buckets)))
    return numbered.groupBy(_BUCKET).transformWithStateInPandas(
        statefulProcessor=_Follower(task, stream.columns), outputStructType=schema, outputMode="Append", timeMode="None"
    )


def _idle(idle: Any, stream: DataFrame, columns: Columns) -> float | None:
    """How far a key may fall behind, in units of ``order``, which are seconds for times."""
    if idle is None:
        return None
    kind = stream.schema[columns.order].dataType
    if isinstance(kind, TimestampType) != isinstance(idle, timedelta) or not isinstance(kind, NumericType | TimestampType):
        raise TypeError(
            f"{columns.where}: idle must be a timedelta where order holds times, and a number where it holds numbers, "
            f"got {idle!r} for {kind.simpleString()}"
        )
    seconds = idle.total_seconds() if isinstance(idle, timedelta) else idle
    return float(number(gt=0).require(columns.where, "idle", seconds))


def _require_ids(task: Task, stream: DataFrame) -> None:
    if task.id is None:
        return
    where = task.columns.where
    if task.id not in stream.columns:
        raise ValueError(f"{where}: id is {task.id!r}, but the columns are {', '.join(stream.columns)}")
    if not has_fixed_size(task.learner):
        raise ValueError(
            f"{where}: labels that come later are for learners of fixed size, not {type(task.learner).__name__}"
        )
    if task.level is not None:
        raise ValueError(f"{where}: level does not go with id: a fleet does not keep the intervals of rows that wait")


class _Follower(StatefulProcessor):
    """Takes the rows of one bucket through its fleet."""

    def __init__(self, task: Task, names: list[str]) -> None:
        self._task, self._names = task, names

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the state: the parts of a bucket as bytes."""
        self._state = handle.getValueState("fleet", StructType([StructField(name, BinaryType()) for name in _PARTS]))

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        """Predicts and learns the rows of one batch."""
        order = self._task.columns.order
        table = pd.concat(list(rows))[self._names].sort_values([order], kind="stable", ignore_index=True)
        parts = [bytes(part) for part in self._state.get()] if self._state.exists() else None
        bucket = Bucket(self._task, parts)
        added = bucket.run(table)
        self._state.update(tuple(bucket.parts()))
        yield table.assign(**added)

    def close(self) -> None:
        """Nothing is left open."""
