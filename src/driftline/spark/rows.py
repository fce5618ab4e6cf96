"""Runs Spark rows through a fleet: the columns needed, and those added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import AtomicType, BooleanType, DoubleType, NumericType, StructField, StructType

from driftline.base import levels
from driftline.base.learner import Learner
from driftline.base.model import as_objects
from driftline.fleet import Fleet
from driftline.fleet.run import FleetRun
from driftline.tables.inputs import Array, Table


@dataclass(frozen=True)
class Columns:
    """The columns of a DataFrame that a verb uses; ``key`` is None if one model learns all rows."""

    where: str
    key: str | None
    order: str
    features: tuple[str, ...]
    label: str

    def require(self, df: DataFrame, learner: Learner, stream: bool = False) -> None:
        """Raises ValueError or TypeError, on the driver, if a column is missing or has a type that no model takes."""
        where = self.where
        if not isinstance(df, DataFrame):
            raise TypeError(f"{where}: the rows must be a DataFrame of Spark, got {type(df).__module__}.{type(df).__name__}")
        if df.isStreaming != stream:
            kind, verb = ("a stream", "follow is for streams") if df.isStreaming else ("no stream", "replay is for history")
            raise ValueError(f"{where}: the rows are {kind}; {verb}")
        if not isinstance(learner, Learner):
            raise TypeError(f"{where}: learner must be a driftline learner, got {learner!r}")
        if not self.features:
            raise ValueError(f"{where}: features must name one column or more")
        if (twice := _twice(field.name.lower() for field in df.schema.fields)) is not None:
            raise ValueError(f"{where}: the rows have two columns {twice!r}; rename one first")
        if dotted := [name for name in df.columns if "." in name]:
            raise ValueError(f"{where}: Spark takes the dot in the column {dotted[0]!r} for a field; rename it first")
        types = {field.name: field.dataType for field in df.schema.fields}
        named = [("order", self.order), ("label", self.label), *(("a feature", name) for name in self.features)]
        for what, name in named if self.key is None else [("key", self.key), *named]:
            if not isinstance(name, str):
                raise TypeError(f"{where}: {what} must be the name of a column, got {name!r}")
            if name not in types:
                raise ValueError(f"{where}: {what} is {name!r}, but the columns are {', '.join(types)}")
            if not isinstance(types[name], AtomicType):
                raise ValueError(f"{where}: the column {name!r} must hold single values, got {types[name].simpleString()}")
        numeric = [*self.features, *([self.label] if learner._estimator_type == "regressor" else [])]
        for name in numeric:
            if not isinstance(types[name], (NumericType, BooleanType)):
                raise ValueError(f"{where}: the column {name!r} must hold numbers, got {types[name].simpleString()}")
        if _twice(self.features) is not None:
            raise ValueError(f"{where}: a feature is named twice: {', '.join(self.features)}")
        if self.label in self.features:
            raise ValueError(f"{where}: the label {self.label!r} is one of the features")

    def features_of(self, batch: pa.RecordBatch, learner: Learner) -> Array:
        """The features of a batch. Nulls are NaN; they and infinities are refused here unless the learner skips them."""
        strict = learner.missing == "raise"
        for name in (self.key, self.order, *((*self.features, self.label) if strict else ())):
            if name is not None and (nulls := batch.column(name).null_count):
                raise ValueError(f"{self.where}: the column {name!r} has {nulls} null values among {len(batch)} rows")
        values = np.column_stack([_numbers(batch.column(name)) for name in self.features])
        if strict:
            self._require_finite(batch, self.features, values)
        return values

    def table(self, features: Array) -> Table:
        """Features with their names."""
        return Table(features, len(features), len(self.features), list(self.features), self.where)

    def _require_finite(self, batch: pa.RecordBatch, names: Sequence[str], values: Array) -> None:
        """Raises ValueError for NaN and infinity, with the column and the row's place."""
        if not np.isfinite(values).all():
            row, j = np.argwhere(~np.isfinite(values))[0].tolist()
            places = [name for name in (self.key, self.order) if name is not None]
            at = ", ".join(f"{name} = {batch.column(name)[row].as_py()!r}" for name in places)
            raise ValueError(f"{self.where}: the column {names[j]!r} holds {values[row, j]} in the row with {at}")

    def labels(self, batch: pa.RecordBatch, learner: Learner) -> Array:
        """The labels of a batch."""
        column = batch.column(self.label)
        if learner._estimator_type == "regressor":
            labels = _numbers(column)
            if learner.missing == "raise":
                self._require_finite(batch, [self.label], labels[:, None])
            return labels
        return as_objects(column.to_pylist())


def columns_of(where: str, key: str | None, order: str, features: Sequence[str], label: str) -> Columns:
    """The columns of a call."""
    if isinstance(features, str) or not isinstance(features, Sequence):
        raise TypeError(f"{where}: features must be a list of columns, got {features!r}")
    return Columns(where, key, order, tuple(features), label)


def output_schema(
    df: DataFrame, columns: Columns, learner: Learner, level: float | None, alarms: bool = False
) -> StructType:
    """The rows with the prediction and, if requested, the bounds of its interval and the alarm."""
    if level is not None:
        levels.as_level(level, columns.where)
        if learner._estimator_type != "regressor":
            raise ValueError(f"{columns.where}: level is for regressors: there is no interval around a class")
    kind = DoubleType() if learner._estimator_type == "regressor" else df.schema[columns.label].dataType
    added = [StructField("prediction", kind)]
    if level is not None:
        added += [StructField("lower", DoubleType()), StructField("upper", DoubleType())]
    if alarms:
        added.append(StructField("alarm", BooleanType()))
    for field in added:
        if field.name in map(str.lower, df.columns):
            raise ValueError(f"{columns.where}: the rows have a column {field.name!r} already; rename it first")
    return StructType([*df.schema.fields, *added])


def new_fleet(learner: Learner, level: float | None, alarms: bool = False) -> Fleet:
    """A fleet for one task, with one thread, because Spark runs tasks in parallel."""
    return Fleet(learner, named=True, jobs=1, intervals=level is not None, alarms=alarms)


def added_columns(found: FleetRun, level: float | None) -> dict[str, Any]:
    """The columns to add to the rows of a batch."""
    ends = {} if level is None else {"lower": found.lower, "upper": found.upper}
    values = {"prediction": found.predictions, **ends}
    return {name: pa.array(column, from_pandas=False) for name, column in values.items()}


def _twice(names: Iterable[str]) -> str | None:
    """The first name that occurs more than once."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def _numbers(column: Any) -> Array:
    numbers = pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False)
    return np.asarray(numbers, dtype=np.float64)
