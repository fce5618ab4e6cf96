"""One model of one long history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, StructField, StructType

from driftline.base.learner import Learner
from driftline.linear.ridge import Ridge
from driftline.linear.rls import RLS
from driftline.moments import Moments
from driftline.spark.rows import columns_of
from driftline.spark.workers import require_workers
from driftline.storage.model_file import from_bytes


def fit(df: DataFrame, learner: Learner, *, order: str, features: Sequence[str], label: str) -> Learner:
    """Fits the model that would have learned all rows in order, by merging the moments of the partitions.

    Rows are sorted by ``order`` over the whole cluster, each partition is reduced to one :class:`driftline.Moments`, and
    the driver merges these: O(d²) numbers for each partition, whatever the number of rows.

    Args:
        df: the history.
        learner: Ridge, or RLS with a constant forgetting, with the parameters of the model.
        order: the column that orders the rows; with forgetting, it must have no ties.
        features: the columns of the features.
        label: the column of the labels.
    """
    columns = columns_of("spark.fit", None, order, features, label)
    columns.require(df, learner, only_numbers=True)
    empty, ridge = _moments_for(learner)
    require_workers(columns.where, df.sparkSession)
    used = df.select(*dict.fromkeys((order, *columns.features, label))).orderBy(order)
    schema = StructType([StructField("first", df.schema[order].dataType), StructField("moments", BinaryType())])
    learner, forgetting, intercept = learner.clone(), empty.forgetting, empty.intercept

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        moments, first = Moments(forgetting=forgetting, intercept=intercept), None
        for batch in batches:
            if not len(batch):
                continue
            moments.learn_many(columns.table(columns.features_of(batch, learner)), columns.labels(batch, learner))
            first = batch.column(order)[:1] if first is None else first
        if first is not None:
            yield pa.RecordBatch.from_arrays([first, pa.array([moments.to_bytes()])], names=["first", "moments"])

    parts = used.mapInArrow(work, schema).collect()
    if not parts:
        raise ValueError(f"{columns.where}: there are no rows")
    whole = empty
    for part in sorted(parts, key=lambda row: row["first"]):
        whole = whole.then(from_bytes(bytes(part["moments"])))
    return whole.model(ridge)


def _moments_for(learner: Learner) -> tuple[Moments, float]:
    forgetting: Any = 1.0
    if isinstance(learner, RLS):
        forgetting = learner.forgetting
        if callable(forgetting) or not isinstance(forgetting, (int, float)) or learner.keep_prior:
            raise ValueError("spark.fit: RLS must have a constant forgetting and keep_prior=False: others have no moments")
    elif not isinstance(learner, Ridge):
        raise TypeError(f"spark.fit: learner must be Ridge or RLS, got {type(learner).__name__}; replay takes any learner")
    if learner.dtype != "float64":
        raise ValueError("spark.fit: dtype must be 'float64'")
    if learner.missing != "raise":
        raise ValueError("spark.fit: missing must be 'raise'; drop rows with missing values first")
    return Moments(forgetting=float(forgetting), intercept=bool(learner.intercept)), float(learner.ridge)
