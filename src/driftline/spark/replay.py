"""A fleet over history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from driftline.base.learner import Learner
from driftline.base.levels import as_spread
from driftline.fleet import Fleet
from driftline.spark.rows import added_columns, columns_of, lent, new_fleet, output_schema
from driftline.spark.workers import require_workers


def replay(
    df: DataFrame,
    learner: Learner,
    *,
    key: str,
    order: str,
    features: Sequence[str],
    label: str,
    level: float | None = None,
    quantiles: Sequence[float] | None = None,
    pooled: Fleet | None = None,
) -> DataFrame:
    """Predicts the rows of each key and then learns them, in order; returns them with ``prediction``.

    Each key has its own model, and predictions equal those of one :class:`driftline.Fleet` bit for bit. Rows are
    repartitioned by key and sorted, and a task keeps only the models of one batch, so its memory does not grow with the
    number of keys.

    Args:
        df: the history.
        learner: a learner with the parameters of every model.
        key: the column of the keys.
        order: the column that orders the rows of a key, without ties: tied rows are learned in any order.
        features: the columns of the features.
        label: the column of the labels.
        level: adds ``lower`` and ``upper``, the bounds of the intervals at this level.
        quantiles: adds ``quantiles``, an array of the label's quantiles of these levels, in ascending order.
        pooled: a pooled fleet, with the same learner, that has learned rows: keys start from what it knows of all keys,
            which stays as it is. None: keys are strangers to each other.
    """
    columns = columns_of("spark.replay", key, order, features, label)
    columns.require(df, learner)
    spread = as_spread(columns.where, level, quantiles)
    pool = lent(pooled, learner, columns.where)
    schema, learner, intervals = output_schema(df, columns, learner, spread), learner.clone(), bool(spread)
    require_workers(columns.where, df.sparkSession)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        fleet = new_fleet(learner, intervals, pooled=pool)
        for batch in batches:
            if not len(batch):
                continue
            keys, X = batch.column(key).to_pylist(), columns.table(columns.features_of(batch, learner))
            found = fleet.run(keys, X, columns.labels(batch, learner), level=level, quantiles=quantiles)
            added = added_columns(found)
            yield pa.RecordBatch.from_arrays([*batch.columns, *added.values()], names=[*batch.schema.names, *added])
            fleet.drop([name for name in fleet.keys_ if name != keys[-1]])  # rows are sorted by key: no other comes again

    return df.repartition(key).sortWithinPartitions(key, order).mapInArrow(work, schema)
