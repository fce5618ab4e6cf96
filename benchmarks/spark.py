"""Fleets on a local Spark, in rows per CPU-second of the JVM and Python together; needs its own environment."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from time import sleep
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle, StreamingQuery
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

import driftline as dl
from benchmarks.report import Report, Table, Verdict
from driftline.spark import follow, replay
from driftline.spark.rows import columns_of, output_schema

D, HISTORY, HISTORY_KEYS, KEYS_A_BUCKET = 8, 2_000_000, 5000, 1000
# Rows per key and batch, keys, batches before timing starts, timed batches. The last stream shows a batch's fixed cost.
STREAMS = [(2.5, 64_000, 10, 10), (100.0, 5000, 4, 4), (500.0, 2000, 3, 3), (2.5, 1000, 15, 15)]
BY_KEY = (2.5, 2000, 1, 2)  # the same with one state per key, and fewer keys because this is slow
FEATURES = [f"x{j}" for j in range(D)]
COLUMNS: dict[str, Any] = {"key": "key", "order": "t", "features": FEATURES, "label": "y"}
REPLAY_TARGET, TARGETS = 250_000.0, {(100.0, 5000): 120_000.0, (2.5, 64_000): 50_000.0}


def measure(quick: bool) -> Report:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", _ROCKS)
    learner, rows, verdicts = dl.RLS(forgetting=0.99), [], []
    with tempfile.TemporaryDirectory() as folder:
        count = HISTORY // 20 if quick else HISTORY
        history = _written(spark, Path(folder) / "history", HISTORY_KEYS, [count])
        plans = {"replay without learning": lambda: _idle(history), "replay": lambda: replay(history, learner, **COLUMNS)}
        for label, plan in plans.items():
            cold, warm = (_cpu_seconds(lambda plan=plan: _drained(plan())) for _ in range(2))  # type: ignore[misc]
            rows.append((label, count / warm, count / cold))
        verdicts.append(Verdict("rows per CPU-second that replay lacks", REPLAY_TARGET - rows[-1][1], 0, "rows/s"))
        for number, (share, keys, first, batches) in enumerate(STREAMS):
            target = TARGETS.get((share, keys))
            keys, first, batches = (keys // 10, 1, 1) if quick else (keys, first, batches)
            found = _followed(spark, Path(folder) / f"stream {number}", learner, share, keys, first, batches)
            rows.append((f"follow, {share:g} rows a key and batch, {keys:,} keys", *found))
            if target is not None:
                verdicts.append(
                    Verdict(f"rows per CPU-second that follow lacks at {share:g}", target - found[0], 0, "rows/s")
                )
        share, keys, first, batches = BY_KEY
        keys = keys // 10 if quick else keys
        for number, (label, way) in enumerate(WAYS.items()):
            found = _followed(spark, Path(folder) / f"by key {number}", learner, share, keys, first, batches, way)
            rows.append((f"{label}, {share:g} rows a key and batch, {keys:,} keys", *found))
    note = (
        f"RLS, {D} features, local[2], files as source and no sink. History: {count:,} rows of {HISTORY_KEYS:,} keys. "
        f"Streams: {KEYS_A_BUCKET:,} keys a bucket; the key of each row is random. Half of the batches (with one state a "
        "key, one of three) come before timing starts, while Java compiles. The last column shows these first batches and, "
        "for a history, its first run. CPU time of the driver, the JVM and the Python workers."
    )
    spark.stop()
    return Report([Table("Fleets on Spark", ("what", "rows per CPU-second", "at first"), rows, note)], verdicts)


_ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def _written(spark: SparkSession, folder: Path, keys: int, counts: list[int]) -> DataFrame:
    """Writes one file for each entry of `counts`, with that many rows; in a stream, each file is a batch."""
    folder.mkdir(parents=True)
    rng, start = np.random.default_rng(0), 0
    for number, count in enumerate(counts):
        rows = pd.DataFrame(rng.standard_normal((count, D)), columns=FEATURES)
        rows["y"] = rows[FEATURES].sum(axis=1) + 0.1 * rng.standard_normal(count)
        rows["key"], rows["t"] = rng.integers(0, keys, count), np.arange(start, start + count)
        rows.to_parquet(folder / f"{number}.parquet", index=False)
        os.utime(folder / f"{number}.parquet", (10_000 + number, 10_000 + number))
        start += count
    return spark.read.parquet(str(folder))


def _idle(df: DataFrame) -> DataFrame:
    """The plan of replay, with the label in place of a prediction."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_arrays([*batch.columns, batch.column("y")], names=[*batch.schema.names, "prediction"])

    columns = columns_of("idle", **COLUMNS)
    return (
        df.repartition("key").sortWithinPartitions("key", "t").mapInArrow(work, output_schema(df, columns, dl.RLS(), None))
    )


