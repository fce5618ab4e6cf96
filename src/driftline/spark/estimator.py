"""An estimator and a model of Spark ML, for pipelines."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from typing import Any, Self

import pyarrow as pa
from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import vector_to_array
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import BinaryType, DoubleType, StructField, StructType

from driftline.base.learner import Learner
from driftline.fleet import Fleet
from driftline.linear.ridge import Ridge
from driftline.linear.rls import RLS
from driftline.spark.fit import fit
from driftline.spark.models import models
from driftline.spark.rows import Columns
from driftline.spark.workers import require_workers
from driftline.storage.model_file import from_bytes

_PARTS = 1 << 12  # keys of a part of a saved fleet
_ONE = "__driftline_one"  # the key of all rows, of a model without keys
_SAID = "__driftline_said"
_NUMBER = "__driftline_{}"  # a number of a vector


class _Columns(Params):
    """The parameters that the estimator and its model share."""

    features = Param(
        Params._dummy(), "features", "columns of the features, or one column of vectors", TypeConverters.toListString
    )
    key = Param(Params._dummy(), "key", "column of the keys; without, one model learns all rows", TypeConverters.toString)
    order = Param(Params._dummy(), "order", "column that orders the rows, without ties", TypeConverters.toString)
    label = Param(Params._dummy(), "label", "column of the labels", TypeConverters.toString)
    level = Param(Params._dummy(), "level", "level of the intervals", TypeConverters.toFloat)
    prediction = Param(Params._dummy(), "prediction", "column for the predictions", TypeConverters.toString)

    def _of(self, name: str) -> Any:
        return self.getOrDefault(name) if self.isDefined(name) else None

    def _spread_out(self, df: DataFrame) -> tuple[DataFrame, list[str]]:
        """The rows with a column for each feature, and their names. A vector becomes columns of its own."""
        names: list[str] = list(self.getOrDefault("features"))
        if len(names) != 1 or df.schema[names[0]].dataType.typeName() != "vectorudt":
            return df, names
        first = df.select(F.size(vector_to_array(F.col(names[0])))).first()
        count = 0 if first is None else first[0]
        numbers = [vector_to_array(F.col(names[0]))[number].alias(_NUMBER.format(number)) for number in range(count)]
        return df.select("*", *numbers), [_NUMBER.format(number) for number in range(count)]


class DriftlineEstimator(Estimator, _Columns, DefaultParamsReadable, DefaultParamsWritable):
    """Learns a history, in order, and returns a :class:`DriftlineModel`, which predicts and does not learn.

    Args:
        learner: a learner with the parameters of every model; it must be one that a model file can hold.
        features: the columns of the features, or one column of vectors, as a ``VectorAssembler`` makes it.
        key: the column of the keys, each with its own model. Without, one model learns all rows: merged from the moments of
            the partitions for Ridge and RLS (:func:`fit`), row by row in one task for others.
        order: the column that orders the rows, without ties.
        label: the column of the labels.
        level: adds ``lower`` and ``upper`` to the predictions of keyed models.
        prediction: the column for the predictions.
    """

    learner = Param(Params._dummy(), "learner", "model file of the learner, in base 64", TypeConverters.toString)

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(
        self,
        *,
        learner: Learner | None = None,
        features: Sequence[str] | None = None,
        key: str | None = None,
        order: str | None = None,
        label: str | None = None,
        level: float | None = None,
        prediction: str = "prediction",
    ) -> None:
        super().__init__()
        self._setDefault(prediction="prediction")
        self.setParams(**self._input_kwargs)

    def setParams(self, **given: Any) -> Self:  # noqa: N802 - the name in Spark ML
        """Sets parameters by name; ``learner`` is a learner."""
        if isinstance(learner := given.get("learner"), Learner):
            given["learner"] = b64encode(learner.to_bytes()).decode()
        if isinstance(features := given.get("features"), str):
            given["features"] = [features]
        self._set(**{name: value for name, value in given.items() if value is not None})
        return self

    def getLearner(self) -> Learner:  # noqa: N802 - as Spark ML names such methods
        """The learner."""
        if (text := self._of("learner")) is None:
            raise ValueError("DriftlineEstimator: learner is not set")
        found: Learner = from_bytes(b64decode(text))
        return found

    def _fit(self, dataset: DataFrame) -> DriftlineModel:
        learner, key, label = self.getLearner(), self._of("key"), self._of("label")
        for name in ("features", "order", "label"):
            if self._of(name) is None:
                raise ValueError(f"DriftlineEstimator: {name} is not set")
        rows, names = self._spread_out(dataset)
        order: Any = self._of("order")
        used = rows.select(*dict.fromkeys([*([key] if key else []), order, *names, label]))
        found: Learner | Fleet
        if key is not None:
            columns: dict[str, Any] = {"key": key, "order": order, "features": names, "label": label}
            found = models(used, learner, **columns, level=self._of("level")).fleet()
        elif isinstance(learner, Ridge) or (isinstance(learner, RLS) and isinstance(learner.forgetting, float)):
            found = fit(used, learner, order=order, features=names, label=label)
        else:
            one = used.withColumn(_ONE, F.lit(""))
            found = models(one, learner, key=_ONE, order=order, features=names, label=label).fleet()[""]
        model = DriftlineModel(found)
        self._copyValues(model)
        model.uid = self.uid
        return model


class DriftlineModel(Model, _Columns, MLReadable, MLWritable):
    """Adds predictions to rows, by the models as they are after the last row that they learned.

    Attributes:
        model: the learner, or the fleet of a model with keys, on the driver.
    """

    def __init__(self, model: Learner | Fleet | None = None) -> None:
        super().__init__()
        self.model: Any = model
        self._setDefault(prediction="prediction")

    def _transform(self, dataset: DataFrame) -> DataFrame:
        rows, names = self._spread_out(dataset)
        require_workers("DriftlineModel", dataset.sparkSession)
        key, level, column = self._of("key"), self._of("level"), self.getOrDefault("prediction")
        columns = Columns("DriftlineModel", key, None, tuple(names), "")
        ends = ["lower", "upper"] if key is not None and level is not None else []
        data, fields = self.model.to_bytes(), [column, *ends]

        def work(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
            model = from_bytes(data)
            for batch in map(pa.RecordBatch.from_struct_array, batches):
                if isinstance(model, Fleet):
                    keys, X = batch.column(key).to_pylist(), columns.table(columns.features_of(batch, model.learner, False))
                    found = [model.predict_many(keys, X), *(model.predict_intervals(keys, X, level) if ends else ())]
                else:
                    found = [model.predict(columns.table(columns.features_of(batch, model, False)))]
                yield pa.StructArray.from_arrays(list(map(pa.array, found)), names=fields)

        predict = F.arrow_udf(work, StructType([StructField(name, DoubleType()) for name in fields]))
        used = F.struct(*dict.fromkeys([*([key] if key is not None else []), *names]))
        said = rows.select(*dataset.columns, predict(used).alias(_SAID))
        return said.select(*dataset.columns, *(F.col(f"{_SAID}.{name}").alias(name) for name in fields))

    def write(self) -> MLWriter:
        """Writes the parameters, and the model in parts that Spark distributes."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader[DriftlineModel]:
        """Reads what :meth:`write` wrote."""
        return _Reader()


class _Writer(MLWriter):
    def __init__(self, instance: DriftlineModel) -> None:
        super().__init__()
        self._instance = instance

    def saveImpl(self, path: str) -> None:  # noqa: N802 - the name in Spark ML
        """Writes the metadata, and a row for each part of the model."""
        spark, model = SparkSession.active(), self._instance.model
        DefaultParamsWriter.saveMetadata(self._instance, path, spark)
        parts = model.split(len(model) // _PARTS + 1) if isinstance(model, Fleet) else [model]
        rows = [(bytearray(part.to_bytes()),) for part in parts]
        spark.createDataFrame(rows, StructType([StructField("part", BinaryType())])).write.parquet(path + "/model")


class _Reader(MLReader[DriftlineModel]):
    def load(self, path: str) -> DriftlineModel:
        """Reads the model and its parameters."""
        spark = SparkSession.active()
        metadata = DefaultParamsReader.loadMetadata(path, spark)
        parts = [from_bytes(bytes(row["part"])) for row in spark.read.parquet(path + "/model").collect()]
        found = DriftlineModel(Fleet.merge(parts) if isinstance(parts[0], Fleet) else parts[0])
        found._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(found, metadata)
        return found
