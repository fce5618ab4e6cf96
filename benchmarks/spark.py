"""Fleets on a local Spark, in rows per CPU-second, the JVM's and Python's summed; in an environment of its own."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import driftline as dl
from benchmarks.report import Report, Table, Verdict
from driftline.spark import follow, replay
from driftline.spark.follow import _Follower
from driftline.spark.rows import columns_of, output_schema

D, HISTORY, HISTORY_KEYS, KEYS, BUCKETS = 8, 2_000_000, 5000, 2000, 2
BATCHES = {2.5: 12, 100.0: 4, 500.0: 2}  # rows a key and batch -> batches
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
            _drained(plan())  # Java compiles what is used
            rows.append((label, count / _cpu_seconds(lambda plan=plan: _drained(plan()))))  # type: ignore[misc]
        verdicts.append(Verdict("rows per CPU-second that replay lacks", TARGETS["replay"] - rows[-1][1], 0, "rows/s"))
        for share, batches in BATCHES.items():
            counts = [int(share * KEYS)] * (2 if quick else batches)
            name = f"{share:g} rows a key and batch"
            for label, by_key in ((f"follow, {name}", False), (f"one state a key, {name}", True)):
                if by_key and share != 2.5:
                    continue
                place = Path(folder) / label
                _written(spark, place / "in", KEYS, counts)
                seconds = _cpu_seconds(lambda place=place, by_key=by_key: _follow(spark, place, learner, by_key))  # type: ignore[misc]
                rows.append((label, sum(counts) / seconds))
                if share in TARGETS and not by_key:
                    lacks = TARGETS[share] - rows[-1][1]
                    verdicts.append(Verdict(f"rows per CPU-second that follow lacks at {share:g}", lacks, 0, "rows/s"))
    note = (
        f"RLS, {D} features, local[2], files as source and no sink. History: {count:,} rows of {HISTORY_KEYS:,} keys. "
        f"Streams: {KEYS:,} keys in {BUCKETS} buckets, the first batch included. CPU time of the driver, the JVM and the "
        "Python workers."
    )
    spark.stop()
    return Report([Table("Fleets on Spark", ("what", "rows per CPU-second"), rows, note)], verdicts)


_ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def _written(spark: SparkSession, folder: Path, keys: int, counts: list[int]) -> DataFrame:
    """Files of as many rows, each of which is a batch."""
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
    """The plan of replay, with the label in the place of a prediction."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_arrays([*batch.columns, batch.column("y")], names=[*batch.schema.names, "prediction"])

    columns = columns_of("idle", **COLUMNS)
    return (
        df.repartition("key").sortWithinPartitions("key", "t").mapInArrow(work, output_schema(df, columns, dl.RLS(), None))
    )


def _drained(df: DataFrame) -> None:
    df.write.format("noop").mode("overwrite").save()


def _follow(spark: SparkSession, folder: Path, learner: dl.Learner, by_key: bool) -> None:
    schema = spark.read.parquet(str(folder / "in")).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    if by_key:
        columns = columns_of("by key", **COLUMNS)
        found = stream.groupBy("key").transformWithStateInPandas(
            statefulProcessor=_Follower(learner, columns, None, stream.columns),
            outputStructType=output_schema(stream, columns, learner, None),
            outputMode="Append",
            timeMode="None",
        )
    else:
        found = follow(stream, learner, **COLUMNS, buckets=BUCKETS)
    query = found.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
    query.trigger(availableNow=True).start().awaitTermination()


def _cpu_seconds(work: Callable[[], object]) -> float:
    before = _cpu()
    work()
    return _cpu() - before


def _cpu() -> float:
    """CPU time of this process, of all that it started, and of those of them that ended."""
    children: dict[int, list[int]] = {}
    times: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        number = int(path.parent.name)
        children.setdefault(int(fields[1]), []).append(number)
        times[number] = sum(map(int, fields[11:15]))
    family, total = [os.getpid()], 0
    while family:
        number = family.pop()
        total += times[number]
        family += children.get(number, [])
    return total / os.sysconf("SC_CLK_TCK")
