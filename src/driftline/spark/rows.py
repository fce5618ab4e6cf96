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
from pyspark.sql.types import (
    ArrayType,
    AtomicType,
    BooleanType,
    DateType,
    DoubleType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from driftline.base.learner import Learner
from driftline.base.levels import Spread
from driftline.base.model import as_objects
from driftline.fleet import Fleet
from driftline.fleet.core import has_fixed_size
from driftline.fleet.run import FleetRun
from driftline.tables import missing
from driftline.tables.block import RowBlock
from driftline.tables.inputs import Array
from driftline.tables.missing import RAISE

_NUMBERS = (NumericType, BooleanType)
_SPECIAL = (StringType, DateType, TimestampType, TimestampNTZType)  # what learners encode


@dataclass(frozen=True)
class Columns:
    """The columns of a DataFrame that a verb uses; ``key`` is None if one model learns all rows."""

    where: str
    key: str | None
    order: str | None
    features: tuple[str, ...]
    label: str

    def require(self, df: DataFrame, learner: Learner, stream: bool = False, only_numbers: bool = False) -> None:
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
        special = () if only_numbers else _SPECIAL
        wanted = dict.fromkeys(self.features, special)
        for name, more in (wanted | ({self.label: ()} if learner._estimator_type == "regressor" else {})).items():
            if not isinstance(types[name], (*_NUMBERS, *more)):
                words = "numbers, text or times" if more else "numbers"
                raise ValueError(f"{where}: the column {name!r} must hold {words}, got {types[name].simpleString()}")
        if has_fixed_size(learner):
            _refuse_special(learner, [name for name in self.features if isinstance(types[name], _SPECIAL)], where)
        if _twice(self.features) is not None:
            raise ValueError(f"{where}: a feature is named twice: {', '.join(self.features)}")
        if self.label in self.features:
            raise ValueError(f"{where}: the label {self.label!r} is one of the features")

    def features_of(self, batch: pa.RecordBatch, learner: Learner, checked: bool = True) -> Array | pa.Table:
        """The features of a batch: an array if all are numbers, otherwise their columns.

        Nulls and infinities of columns in which the learner refuses them are refused here, by name, if ``checked``.
        """
        strict = [name for name in self.features if checked and missing.word(learner.missing, name) == RAISE]
        needed = [self.label] if checked and not missing.skips_labels(learner.missing) else []
        for name in (self.key, self.order, *strict, *needed):
            if name is not None and (nulls := batch.column(name).null_count):
                raise ValueError(f"{self.where}: the column {name!r} has {nulls} null values among {len(batch)} rows")
        found = {name: _numbers(column) if _is_numeric(column := batch.column(name)) else column for name in self.features}
        numbers = {name: values for name, values in found.items() if isinstance(values, np.ndarray)}
        for name in strict:
            if name in numbers:
                self._require_finite(batch, name, numbers[name])
        return np.column_stack([*numbers.values()]) if len(numbers) == len(found) else pa.table(found)

    def table(self, features: Array | pa.Table) -> Any:
        """Features with their names."""
        if not isinstance(features, np.ndarray):
            return features
        return RowBlock(features, names=list(self.features), where=self.where)

    def _require_finite(self, batch: pa.RecordBatch, name: str, values: Array) -> None:
        """Raises ValueError for NaN and infinity, with the column and the row's place."""
        if not np.isfinite(values).all():
            row = int(np.isfinite(values).argmin())
            places = [place for place in (self.key, self.order) if place is not None]
            at = ", ".join(f"{place} = {batch.column(place)[row].as_py()!r}" for place in places)
            raise ValueError(f"{self.where}: the column {name!r} holds {values[row]} in the row with {at}")

    def labels(self, batch: pa.RecordBatch, learner: Learner, checked: bool = True) -> Array:
        """The labels of a batch; those that the learner refuses are refused here, by name, if ``checked``."""
        column = batch.column(self.label)
        if learner._estimator_type == "regressor":
            labels = _numbers(column)
            if checked and not missing.skips_labels(learner.missing):
                self._require_finite(batch, self.label, labels)
            return labels
        return as_objects(column.to_pylist())


def columns_of(where: str, key: str | None, order: str, features: Sequence[str], label: str) -> Columns:
    """The columns of a call."""
    if isinstance(features, str) or not isinstance(features, Sequence):
        raise TypeError(f"{where}: features must be a list of columns, got {features!r}")
    return Columns(where, key, order, tuple(features), label)


def output_schema(df: DataFrame, columns: Columns, learner: Learner, spread: Spread, alarms: bool = False) -> StructType:
    """The rows with the prediction and, if requested, the bounds of its interval, its quantiles and the alarm."""
    if spread and learner._estimator_type != "regressor":
        what = "level is for regressors: there is no interval" if spread.place else "quantiles are for regressors: none are"
        raise ValueError(f"{columns.where}: {what} around a class")
    kind = DoubleType() if learner._estimator_type == "regressor" else df.schema[columns.label].dataType
    added = [StructField("prediction", kind)]
    if spread.level is not None:
        added += [StructField("lower", DoubleType()), StructField("upper", DoubleType())]
    if spread.quantiles is not None:
        added.append(StructField("quantiles", ArrayType(DoubleType())))
    if alarms:
        added.append(StructField("alarm", BooleanType()))
    for field in added:
        if field.name in map(str.lower, df.columns):
            raise ValueError(f"{columns.where}: the rows have a column {field.name!r} already; rename it first")
    return StructType([*df.schema.fields, *added])


def new_fleet(learner: Learner, intervals: bool, alarms: bool = False, pooled: Fleet | None = None) -> Fleet:
    """A fleet for one task, with one thread, because Spark runs tasks in parallel."""
    return Fleet(learner, named=True, jobs=1, intervals=intervals, alarms=alarms, pooled=False if pooled is None else pooled)


def lent(pooled: Fleet | None, learner: Learner, where: str) -> Fleet | None:
    """What a trained pooled fleet lends to each task, without the models of its keys."""
    if pooled is not None and not isinstance(pooled, Fleet):
        raise TypeError(f"{where}: pooled must be a pooled fleet that has learned rows, got {pooled!r}")
    return None if pooled is None else Fleet(learner, pooled=pooled)


def added_columns(found: FleetRun) -> dict[str, Any]:
    """The columns to add to the rows of a batch."""
    ends = {} if found.lower is None else {"lower": found.lower, "upper": found.upper}
    values = {"prediction": found.predictions, **ends}
    columns: dict[str, Any] = {name: pa.array(column, from_pandas=False) for name, column in values.items()}
    if found.quantiles is not None:
        columns["quantiles"] = pa.array(list(found.quantiles), pa.list_(pa.float64()))
    return columns


def _twice(names: Iterable[str]) -> str | None:
    """The first name that occurs more than once."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def _is_numeric(column: Any) -> bool:
    checks = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    return any(check(column.type) for check in checks)


def _numbers(column: Any) -> Array:
    numbers = pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False)
    return np.asarray(numbers, dtype=np.float64)


def _refuse_special(learner: Learner, names: list[Any], where: str) -> None:
    """Raises ValueError for columns of text or times, which would add features to models of fixed size."""
    if names:
        kind = type(learner).__name__
        raise ValueError(
            f"{where}: {names[0]!r} holds text or times, which add features along the way, but the models in a fleet of "
            f"{kind} have a fixed size; use Fleet(features.Hashing(64) | {kind}(...)) for text, or a learner "
            "that can grow, such as Auto"
        )
