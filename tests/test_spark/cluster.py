"""replay and follow with tasks in separate processes: python -m tests.test_spark.cluster FOLDER."""

import sys
from pathlib import Path

import driftline as dl
from driftline.spark import replay

from .killed import start
from .session import COLUMNS, SCHEMA, drifting_rows, make_session, write_parts

if __name__ == "__main__":
    folder, rows = Path(sys.argv[1]), drifting_rows()
    spark = make_session("local-cluster[2,1,2048]", sys.executable)
    history = spark.createDataFrame(rows, SCHEMA).repartition(3)
    replay(history, dl.RLS(), **COLUMNS).write.parquet(str(folder / "replayed"))
    write_parts(rows, folder / "in", 2)
    start(spark, folder, alarms=True).awaitTermination()
    spark.stop()
