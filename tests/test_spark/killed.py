"""Follows a stream into files until it is killed: python -m tests.test_spark.killed FOLDER."""

import sys
from pathlib import Path

import driftline as dl
from driftline.spark import follow

from .session import COLUMNS, SCHEMA, make_session


def start(spark, folder, learner=None, buckets=5, schema=SCHEMA, **options):
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    columns = {**COLUMNS, **options}
    return (
        follow(stream, learner or dl.RLS(), buckets=buckets, **columns)
        .writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )


if __name__ == "__main__":
    start(make_session("local[2]", sys.executable), Path(sys.argv[1])).awaitTermination()