def _drained(df: DataFrame) -> None:
    df.write.format("noop").mode("overwrite").save()


Way = Callable[[DataFrame, dl.Learner], DataFrame]


def _followed(
    spark: SparkSession,
    folder: Path,
    learner: dl.Learner,
    share: float,
    keys: int,
    first: int,
    batches: int,
    way: Way | None = None,
) -> tuple[float, float]:
    """Rows per CPU-second after the ``first`` batches, and during them, with ``follow`` unless ``way`` is given."""
    count = int(share * keys)
    _written(spark, folder / "in", keys, [count] * (first + batches))
    buckets = max(keys // KEYS_A_BUCKET, 1)
    schema = spark.read.parquet(str(folder / "in")).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    found = follow(stream, learner, **COLUMNS, buckets=buckets) if way is None else way(stream, learner)
    writer = found.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    at_first = first * count / _cpu_seconds(lambda: _await_batch(query, first - 1))
    return batches * count / _cpu_seconds(query.awaitTermination), at_first


def _await_batch(query: StreamingQuery, number: int) -> None:
    while query.isActive and (query.lastProgress is None or query.lastProgress["batchId"] < number):
        sleep(0.02)


def _learned(learner: dl.Learner, state: Any, rows: Iterator[pd.DataFrame]) -> tuple[pd.DataFrame, bytes]:
    """The rows of one key with predictions, and the bytes of the updated model; `state` holds the earlier bytes, if any."""
    table = pd.concat(list(rows)).sort_values("t", ignore_index=True)
    model = dl.from_bytes(bytes(state)) if state is not None else learner.clone()
    run = model.run(table[FEATURES], table["y"])
    return table.assign(prediction=run.predictions), model.to_bytes()


class _OneKey(StatefulProcessor):
    def __init__(self, learner: dl.Learner) -> None:
        self._learner = learner

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("model", "model binary")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        table, after = _learned(self._learner, self._state.get()[0] if self._state.exists() else None, rows)
        self._state.update((after,))
        yield table

    def close(self) -> None:
        pass


def _one_state_a_key(stream: DataFrame, learner: dl.Learner) -> DataFrame:
    schema = output_schema(stream, columns_of("by key", **COLUMNS), learner, None)
    return stream.groupBy("key").transformWithStateInPandas(_OneKey(learner), schema, "Append", "None")


def _in_pandas_with_state(stream: DataFrame, learner: dl.Learner) -> DataFrame:
    def work(key: Any, rows: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        table, after = _learned(learner, state.get[0] if state.exists else None, rows)
        state.update((after,))
        yield table

    schema = output_schema(stream, columns_of("by key", **COLUMNS), learner, None)
    return stream.groupBy("key").applyInPandasWithState(work, schema, "model binary", "Append", GroupStateTimeout.NoTimeout)


WAYS: dict[str, Way] = {"one state a key": _one_state_a_key, "applyInPandasWithState": _in_pandas_with_state}


def _cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of this process and all its descendants, including Java and the Python workers."""
    before, done = _ticks(), Event()
    seen = dict(before)  # the last known ticks of each process

    def look() -> None:
        while not done.wait(0.1):
            seen.update(_ticks())

    watcher = Thread(target=look)
    watcher.start()
    try:
        work()
    finally:
        done.set()
        watcher.join()
    seen.update(_ticks())
    return (sum(seen.values()) - sum(before.values())) / os.sysconf("SC_CLK_TCK")


def _ticks() -> dict[tuple[int, int], int]:
    """CPU ticks of this process and each of its descendants, by process id and start time, without their children's."""
    children: dict[int, list[int]] = {}
    found: dict[int, tuple[int, int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # the process has ended
        number = int(path.parent.name)
        children.setdefault(int(fields[1]), []).append(number)
        found[number] = (int(fields[19]), int(fields[11]) + int(fields[12]))
    family, out = [os.getpid()], {}
    while family:
        number = family.pop()
        start, ticks = found[number]
        out[number, start] = ticks
        family += children.get(number, [])
    return out
