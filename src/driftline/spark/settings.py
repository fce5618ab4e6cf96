"""The settings that a checkpoint of a stream belongs to. A call with other settings is refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from typing import Any

from pyspark.sql.types import StructType

from driftline.base.learner import Learner
from driftline.spark.rows import Columns
from driftline.storage import codec
from driftline.storage.model_file import VERSION

Settings = dict[str, Any]


def settings_of(learner: Learner, columns: Columns, types: StructType, **options: Any) -> Settings:
    """Plain values for JSON, by the names that error messages use.

    ``options`` are those of :func:`driftline.spark.follow`. A level, quantiles and ``idle`` may have other values in a later
    call, but cannot be added or removed.
    """
    assert columns.key is not None
    pool = options.get("pool")
    try:
        kind = codec.encode_model(type(learner).__name__, learner)
    except ValueError as error:
        raise ValueError(f"{columns.where}: a checkpoint cannot hold this learner: {error}") from None
    is_classifier = learner._estimator_type == "classifier"
    return {
        "models in format": VERSION,
        "the learner": kind,
        "the features": list(columns.features),
        "keys of the type": types[columns.key].dataType.simpleString(),
        "an order of the type": None if options["idle"] is None else types[columns.order].dataType.simpleString(),
        "classes of the type": types[columns.label].dataType.simpleString() if is_classifier else None,
        "level": options["level"] is not None,
        "quantiles": options["quantiles"] is not None,
        "id": options["id"] is not None,
        "idle": options["idle"] is not None,
        "alarms": options["alarms"],
        "the number of buckets": options["buckets"],
        "the pool": None if pool is None else hashlib.sha256(pool.to_bytes()).hexdigest()[:16],
    }


def require_same(where: str, kept: str, settings: Settings, apart_from: Collection[str] = ()) -> None:
    """Raises ValueError, naming the setting, if a checkpoint has other settings."""
    was = json.loads(kept)
    for name, now in settings.items():
        if name in apart_from or was.get(name, False if name == "quantiles" else None) == now:
            continue
        if isinstance(now, bool):
            raise ValueError(f"{where}: the checkpoint was made {'without' if now else 'with'} {name}")
        then, this = (codec.decode(value) if name == "the learner" else value for value in (was.get(name), now))
        hint = "; start= changes it" if name == "the number of buckets" else ""
        raise ValueError(f"{where}: the checkpoint was made with {name} {then!r}, not {this!r}{hint}")
