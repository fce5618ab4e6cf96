"""The blocks of Python on the page about Spark, in order."""

import driftline as dl
from tests.test_docs.pages import PAGES, blocks

from .session import sensor_rows

COLUMNS = {"key": "sensor", "order": "time", "features": ["load", "wind"], "label": "power"}

FOLDERS = ("readings", "incoming", "predictions", "drifted", "more predictions", "checkpoint", "checkpoint 2")
FOLDERS += ("models", "pipeline")


def test_the_blocks_of_the_page_run(spark, tmp_path):
    rows = sensor_rows(400, sensors=3).rename(columns={"t": "time", "a": "load", "b": "wind", "y": "power"})
    for folder in ("readings", "incoming"):
        (tmp_path / folder).mkdir()
        rows.to_parquet(tmp_path / folder / "rows.parquet", index=False)
    schema = spark.read.parquet(str(tmp_path / "readings")).schema
    names = {"spark": spark, "schema": schema, "learner": dl.RLS(forgetting=0.99), "columns": COLUMNS}
    texts = [text for kind, text in blocks(PAGES["docs/spark.md"]) if kind == "python"]
    for number, text in enumerate(texts):
        for folder in FOLDERS:
            own = f"-{number}" if folder == "predictions" or "def write" in text else ""  # each an example of its own
            text = text.replace(f'"{folder}"', f'"{tmp_path}/{folder}{own}"')
        exec(compile(text, "docs/spark.md", "exec"), names)
        for query in spark.streams.active:
            query.processAllAvailable()
            query.stop()
    for folder in ("predictions-0", "predictions-1", "more predictions"):
        assert spark.read.parquet(f"{tmp_path}/{folder}").count() == len(rows)
    assert names["model"].n_seen_ > 0
    assert len(names["fleet"]) == spark.read.parquet(f"{tmp_path}/models").count() == 3
    assert names["said"].count() == len(rows)
