"""A fleet in one file, in the format of :mod:`driftline.storage.model_file`."""

from __future__ import annotations

import json
import os
from collections import ChainMap
from typing import Any

import numpy as np

from driftline.base import registry
from driftline.base.learner import Learner
from driftline.errors import ModelFileError
from driftline.fleet.fleet import Fleet
from driftline.storage import model_file
from driftline.tables.inputs import Array

_KEYS = "keys"


def save(fleet: Fleet, path: str | os.PathLike[str]) -> None:
    """Writes the models that have learned, and the keys where they are names."""
    with fleet._in_use("Fleet.save"):
        state = fleet._state()
        learner: Learner = state["learner"]
        head = {
            "fleet": {"n": state["n"], "named": state["named"], "jobs": state["jobs"]},
            "learner": registry.name_of(type(learner)),
            "params": model_file.encode_params("Fleet", learner),
            "names": model_file.encode_names("Fleet", state["names"]),
            "learned": state["core"] is not None,
        }
        model_file.write(path, ChainMap({_KEYS: _encode_keys(state["keys"])}, state["core"] or {}), head)


def rebuild(learner: Learner, head: dict[str, Any], arrays: dict[str, Array]) -> Fleet:
    """The fleet of a file whose checksum agreed."""
    text = arrays.pop(_KEYS)
    keys = _decode_keys(text) if head["fleet"]["named"] else None
    names = head["names"]
    if head["learned"] and names is not None and len(names) + learner.intercept != arrays["weights"].shape[1]:
        raise ModelFileError("the names do not agree with the weights")
    fleet = Fleet.__new__(Fleet)
    fleet.__setstate__(
        {
            "learner": learner,
            **{name: head["fleet"][name] for name in ("n", "named", "jobs")},
            "names": names,
            "keys": keys,
            "core": arrays if head["learned"] else None,
        }
    )
    return fleet


def _encode_keys(keys: list[Any] | None) -> Array:
    """As a text of JSON: an array, since the head of a file is kept short."""
    for key in keys or []:
        if type(key) not in (str, int):
            raise ValueError(
                f"Fleet.save: the key {key!r} is no text and no whole number, which a model file needs; pickle takes any key"
            )
    return np.frombuffer(json.dumps(keys or []).encode(), dtype=np.uint8)


def _decode_keys(text: Array) -> list[Any]:
    keys = json.loads(text.tobytes())
    if not isinstance(keys, list) or not all(type(key) in (str, int) for key in keys) or len(set(keys)) != len(keys):
        raise ModelFileError("the keys are not distinct texts or whole numbers")
    return keys
