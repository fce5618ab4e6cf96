"""A local Spark session and rows of sensors, for tests and for the process that a test kills."""

import os

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession

SCHEMA = "sensor string, t long, a double, b double, y double"
COLUMNS = {"key": "sensor", "order": "t", "features": ["a", "b"], "label": "y"}


QUICK_TO_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # these processes end before optimised code would pay off


def make_session(master, python):
    os.environ["PYSPARK_PYTHON"] = python
    session = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.extraJavaOptions", QUICK_TO_START)
        .config("spark.executor.extraJavaOptions", QUICK_TO_START)
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "700")
        .config("spark.driver.memory", "1g")
        .config("spark.python.authenticate.socketTimeout", "300s")  # workers start slowly on a busy machine
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    return session


def sensor_rows(count=4000, sensors=30, seed=0):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame({"sensor": [f"s{i}" for i in rng.integers(0, sensors, count)], "t": np.arange(count)})
    rows["a"], rows["b"] = rng.standard_normal((2, count))
    rows["y"] = 2 * rows["a"] - rows["b"] + 0.1 * rng.standard_normal(count)
    return rows


def drifting_rows():
    """The slope of two of ten sensors changes."""
    rows = sensor_rows(6000, sensors=10, seed=3)
    drifted = rows["sensor"].isin(["s3", "s8"]) & (rows["t"] >= 3000)
    rows.loc[drifted, "y"] += 6 * rows.loc[drifted, "a"]
    return rows


def write_parts(rows, folder, parts):
    """Writes files that a stream reads one by one, in the order of their times."""
    folder.mkdir()
    for number, part in enumerate(np.array_split(np.arange(len(rows)), parts)):
        path = folder / f"{number}.parquet"
        rows.iloc[part].sample(frac=1, random_state=number).to_parquet(path, index=False)
        os.utime(path, (10_000 + number, 10_000 + number))


def in_order(found):
    """The rows of a DataFrame by time. No time may appear twice."""
    table = found.toPandas().sort_values("t", ignore_index=True)
    assert table["t"].is_unique
    return table
