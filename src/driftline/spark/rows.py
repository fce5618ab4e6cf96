"""Runs Spark rows through a fleet: the columns needed, and those added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import BooleanType, DoubleType, NumericType, StructField, StructType

from driftline.base import levels
from driftline.base.learner import Learner
from driftline.fleet import Fleet
from driftline.fleet.run import FleetRun
from driftline.tables.inputs import Array, Table


@dataclass(frozen=True)
class Columns:
    """The columns of a DataFrame that a verb uses; ``key`` is None where there is one model of all rows."""

    where: str
    key: str | None
    order: str
    features: tuple[str, ...]
    label: str

    def require(self, df: DataFrame, learner: Learner) -> None:
        """Raises on the driver where a column is not there, or is of a type that no model takes."""
        if not isinstance(learner, Learner):
            raise TypeError(f"{self.where}: learner must be a driftline learner, got {learner!r}")
        if not self.features:
            raise ValueError(f"{self.where}: features must name one column or more")
        types = {field.name: field.dataType for field in df.schema.fields}
        for what, name in (("key", self.key), ("order", self.order), ("label", self.label), *self._named_features):
            if name is not None and name not in types:
                raise ValueError(f"{self.where}: {what} is {name!r}, but the columns are {', '.join(types)}")
        numeric = [*self.features, *([self.label] if learner._estimator_type == "regressor" else [])]
        for name in numeric:
            if not isinstance(types[name], (NumericType, BooleanType)):
                raise ValueError(f"{self.where}: the column {name!r} must hold numbers, got {types[name].simpleString()}")
        if len(set(self.features)) < len(self.features):
            raise ValueError(f"{self.where}: a feature is named twice: {', '.join(self.features)}")

    @property
    def _named_features(self) -> list[tuple[str, str]]:
        return [("a feature", name) for name in self.features]

    def table(self, batch: pa.RecordBatch, learner: Learner) -> Table:
        """The features of a batch; nulls are NaN, and refused here unless the learner skips them."""
        for name in (self.key, *((*self.features, self.label) if learner.missing == "raise" else ())):
            if name is not None and (nulls := batch.column(name).null_count):
                raise ValueError(f"{self.where}: the column {name!r} has {nulls} null values among {len(batch)} rows")
        values = np.column_stack([_numbers(batch.column(name)) for name in self.features])
        return Table(values, len(batch), len(self.features), list(self.features), self.where)

    def labels(self, batch: pa.RecordBatch, learner: Learner) -> Array:
        """The labels of a batch."""
        column = batch.column(self.label)
        if learner._estimator_type == "regressor":
            return _numbers(column)
        out = np.empty(len(batch), dtype=object)
        out[:] = column.to_pylist()
        return out


def columns_of(where: str, key: str | None, order: str, features: Sequence[str], label: str) -> Columns:
    """The columns of a call."""
    if isinstance(features, str):
        raise TypeError(f"{where}: features must be a list of columns, got {features!r}")
    return Columns(where, key, order, tuple(features), label)


def output_schema(
    df: DataFrame, columns: Columns, learner: Learner, level: float | None, alarms: bool = False
) -> StructType:
    """The rows with the prediction and, if requested, the bounds of its interval and the alarm."""
    if level is not None:
        levels.as_level(level, columns.where)
    kind = DoubleType() if learner._estimator_type == "regressor" else df.schema[columns.label].dataType
    added = [StructField("prediction", kind)]
    if level is not None:
        added += [StructField("lower", DoubleType()), StructField("upper", DoubleType())]
    if alarms:
        added.append(StructField("alarm", BooleanType()))
    for field in added:
        if field.name in df.columns:
            raise ValueError(f"{columns.where}: the rows have a column {field.name!r} already; rename it first")
    return StructType([*df.schema.fields, *added])


def new_fleet(learner: Learner, level: float | None, alarms: bool = False) -> Fleet:
    """A fleet as a task has it: tasks are the threads."""
    return Fleet(learner, named=True, jobs=1, intervals=level is not None, alarms=alarms)


def run(fleet: Fleet, batch: pa.RecordBatch, columns: Columns, level: float | None) -> FleetRun:
    """Predicts and learns a batch."""
    learner = fleet._learner
    assert columns.key is not None
    keys = batch.column(columns.key).to_pylist()
    return fleet.run(keys, columns.table(batch, learner), columns.labels(batch, learner), level=level)


def added_columns(found: FleetRun, level: float | None) -> dict[str, Any]:
    """The columns to add to the rows of a batch."""
    ends = {} if level is None else {"lower": found.lower, "upper": found.upper}
    values = {"prediction": found.predictions, **ends}
    return {name: pa.array(column, from_pandas=False) for name, column in values.items()}


def _numbers(column: Any) -> Array:
    numbers = pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False)
    return np.asarray(numbers, dtype=np.float64)
