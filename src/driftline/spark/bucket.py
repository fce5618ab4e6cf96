"""Runs the rows of one bucket of a stream through its fleet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from driftline.base.learner import Learner
from driftline.fleet import Fleet
from driftline.spark.rows import Columns, added_columns, new_fleet, run
from driftline.spark.settings import Settings
from driftline.spark.state import State
from driftline.tables.inputs import Array

HASH = "__driftline_hash"  # the column of the keys' hashes


@dataclass(frozen=True)
class Task:
    """The arguments of :func:`driftline.spark.follow`, which explains them."""

    learner: Learner
    columns: Columns
    buckets: int
    settings: Settings
    level: float | None = None
    id: str | None = None
    idle: float | None = None  # in units of the order, which are seconds for times
    alarms: bool = False

    def new_fleet(self) -> Fleet:
        """Rows that wait go through a fleet without a label: its models must skip them."""
        learner = self.learner.clone().set_params(missing="skip") if self.id else self.learner
        return new_fleet(learner, self.level, self.alarms)


class Bucket:
    """The keys whose hashes have one remainder.

    Args:
        task: what to do.
        state: after the last batch; None before the first one.
    """

    def __init__(self, task: Task, state: State | None) -> None:
        self._task = task
        self.state = State(task.new_fleet()) if state is None else state

    def run(self, batch: pa.RecordBatch) -> pa.Table:
        """Predicts and learns rows in their order; returns them with what is added, and after them those of alarms."""
        task, columns = self._task, self._task.columns
        hashes = batch.column(HASH)
        batch = batch.drop_columns([HASH])
        answered = {} if task.id is None else self._match(batch)
        found = run(self.state.fleet, self._with_features(batch, answered), columns, task.level)
        self._note(batch, hashes)
        added = added_columns(found, task.level)
        if task.id is not None:
            added["prediction"] = pa.array(self._settle(batch, found.predictions.copy(), answered))
        if task.idle is not None:
            self._let_go(batch)
        out = pa.table({**dict(zip(batch.schema.names, batch.columns, strict=True)), **added})
        if not task.alarms:
            return out
        both = pa.concat_tables([out, out.take(pa.array(found.alarms))])
        return both.append_column("alarm", pa.array(np.arange(len(both)) >= len(out)))

    def _note(self, batch: pa.RecordBatch, hashes: Any) -> None:
        """The hashes of keys that are new."""
        new = self.state.fleet.keys_[len(self.state.hashes) :]
        if new:
            known = dict(zip(batch.column(self._task.columns.key).to_pylist(), hashes.to_pylist(), strict=True))
            self.state.hashes = np.concatenate([self.state.hashes, np.array([known[key] for key in new], dtype=np.int32)])

    # Labels that come later.

    def _match(self, batch: pa.RecordBatch) -> dict[int, list[float]]:
        """The rows that bring the label of one that waits, with the features and the prediction of that one."""
        columns, waiting = self._task.columns, dict(self.state.waiting)
        missing, features = self._labels_and_features(batch)
        answered = {}
        for row, place in enumerate(self._places(batch)):
            if missing[row]:
                if place in waiting:
                    raise ValueError(f"{columns.where}: the id {place[1]!r} of the key {place[0]!r} is already waiting")
                waiting[place] = [*features[row].tolist(), np.nan]  # its prediction is not made yet
            elif place in waiting:
                answered[row] = waiting.pop(place)
                continue
            if self._task.learner.missing == "raise" and np.isnan(features[row]).any():
                name = columns.features[int(np.isnan(features[row]).argmax())]
                raise ValueError(f"{columns.where}: the column {name!r} is null for the id {place[1]!r}, which did not wait")
        return answered

    def _with_features(self, batch: pa.RecordBatch, answered: dict[int, list[float]]) -> pa.RecordBatch:
        """The rows with the features of those that waited."""
        rows, numbers = list(answered), np.array(list(answered.values()))
        for j, name in enumerate(self._task.columns.features if answered else ()):
            column = batch.column(name).to_numpy(zero_copy_only=False).astype(float)
            column[rows] = numbers[:, j]
            batch = batch.set_column(batch.schema.get_field_index(name), name, pa.array(column, from_pandas=True))
        return batch

    def _settle(self, batch: pa.RecordBatch, predictions: Array, answered: dict[int, list[float]]) -> Array:
        """Rows that brought a label get the prediction of the row that waited; rows without one wait."""
        missing, features = self._labels_and_features(batch)
        for row, place in enumerate(self._places(batch)):
            if missing[row]:
                self.state.waiting[place] = [*features[row].tolist(), float(predictions[row])]
            elif row in answered:
                predictions[row] = self.state.waiting.pop(place)[-1]
        return predictions

    def _labels_and_features(self, batch: pa.RecordBatch) -> tuple[Array, Array]:
        """Which labels are missing, and the features of all rows."""
        columns = self._task.columns
        missing = np.isnan(batch.column(columns.label).to_numpy(zero_copy_only=False).astype(float))
        features = [batch.column(name).to_numpy(zero_copy_only=False).astype(float) for name in columns.features]
        return missing, np.column_stack(features)

    def _places(self, batch: pa.RecordBatch) -> Iterator[tuple[str, str]]:
        columns = self._task.columns
        places = [batch.column(name) for name in (columns.key, self._task.id)]
        for name, column in zip((columns.key, self._task.id), places, strict=True):
            if nulls := column.null_count:
                raise ValueError(f"{columns.where}: the column {name!r} has {nulls} null values among {len(batch)} rows")
        return zip(*(map(str, column.to_pylist()) for column in places), strict=True)

    # Keys that come no more.

    def _let_go(self, batch: pa.RecordBatch) -> None:
        assert self._task.idle is not None
        columns = self._task.columns
        order, key = (batch.column(name).to_pandas() for name in (columns.order, columns.key))
        keys = self.state.fleet.keys_
        seen = np.concatenate([self.state.seen, np.full(len(keys) - len(self.state.seen), -np.inf)])
        seen = np.fmax(seen, _as_numbers(order).groupby(key).max().reindex(keys).to_numpy(dtype=float))
        stay = seen >= seen.max(initial=-np.inf) - self._task.idle
        self.state.seen = seen
        self.state.keep(stay)


def _as_numbers(order: pd.Series) -> pd.Series:
    """Numbers as they are, times in seconds."""
    if pd.api.types.is_datetime64_any_dtype(order):
        order = (order - pd.Timestamp(0, tz=order.dt.tz)) / pd.Timedelta(1, "s")
    return order.astype(float)
