"""The settings that a checkpoint of a stream belongs to. A call with other settings is refused."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from pyspark.sql.types import StructType

from driftline.base.learner import Learner
from driftline.spark.rows import Columns
from driftline.storage import codec
from driftline.storage.model_file import VERSION

Settings = dict[str, Any]

_WORDS = {"key": "keys of the type", "order": "an order of the type", "label": "classes of the type"}


def settings_of(learner: Learner, columns: Columns, types: StructType, **options: Any) -> Settings:
    """Plain values for JSON. A level and ``idle`` may take other values in a later call, but not come or go.

    ``options`` are those of :func:`driftline.spark.follow`.
    """
    assert columns.key is not None
    try:
        kind = codec.encode_model(type(learner).__name__, learner)
    except ValueError as error:
        raise ValueError(f"{columns.where}: a checkpoint cannot hold this learner: {error}") from None
    is_classifier = learner._estimator_type == "classifier"
    return {
        "format": VERSION,
        "learner": kind,
        "features": list(columns.features),
        "key": types[columns.key].dataType.simpleString(),
        "order": None if options["idle"] is None else types[columns.order].dataType.simpleString(),
        "label": types[columns.label].dataType.simpleString() if is_classifier else None,
        "level": options["level"] is not None,
        "id": options["id"] is not None,
        "idle": options["idle"] is not None,
        "alarms": options["alarms"],
        "buckets": options["buckets"],
    }


def require_same(where: str, kept: str, settings: Settings, apart_from: Collection[str] = ()) -> None:
    """Raises ValueError where a checkpoint has other settings, and says which."""
    was = json.loads(kept)
    for name, now in settings.items():
        if name in apart_from or was.get(name) == now:
            continue
        if isinstance(now, bool):
            raise ValueError(f"{where}: the checkpoint was made {'without' if now else 'with'} {name}")
        if name == "buckets":
            raise ValueError(f"{where}: the checkpoint has {was[name]} buckets, not {now}; start= changes their number")
        if name == "format":
            raise ValueError(f"{where}: the checkpoint has models in format {was[name]}; this driftline reads format {now}")
        then, this = (codec.decode(value) if name == "learner" else value for value in (was[name], now))
        raise ValueError(f"{where}: the checkpoint was made with {_WORDS.get(name, 'the ' + name)} {then!r}, not {this!r}")
