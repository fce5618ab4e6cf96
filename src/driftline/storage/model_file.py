"""Saved models: a safetensors file that is safe to open from anyone.

The arrays of the state are its tensors; everything else is JSON text in its header: the learner's name, its parameters, the
names of the features, and a SHA-256 over all of it. Nothing in the file is ever executed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from driftline import features, losses
from driftline.base import registry
from driftline.base.learner import Learner
from driftline.base.params import Parametrised
from driftline.errors import ModelFileError
from driftline.linear.policies import Add, Below, Divide, Every
from driftline.storage import atomic
from driftline.storage import tensors as tensor_file
from driftline.tables.inputs import Array

FORMAT, VERSION = "driftline", 1
_OBJECTS: dict[str, Callable[..., Any]] = {
    kind.__name__: kind for kind in (Add, Below, Divide, Every, *losses.BY_NAME.values())
}
_TRANSFORMERS: dict[str, type[features.Transformer]] = {kind.__name__: kind for kind in features.TRANSFORMERS}
_EMPTY = {"empty": np.zeros(1)}
_BESIDE = "beside."  # before the names of arrays that are not the learner's


@dataclass(frozen=True)
class Beside:
    """What is kept in a model's file beside the learner: plain values, as JSON knows them, and arrays."""

    plain: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)


def save(learner: Learner, path: str | os.PathLike[str], beside: Beside | None = None, *, alone: bool = False) -> None:
    """Writes a learner so that a reader finds the old file or the new one, never a part; ``alone`` as of ``atomic``."""
    state = learner.__getstate__()
    arrays = dict(state.get("core", _EMPTY))
    head = {
        "learner": registry.name_of(type(learner)),
        "params": encode_params(type(learner).__name__, learner),
        "names": encode_names(type(learner).__name__, state["names"]),
        "skipped": state["skipped"],
        "kept": state.get("kept", {}),
        "learned": "core" in state,
    }
    if "labels" in state:
        head["labels"] = _encode_labels(type(learner).__name__, state["labels"])
    if beside is not None:
        head["beside"] = _spell_infinities(beside.plain)
        arrays |= {_BESIDE + name: np.ascontiguousarray(array) for name, array in beside.arrays.items()}
    write(path, arrays, head, alone=alone)


def write(path: str | os.PathLike[str], arrays: Mapping[str, Array], head: dict[str, Any], *, alone: bool = False) -> None:
    """Writes arrays and a head that says what they are."""
    text = json.dumps(head, sort_keys=True)
    meta = {"format": FORMAT, "version": str(VERSION), "model": text, "sha256": _digest(arrays, text)}
    atomic.write(path, tensor_file.pieces(arrays, meta), alone=alone)


def load(path: str | os.PathLike[str]) -> Any:
    """Reads a learner that :meth:`driftline.Learner.save` wrote, or a fleet that :meth:`driftline.Fleet.save` wrote.

    Raises:
        ModelFileError: the file is truncated, altered, from another program, or from a later version.
    """
    return load_with_beside(path)[0]


def load_with_beside(path: str | os.PathLike[str]) -> tuple[Any, Beside | None]:
    """Reads a model, and what was kept beside it; None where nothing was."""
    try:
        arrays, meta = _read(path)
        return _rebuild(arrays, meta)
    except OSError:
        raise
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None
    except Exception as error:
        raise ModelFileError(f"{os.fspath(path)}: not a sound driftline model: {error}") from error


