"""Fleets on a local Spark, in rows per CPU-second of the JVM and Python together; needs its own environment."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

import driftline as dl
from benchmarks.report import Report, Table, Verdict
from driftline.spark import follow, replay
from driftline.spark.rows import columns_of, output_schema

D, HISTORY, HISTORY_KEYS, KEYS_A_BUCKET = 8, 2_000_000, 5000, 1000
STREAMS = {2.5: (64_000, 4), 100.0: (5000, 3), 500.0: (2000, 2)}  # rows a key and batch -> keys, batches
BY_KEY = (2.5, 2000, 3)  # the same with one state a key; fewer keys, because it is slow
FEATURES = [f"x{j}" for j in range(D)]
COLUMNS: dict[str, Any] = {"key": "key", "order": "t", "features": FEATURES, "label": "y"}
TARGETS = {"replay": 250_000.0, 100.0: 120_000.0, 2.5: 50_000.0}


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
            _drained(plan())  # warm-up, for Java's compiler
            rows.append((label, count / _cpu_seconds(lambda plan=plan: _drained(plan()))))  # type: ignore[misc]
        verdicts.append(Verdict("rows per CPU-second that replay lacks", TARGETS["replay"] - rows[-1][1], 0, "rows/s"))
        _followed(spark, Path(folder) / "warm", learner, 2.5, 1000, 2)
        for number, (share, (keys, batches)) in enumerate(STREAMS.items()):
            keys, batches = (keys // 10, 2) if quick else (keys, batches)
            found = _followed(spark, Path(folder) / f"stream {number}", learner, share, keys, batches)
            rows.append((f"follow, {share:g} rows a key and batch, {keys:,} keys", found))
            if share in TARGETS:
                lacks = TARGETS[share] - found
                verdicts.append(Verdict(f"rows per CPU-second that follow lacks at {share:g}", lacks, 0, "rows/s"))
        share, keys, batches = BY_KEY
        keys = keys // 10 if quick else keys
        for number, (label, way) in enumerate(WAYS.items()):
            found = _followed(spark, Path(folder) / f"by key {number}", learner, share, keys, batches, way)
            rows.append((f"{label}, {share:g} rows a key and batch, {keys:,} keys", found))
    note = (
        f"RLS, {D} features, local[2], files as source and no sink. History: {count:,} rows of {HISTORY_KEYS:,} keys. "
        f"Streams: {KEYS_A_BUCKET:,} keys a bucket, the first batch included. CPU time of the driver, the JVM and the "
        "Python workers."
    )
    spark.stop()
    return Report([Table("Fleets on Spark", ("what", "rows per CPU-second"), rows, note)], verdicts)


_ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def _written(spark: SparkSession, folder: Path, keys: int, counts: list[int]) -> DataFrame:
    """Writes files with equal numbers of rows; each is a batch."""
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
    """The plan of replay, with the label instead of a prediction."""

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
    spark: SparkSession, folder: Path, learner: dl.Learner, share: float, keys: int, batches: int, way: Way | None = None
) -> float:
    """Rows per CPU-second of ``follow``, or of another function."""
    counts = [int(share * keys)] * batches
    _written(spark, folder / "in", keys, counts)
    buckets = max(keys // KEYS_A_BUCKET, 1)
    schema = spark.read.parquet(str(folder / "in")).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    found = follow(stream, learner, **COLUMNS, buckets=buckets) if way is None else way(stream, learner)
    query = found.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
    return sum(counts) / _cpu_seconds(lambda: query.trigger(availableNow=True).start().awaitTermination())


def _learned(learner: dl.Learner, state: Any, rows: Iterator[pd.DataFrame]) -> tuple[pd.DataFrame, bytes]:
    """The rows of one key with predictions, and the model after them, from its earlier bytes, if any."""
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
    """CPU time of this process and its children, including the workers of Java and Python."""
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
    """The ticks of each process of the family, identified by its number and start time."""
    children: dict[int, list[int]] = {}
    found: dict[int, tuple[int, int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
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
