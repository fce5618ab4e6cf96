"""A fleet along a structured stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    IntegralType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from driftline.base.learner import Learner
from driftline.base.levels import as_spread
from driftline.base.rules import BOOLEAN, number, whole
from driftline.fleet import Fleet
from driftline.fleet.core import has_fixed_size
from driftline.spark.bucket import PARTS, Bucket, FollowCall, divided, merged
from driftline.spark.packing import BUCKET, HASH, NUMBER, PACKED, SETTINGS, in_order, pack, to_value, unpack
from driftline.spark.rows import Columns, columns_of, lent, output_schema
from driftline.spark.settings import require_same, settings_of
from driftline.spark.workers import require_workers

_STORE = "spark.sql.streaming.stateStore.providerClass"
_ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_STATE = StructType([StructField(name, StringType()) for name in ("settings", *PARTS)])
_NUMBER = StructField(NUMBER, IntegerType())
_MOST = 2**31 - 1  # buckets, which Spark numbers with 32 bits
_AT_ONCE = 1 << 16  # rows in one value that leaves a bucket


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
    quantiles: Sequence[float] | None = None,
    id: str | None = None,  # noqa: A002 - as elsewhere in driftline
    idle: float | timedelta | None = None,
    alarms: bool = False,
    start: str | None = None,
    pooled: Fleet | None = None,
) -> DataFrame:
    """Predicts the rows of a stream and then learns them as they arrive; returns them with ``prediction``.

    Each key has its own model, and predictions equal those of one :class:`driftline.Fleet` bit for bit. Spark's hash divides
    the keys into buckets, and the state of a bucket is one fleet, which is read and written as a whole in every batch with
    rows for it; so the cost per row is lower if a batch has more rows per key. Sets the session's state store to RocksDB,
    which this kind of state needs.

    Args:
        stream: a streaming DataFrame.
        learner: a learner with the parameters of every model. A checkpoint requires the same learner and ``features``.
        key: the column of the keys.
        order: the column that orders the rows of a key within a batch, without ties. A row that arrives in a later batch
            is learned after all rows of earlier batches.
        features: the columns of the features.
        label: the column of the labels.
        buckets: the number of states, with about a thousand keys each. A checkpoint requires the same number; use ``start``
            to change it.
        level: adds ``lower`` and ``upper``, the bounds of the intervals at this level.
        quantiles: adds ``quantiles``, an array of the label's quantiles of these levels, in ascending order.
        id: the column of ids, for late labels. A row without a label is predicted, and waits in the state; a later row with
            the same key and id supplies the label, and gets the prediction of the first. This equals a
            :class:`driftline.Pending` for each key, bit for bit. Not with ``level`` or ``quantiles``; ``alarms`` need
            models of fixed size.
        idle: drops a key and its waiting rows at the end of a batch in which its last row is further than this behind the
            newest row of its bucket, by ``order``: a number, or a timedelta if ``order`` holds times. A key that comes
            back is a new key. None keeps all keys.
        alarms: keeps an alarm for each key, which takes 7 kB, and adds the column ``alarm``. A row that raises an alarm
            appears twice, the second time with True in that column.
        start: the checkpoint of an earlier query, with any number of buckets, from whose models this one continues. It is
            read once, in the first batch of a new checkpoint; the source must begin where the earlier query stopped.
        pooled: a pooled fleet, as in :func:`driftline.spark.replay`, in whose place a checkpoint takes no other; not with
            ``id``.
    """
    columns = columns_of("spark.follow", key, order, features, label)
    columns.require(stream, learner, stream=True)
    whole(1, _MOST).require(columns.where, "buckets", buckets)
    BOOLEAN.require(columns.where, "alarms", alarms)
    if not isinstance(stream.schema[key].dataType, StringType | IntegralType):
        kind = stream.schema[key].dataType.simpleString()
        raise ValueError(f"{columns.where}: the keys in {key!r} must be texts or whole numbers, got {kind}; cast them first")
    spread = as_spread(columns.where, level, quantiles)
    options: dict[str, Any] = {"level": level, "id": id, "idle": _idle(idle, stream, columns), "alarms": alarms}
    options["quantiles"] = None if spread.quantiles is None else tuple(spread.quantiles.tolist())
    pool = lent(pooled, learner, columns.where)
    if pool is not None and id is not None:
        raise ValueError(f"{columns.where}: id cannot be combined with pooled; Fleet.ask and Fleet.tell take late labels")
    settings = settings_of(learner, columns, stream.schema, buckets=buckets, pool=pool, **options)
    call = FollowCall(learner.clone(), columns, buckets, settings, pool=pool, **options)
    _require_ids(call, stream)
    schema = output_schema(stream, columns, learner, spread, alarms)
    require_workers(columns.where, stream.sparkSession)
    stream.sparkSession.conf.set(_STORE, _ROCKS)
    hashed = F.hash(F.col(key))
    rows = stream.withColumn(HASH, hashed).withColumn(BUCKET, F.pmod(hashed, F.lit(buckets)))
    packed = rows.repartition(BUCKET).mapInArrow(pack, StructType([_NUMBER, StructField(PACKED, BinaryType())]))
    learned = packed.groupBy(NUMBER).transformWithStateInPandas(
        statefulProcessor=_Follower(call),
        outputStructType=StructType([StructField(PACKED, BinaryType())]),
        outputMode="Append",
        timeMode="None",
        initialState=None if start is None else _states(stream.sparkSession, start, call),
    )
    return learned.mapInArrow(unpack, schema)


def _states(spark: SparkSession, checkpoint: str, call: FollowCall) -> Any:
    """The states of a checkpoint, divided among the buckets; raises ValueError if they belong to another call."""
    where, buckets = call.columns.where, call.buckets
    try:
        old = spark.read.format("statestore").option("stateVarName", "fleet").load(checkpoint)
        kept = old.where(F.col(f"key.{NUMBER}") == SETTINGS).select("value.settings").collect()
    except Exception as error:
        raise ValueError(f"{where}: start is {checkpoint!r}, which is no checkpoint of follow: {error}") from error
    for row in kept:
        require_same(where, row[0], call.settings, apart_from=["the number of buckets"])

    def divide(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                for new, parts in divided([row[name] for name in PARTS], buckets):
                    values = [pa.array([new], pa.int32()), *(pa.array([part]) for part in parts)]
                    yield pa.RecordBatch.from_arrays(values, names=[NUMBER, *PARTS])

    models = old.where(F.col(f"key.{NUMBER}") != SETTINGS).select(*(f"value.{name}" for name in PARTS))
    return models.mapInArrow(divide, StructType([_NUMBER, *(_STATE[name] for name in PARTS)])).groupBy(NUMBER)


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


def _require_ids(call: FollowCall, stream: DataFrame) -> None:
    if call.id is None:
        return
    where = call.columns.where
    if call.id not in stream.columns:
        raise ValueError(f"{where}: id is {call.id!r}, but the columns are {', '.join(stream.columns)}")
    if call.alarms and not has_fixed_size(call.learner):
        raise ValueError(f"{where}: alarms with id need a learner of fixed size, not {type(call.learner).__name__}")
    for name, given in (("level", call.level), ("quantiles", call.quantiles)):
        if given is not None:
            raise ValueError(f"{where}: {name} cannot be combined with id: a fleet keeps no intervals for waiting rows")


class _Follower(StatefulProcessor):
    """Passes the rows of one bucket through its fleet."""

    def __init__(self, call: FollowCall) -> None:
        self._call, self._settings = call, json.dumps(call.settings)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the state: the settings, and the parts of a bucket."""
        self._state = handle.getValueState("fleet", _STATE)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        """Predicts and learns the rows of one batch.

        A new bucket cannot tell whether the checkpoint has other settings, so every batch visits the bucket that can.
        """
        bucket = self._kept() or self._call.new_bucket()
        if key[0] == SETTINGS:
            self._state.update((self._settings, *[""] * len(PARTS)))
            return
        batch = in_order((value for part in rows for value in part[PACKED]), str(self._call.columns.order))
        found = bucket.run(self._call, batch)
        self._state.update((self._settings, *bucket.parts()))
        for start in range(0, len(found), _AT_ONCE):
            yield pd.DataFrame({PACKED: [to_value(found.slice(start, _AT_ONCE))]})

    def handleInitialState(self, key: Any, initialState: pd.DataFrame, timerValues: Any) -> None:  # noqa: N802
        """Merges the parts of earlier buckets that belong to this one."""
        buckets = [Bucket.of(parts) for parts in initialState[list(PARTS)].itertuples(index=False)]
        kept = self._kept()
        self._state.update((self._settings, *merged(buckets if kept is None else [kept, *buckets]).parts()))

    def _kept(self) -> Bucket | None:
        """The bucket after the last batch; raises ValueError if that had other settings."""
        found = self._state.get()  # None before the first batch; exists() would read the whole state a second time
        if found is None:
            return None
        settings, *parts = found
        if settings != self._settings:
            require_same(self._call.columns.where, settings, self._call.settings)
        return Bucket.of(parts) if any(parts) else None

    def close(self) -> None:
        """Nothing is left open."""
