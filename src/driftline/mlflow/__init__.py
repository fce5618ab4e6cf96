"""Models in MLflow: logged, registered, loaded, and served as Python functions. Needs the extra ``mlflow``."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import driftline
from driftline.base.learner import Learner
from driftline.base.levels import as_level
from driftline.errors import missing_extra
from driftline.fleet import Fleet
from driftline.storage import model_file
from driftline.tables.calendar import Times
from driftline.tables.categories import Categories

try:
    from mlflow import artifacts, pyfunc
    from mlflow.models import Model, ModelSignature
    from mlflow.models.model import ModelInfo
    from mlflow.models.utils import _save_example
    from mlflow.types import ColSpec, DataType, Schema, TensorSpec
except ImportError:
    raise missing_extra("driftline.mlflow needs", "mlflow", "mlflow") from None

__all__ = ["load_model", "log_model", "save_model"]
FLAVOR_NAME = "driftline"
_FILE, _KEY = "model.drift", "key"


def log_model(
    model: Learner | Fleet,
    name: str,
    *,
    registered_model_name: str | None = None,
    level: float | None = None,
    **options: Any,
) -> ModelInfo:
    """Logs a model in the active run, or in a new one; with ``registered_model_name``, also as a version of that model.

    Args:
        model: a trained learner or fleet.
        name: the name of the logged model.
        registered_model_name: the name in the registry.
        level: as for :func:`save_model`.
        options: those of ``mlflow.models.Model.log``, and ``signature`` and ``input_example`` of :func:`save_model`.
    """
    what = {"name": name, "registered_model_name": registered_model_name, "model": model, "level": level}
    about: ModelInfo = Model.log(None, sys.modules[__name__], **what, **options)
    return about


def save_model(
    model: Learner | Fleet,
    path: str | os.PathLike[str],
    *,
    level: float | None = None,
    signature: ModelSignature | None = None,
    input_example: Any = None,
    mlflow_model: Model | None = None,
) -> None:
    """Writes a model as a folder in MLflow's format, with the flavours ``driftline`` and ``python_function``.

    Args:
        model: a trained learner or fleet.
        path: the folder, which must not exist.
        level: the function then returns ``prediction``, ``lower`` and ``upper`` in place of the predictions alone.
        signature: by default, that of the model's columns; a fleet also has the column ``key``.
        input_example: by default, a row of zeros, and of texts and times that the model knows. False for none.
        mlflow_model: used by MLflow.
    """
    if not isinstance(model, (Learner, Fleet)):
        raise TypeError(f"mlflow.save_model: model must be a learner or a fleet, got {type(model).__name__}")
    if level is not None:
        as_level(level, "mlflow.save_model")
    folder = Path(path)
    folder.mkdir(parents=True)
    model_file.save(model, folder / _FILE)
    about = mlflow_model or Model()
    example = _example(model) if input_example is None else input_example
    about.signature = signature or ModelSignature(_inputs(model), _outputs(model, level))
    if example is not False:
        _save_example(about, example, str(folder))
    about.add_flavor(FLAVOR_NAME, driftline_version=driftline.__version__, data=_FILE, kind=type(model).__name__)
    packages = [f"driftline=={driftline.__version__}", "pandas"]
    environment = {"python_env": "python_env.yaml", "model_config": {"level": level}}
    pyfunc.add_to_model(about, loader_module="driftline.mlflow", data=_FILE, **environment)
    (folder / "requirements.txt").write_text("\n".join(packages) + "\n")
    lines = [f"python: {platform.python_version()}", "build_dependencies: [pip]", "dependencies: [-r requirements.txt]"]
    (folder / "python_env.yaml").write_text("\n".join(lines) + "\n")
    about.save(str(folder / "MLmodel"))


def load_model(model_uri: str) -> Any:
    """The learner or fleet that was logged, from ``models:/NAME/VERSION``, ``runs:/…`` or a folder; it goes on learning."""
    return model_file.load(Path(artifacts.download_artifacts(artifact_uri=model_uri)) / _FILE)


def _load_pyfunc(path: str, model_config: dict[str, Any] | None = None) -> _Function:
    return _Function(model_file.load(path), (model_config or {}).get("level"))


class _Function:
    """Predicts rows without learning: by ``predict`` of a learner, and ``predict_many`` of a fleet."""

    def __init__(self, model: Learner | Fleet, level: float | None) -> None:
        self.model, self.level = model, level

    def get_raw_model(self) -> Learner | Fleet:
        """The model itself."""
        return self.model

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """The predictions, or a frame with the ends of the intervals."""
        rows: tuple[Any, ...] = (model_input,)
        if isinstance(self.model, Fleet):
            rows = (model_input[_KEY].tolist(), model_input.drop(columns=_KEY))
            said = self.model.predict_many(*rows)
        else:
            said = self.model.predict(*rows)
        if self.level is None:
            return said
        intervals: Any = self.model.predict_intervals
        lower, upper = intervals(*rows, self.level)
        return pd.DataFrame({"prediction": said, "lower": lower, "upper": upper})


def _columns(model: Learner | Fleet) -> dict[Any, DataType] | None:
    """The columns as the model was given them; None if it learned arrays."""
    fleet = isinstance(model, Fleet)
    known: Any = model._columns() if isinstance(model, Fleet) else model._columns and model._columns.columns
    if not known:
        try:
            names: Any = model.feature_names_in_
        except AttributeError:
            names = None
        if names is None and not fleet:
            return None
        known = dict.fromkeys(() if names is None else names)
    kinds: dict[Any, DataType] = {Times: DataType.datetime, Categories: DataType.string}
    found = {name: kinds.get(type(column), DataType.double) for name, column in known.items()}
    if isinstance(model, Fleet):
        text = all(isinstance(key, str) for key in model.keys_)
        return {_KEY: DataType.string if text else DataType.long, **found}
    return found


def _inputs(model: Learner | Fleet) -> Schema:
    columns = _columns(model)
    if columns is None:
        return Schema([TensorSpec(np.dtype(np.float64), (-1, model.n_features_in_))])
    return Schema([ColSpec(kind, str(name), required=name == _KEY) for name, kind in columns.items()])


def _outputs(model: Learner | Fleet, level: float | None) -> Schema:
    learner = model.learner if isinstance(model, Fleet) else model
    if learner._estimator_type == "classifier":
        return Schema([ColSpec(DataType.string)])
    if level is None:
        return Schema([TensorSpec(np.dtype(np.float64), (-1,))])
    return Schema([ColSpec(DataType.double, name) for name in ("prediction", "lower", "upper")])


def _example(model: Learner | Fleet) -> Any:
    columns = _columns(model)
    if columns is None:
        return np.zeros((1, model.n_features_in_))
    values: dict[DataType, Any] = {DataType.double: 0.0, DataType.string: "a", DataType.datetime: pd.Timestamp("2026-01-01")}
    row = {str(name): [values.get(kind, 0)] for name, kind in columns.items()}
    if isinstance(model, Fleet):
        row[_KEY] = [model.keys_[0] if len(model) else row[_KEY][0]]
    return pd.DataFrame(row)
