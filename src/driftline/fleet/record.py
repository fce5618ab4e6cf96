"""Converts a fleet to a record of a model file, and back."""

from __future__ import annotations

import json
from collections import ChainMap
from typing import Any

import numpy as np

from driftline.base.alarm import Alarm
from driftline.errors import ModelFileError
from driftline.fleet.packed import Options
from driftline.fleet.separate import KeyedModel
from driftline.storage import codec, model_file
from driftline.storage.model_file import Record
from driftline.tables.inputs import Array

_KEYS, _ALARM = "keys", "alarm."
_OPTIONS = tuple(vars(Options()))
_COUNTS = ("raised", "last", "judged", "inside")


def of(state: dict[str, Any]) -> Record:
    """The models that have learned, and the keys if they are named. Arrays are created on access."""
    core = state["core"]
    head = {
        "fleet": {name: state[name] for name in _OPTIONS},
        "learner": codec.encode_model("Fleet", state["learner"]),
        "names": codec.encode_names("Fleet", state["names"]),
        "learned": core is not None,
    }
    arrays = {} if core is None else core if "entries" not in core else _encode_entries(core["slots"], core["entries"])
    return Record("fleet", head, ChainMap({_KEYS: _encode_keys(state["keys"])}, arrays))


def state_in(record: Record) -> dict[str, Any]:
    """The state of a record's fleet; raises ModelFileError if it is invalid."""
    head, arrays = record.head, dict(record.arrays)
    text = arrays.pop(_KEYS)
    learner, names = codec.decode(head["learner"]), codec.decode_names(head["names"])
    core: dict[str, Any] | None = arrays if head["learned"] else None
    if core is not None and "models" in core:
        core = _decode_entries(core, head["learner"])
    elif core is not None and names is not None and len(names) + learner.intercept != core["weights"].shape[1]:
        raise ModelFileError("the names do not agree with the weights")
    return {
        "learner": learner,
        **{name: head["fleet"][name] for name in _OPTIONS},
        "names": names,
        "keys": _decode_keys(text) if head["fleet"]["named"] else None,
        "core": core,
    }


# Separate models: the bytes of each, one after another.


def _encode_entries(slots: Array, entries: list[KeyedModel]) -> dict[str, Array]:
    texts = [entry.model.to_bytes() for entry in entries]
    arrays = {
        "slots": slots,
        "models": np.frombuffer(b"".join(texts), dtype=np.uint8),
        "ends": np.cumsum([len(text) for text in texts]),
        "counts": np.array([[getattr(entry, name) for name in _COUNTS] for entry in entries], dtype=np.int64),
    }
    alarms = [entry.alarm.__getstate__() for entry in entries if entry.alarm is not None]
    if alarms:
        arrays.update({_ALARM + name: np.stack([alarm[name] for alarm in alarms]) for name in alarms[0]})
    return arrays


def _decode_entries(arrays: dict[str, Array], kind: dict[str, Any]) -> dict[str, Any]:
    data, ends, counts = arrays["models"].tobytes(), arrays["ends"].tolist(), arrays["counts"]
    if ends != sorted(ends) or ends[-1] != len(data) or counts.shape != (len(ends), len(_COUNTS)):
        raise ModelFileError("the models do not agree with their number")
    if counts.dtype != np.int64 or (counts < [0, -1, 0, 0]).any() or (counts[:, 3] > counts[:, 2]).any():
        raise ModelFileError("the counts of a model are out of range")
    states = {name.removeprefix(_ALARM): array for name, array in arrays.items() if name.startswith(_ALARM)}
    entries = []
    for place, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        model = model_file.from_bytes(data[start:end])
        if codec.encode_model("Fleet", model) != kind:
            raise ModelFileError("a model is not one of the fleet's learner")
        alarm = None
        if states:
            alarm = Alarm()
            alarm.__setstate__({name: array[place] for name, array in states.items()})
        entries.append(KeyedModel(model, alarm, **dict(zip(_COUNTS, counts[place].tolist(), strict=True))))
    return {"slots": arrays["slots"], "entries": entries}


def _encode_keys(keys: list[Any] | None) -> Array:
    """As JSON text in an array, since the header of a file is kept short."""
    for key in keys or []:
        if type(key) not in (str, int):
            raise ValueError(
                f"Fleet.save: the key {key!r} cannot be saved: a model file takes text and whole numbers; "
                "pickle takes any key"
            )
    return np.frombuffer(json.dumps(keys or []).encode(), dtype=np.uint8)


def _decode_keys(text: Array) -> list[Any]:
    keys = json.loads(text.tobytes())
    if not isinstance(keys, list) or not all(type(key) in (str, int) for key in keys) or len(set(keys)) != len(keys):
        raise ModelFileError("the keys are not distinct texts or whole numbers")
    return keys
