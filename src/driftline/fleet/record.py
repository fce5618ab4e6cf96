"""A fleet as a record of a model file, and back."""

from __future__ import annotations

import json
from collections import ChainMap
from typing import TYPE_CHECKING, Any

import numpy as np

from driftline.errors import ModelFileError
from driftline.storage import codec
from driftline.storage.model_file import Record
from driftline.tables.inputs import Array

if TYPE_CHECKING:
    from driftline.fleet.fleet import Fleet

_KEYS = "keys"


def of(fleet: Fleet) -> Record:
    """The models that have learned, and the keys where they are names. The arrays are made when they are asked for."""
    state = fleet._state()
    head = {
        "fleet": {name: state[name] for name in ("n", "named", "jobs")},
        "learner": codec.encode_model("Fleet", state["learner"]),
        "names": codec.encode_names("Fleet", state["names"]),
        "learned": state["core"] is not None,
    }
    return Record("fleet", head, ChainMap({_KEYS: _encode_keys(state["keys"])}, state["core"] or {}))


def state_in(record: Record) -> dict[str, Any]:
    """The state of a record's fleet; raises ModelFileError where it is not sound."""
    head, arrays = record.head, dict(record.arrays)
    text = arrays.pop(_KEYS)
    learner, names = codec.decode(head["learner"]), codec.decode_names(head["names"])
    if head["learned"] and names is not None and len(names) + learner.intercept != arrays["weights"].shape[1]:
        raise ModelFileError("the names do not agree with the weights")
    return {
        "learner": learner,
        **{name: head["fleet"][name] for name in ("n", "named", "jobs")},
        "names": names,
        "keys": _decode_keys(text) if head["fleet"]["named"] else None,
        "core": arrays if head["learned"] else None,
    }


def _encode_keys(keys: list[Any] | None) -> Array:
    """As JSON text in an array, since the header of a file is kept short."""
    for key in keys or []:
        if type(key) not in (str, int):
            raise ValueError(
                f"Fleet.save: the key {key!r} is neither text nor a whole number, which a model file needs; "
                "pickle takes any key"
            )
    return np.frombuffer(json.dumps(keys or []).encode(), dtype=np.uint8)


def _decode_keys(text: Array) -> list[Any]:
    keys = json.loads(text.tobytes())
    if not isinstance(keys, list) or not all(type(key) in (str, int) for key in keys) or len(set(keys)) != len(keys):
        raise ModelFileError("the keys are not distinct texts or whole numbers")
    return keys