def head_of(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """What a model's file says of itself, its arrays unread and unchecked; None of a file that is no model's."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            meta = file.metadata() or {}
        head = json.loads(meta["model"]) if meta.get("format") == FORMAT else None
    except (SafetensorError, KeyError, ValueError):
        return None
    return head if isinstance(head, dict) else None


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Array], dict[str, str]]:
    from safetensors import SafetensorError, safe_open

    if not os.path.isfile(path):
        what = "not a regular file" if os.path.exists(path) else "no such file"
        raise FileNotFoundError(f"{os.fspath(path)}: {what}")
    try:
        with safe_open(path, framework="numpy") as file:
            meta = file.metadata() or {}
            return {name: file.get_tensor(name) for name in file.keys()}, meta  # noqa: SIM118 - no mapping
    except SafetensorError as error:
        raise ModelFileError(f"truncated, or not a driftline model ({error})") from None


def _rebuild(arrays: dict[str, Array], meta: dict[str, str]) -> tuple[Any, Beside | None]:
    if meta.get("format") != FORMAT:
        raise ModelFileError("not a driftline model")
    version = meta.get("version", "")
    if version != str(VERSION):
        raise ModelFileError(f"written in format version {version!r}; this driftline reads version {VERSION}")
    if meta.get("sha256") != _digest(arrays, meta["model"]):
        raise ModelFileError("altered since it was saved: the checksum does not agree")
    head = json.loads(meta["model"])
    learner = _make(head)
    names = head["names"]
    if names is not None and not _are_names(names):
        raise ModelFileError("the names of the features are not distinct texts")
    if "fleet" in head:
        from driftline.fleet import file as fleet_file

        return fleet_file.rebuild(learner, head, arrays), None
    others = {name.removeprefix(_BESIDE): array for name, array in arrays.items() if name.startswith(_BESIDE)}
    arrays = {name: array for name, array in arrays.items() if not name.startswith(_BESIDE)}
    skipped = head["skipped"]
    if type(skipped) is not int or not 0 <= skipped < 2**53:
        raise ModelFileError("the number of skipped rows is out of range")
    kept = {name: float(head["kept"][name]) for name in learner._kept} if head["learned"] else {}
    if not all(math.isfinite(value) and value > 0 for value in kept.values()):
        raise ModelFileError("holds a value that is out of range")
    if head["learned"] and names is not None and len(names) != learner._features_of(arrays):
        raise ModelFileError("the names do not agree with the weights")
    state = {"params": learner.get_params(deep=False), "skipped": skipped, "names": names, "kept": kept}
    if "labels" in head:
        state["labels"] = _decode_labels(head["labels"])
    if head["learned"]:
        state["core"] = arrays
    learner.__setstate__(state)
    return learner, Beside(_read_infinities(head["beside"]), others) if "beside" in head else None


def _make(head: dict[str, Any]) -> Learner:
    known = registry.learners()
    if head["learner"] not in known:
        raise ModelFileError(f"holds a learner that this driftline does not know: {head['learner']!r}")
    return known[head["learner"]](**{name: _decode(value) for name, value in head["params"].items()})


def _digest(arrays: Mapping[str, Array], text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        _add(digest, name, np.ascontiguousarray(arrays[name]))  # of which this one alone is held
    return digest.hexdigest()


def _add(digest: Any, name: str, array: Array) -> None:
    digest.update(f"{name}:{array.dtype.str}:{array.shape}:".encode())
    digest.update(array.data if array.size else b"")


def _encode(owner: str, name: str, value: Any) -> Any:
    if type(value) in _OBJECTS.values():
        keys = [field.name for field in fields(value)]
        return {"object": type(value).__name__, "fields": {key: _encode(owner, name, getattr(value, key)) for key in keys}}
    if isinstance(value, Learner):
        return {"learner": registry.name_of(type(value)), "params": encode_params(owner, value, f"{name}__")}
    if type(value) in _TRANSFORMERS.values():
        return {"transformer": type(value).__name__, "params": encode_params(owner, value, f"{name}__")}
    if isinstance(value, (list, tuple)) and any(isinstance(item, Parametrised) for item in value):
        return [_encode(owner, f"{name}__{place}", item) for place, item in enumerate(value)]
    if isinstance(value, (np.ndarray, Sequence)) and not isinstance(value, (str, bytes)):
        items = [item.item() if isinstance(item, np.generic) else item for item in value]
        return [item if type(item) in (bool, int, str) else float(item) for item in items]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"number": repr(float(value))} if isinstance(value, float) and not math.isfinite(value) else value
    kind = "a function" if callable(value) else f"a {type(value).__name__}"
    raise ValueError(f"{owner}.save: {name} is {kind}, which cannot be saved; give numbers, or pickle the learner")


def encode_params(owner: str, holder: Parametrised, within: str = "") -> dict[str, Any]:
    """The parameters as JSON knows them."""
    return {name: _encode(owner, within + name, value) for name, value in holder.get_params(deep=False).items()}


def _decode(value: Any) -> Any:
    if isinstance(value, dict) and "learner" in value:
        return _make(value)
    if isinstance(value, dict) and "transformer" in value:
        return _TRANSFORMERS[value["transformer"]](**{name: _decode(item) for name, item in value["params"].items()})
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if isinstance(value, dict) and "object" in value:
        return _OBJECTS[value["object"]](**{key: _decode(item) for key, item in value["fields"].items()})
    if isinstance(value, dict):
        return float(value["number"])
    return value


def _spell_infinities(value: Any) -> Any:
    """Plain values, numbers that JSON has no words for spelled out."""
    if isinstance(value, dict):
        return {key: _spell_infinities(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_spell_infinities(item) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    return {"number": repr(value)} if isinstance(value, float) and not math.isfinite(value) else value


def _read_infinities(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"number"} and isinstance(value["number"], str):
            return float(value["number"])
        return {key: _read_infinities(item) for key, item in value.items()}
    return [_read_infinities(item) for item in value] if isinstance(value, list) else value


def encode_names(owner: str, names: list[Any] | None) -> list[str] | None:
    """The names of the features, which must be texts."""
    for name in names or []:
        if not isinstance(name, str):
            raise ValueError(f"{owner}.save: the feature {name!r} is not named by text, which a model file needs")
    return names


def _encode_labels(owner: str, labels: list[Any]) -> list[Any]:
    for label in labels:
        if type(label) not in (str, int, float, bool):
            raise ValueError(f"{owner}.save: the label {label!r} is no text and no number, which a model file needs")
    return [_encode(owner, "labels", label) for label in labels]


def _decode_labels(labels: Any) -> list[Any]:
    found = [_decode(label) for label in labels]
    if not all(type(label) in (str, int, float, bool) for label in found) or len(set(found)) != len(found):
        raise ModelFileError("the labels are not distinct texts or numbers")
    return found


def _are_names(names: Any) -> bool:
    return isinstance(names, list) and all(type(name) is str for name in names) and len(set(names)) == len(names)
