"""Converts parameters to JSON and back. A class whose instances may be parameters registers itself."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from driftline.errors import ModelFileError

T = TypeVar("T", bound=type)

_MAPPING = "mapping"
_JSON = (type(None), bool, int, str)  # types whose values JSON holds as they are
_NESTED = (dict, list)
_classes: dict[str, Callable[..., Any]] = {_MAPPING: lambda names, values: dict(zip(names, values, strict=True))}
_names: dict[type, str] = {}
_fields: dict[type, Callable[[Any], dict[str, Any]]] = {}


def register(cls: T, name: str, fields: Callable[[Any], dict[str, Any]]) -> T:
    """Registers a class under a name. ``fields`` returns the keyword arguments that make an equal instance."""
    _classes[name], _names[cls], _fields[cls] = cls, name, fields
    return cls


def storable(cls: T) -> T:
    """Class decorator: lets a dataclass be a parameter of a saved model."""
    names = [field.name for field in dataclasses.fields(cls) if field.init]
    return register(cls, cls.__name__, lambda value: {name: getattr(value, name) for name in names})


def encode(owner: str, name: str, value: Any) -> Any:
    """A parameter as a JSON value; raises ValueError, with owner and name, if it cannot be expressed."""
    if type(value) in _JSON or (type(value) is float and math.isfinite(value)):
        return value
    if type(value) in _names:
        return {"object": _names[type(value)], "fields": encode_fields(owner, f"{name}__", _fields[type(value)](value))}
    if isinstance(value, (list, tuple)) and any(type(item) in _names for item in value):
        return [encode(owner, f"{name}__{place}", item) for place, item in enumerate(value)]
    if isinstance(value, (np.ndarray, Sequence)) and not isinstance(value, (str, bytes)):
        items = [item.item() if isinstance(item, np.generic) else item for item in value]
        return [item if type(item) in (bool, int, str) else float(item) for item in items]
    if isinstance(value, Mapping):  # as two lists, since files sort mappings
        parts = {"names": list(value), "values": list(value.values())}
        return {"object": _MAPPING, "fields": encode_fields(owner, f"{name}__", parts)}
    plain = spell_infinities(value)
    if plain is None or isinstance(plain, (bool, int, float, str, dict)):
        return plain
    kind = "a function" if callable(value) else f"a {type(value).__name__}"
    raise ValueError(f"{owner}.save: {name} is {kind}, which cannot be saved; give numbers, or pickle the learner")


def encode_fields(owner: str, prefix: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Encodes several parameters, by name."""
    return {name: value if type(value) in _JSON else encode(owner, prefix + name, value) for name, value in fields.items()}


def encode_model(owner: str, model: Any) -> dict[str, Any]:
    """The class and the parameters of a registered model."""
    if type(model) not in _names:
        raise ValueError(f"{type(model).__name__} is not registered: decorate it with driftline.base.registry.learner")
    return {"object": _names[type(model)], "fields": encode_fields(owner, "", _fields[type(model)](model))}


def decode(value: Any) -> Any:
    """Inverts :func:`encode`."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if isinstance(value, dict) and "object" in value:
        if value["object"] not in _classes:
            raise ModelFileError(f"holds a class that this driftline does not know: {value['object']!r}")
        fields = {name: item if type(item) not in _NESTED else decode(item) for name, item in value["fields"].items()}
        return _classes[value["object"]](**fields)
    return read_infinities(value)


def spell_infinities(value: Any) -> Any:
    """Spells out the numbers that JSON cannot express."""
    if isinstance(value, dict):
        return {key: item if type(item) in _JSON else spell_infinities(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [item if type(item) in _JSON else spell_infinities(item) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    return {"number": repr(float(value))} if isinstance(value, float) and not math.isfinite(value) else value


def read_infinities(value: Any) -> Any:
    """Inverts :func:`spell_infinities`."""
    if isinstance(value, dict):
        if value.keys() == {"number"} and isinstance(value["number"], str):
            return float(value["number"])
        return {key: read_infinities(item) if type(item) in _NESTED else item for key, item in value.items()}
    if isinstance(value, list):
        return [read_infinities(item) if type(item) in _NESTED else item for item in value]
    return value


def encode_names(owner: str, names: list[Any] | None) -> list[str] | None:
    """Feature names, which must be text."""
    for name in names or []:
        if not isinstance(name, str):
            raise ValueError(f"{owner}.save: the feature name {name!r} is not text, which a model file needs")
    return names


def encode_known(features: list[Any] | None) -> list[Any] | None:
    """Features, by name or by index."""
    for feature in features or []:
        if type(feature) not in (str, int):
            raise ValueError(f"Forecaster.save: the feature {feature!r} is neither text nor a number, which a file needs")
    return features


def decode_names(names: Any) -> list[str] | None:
    """Feature names; raises ModelFileError unless they are distinct strings."""
    if names is not None and not (
        isinstance(names, list) and all(type(name) is str for name in names) and len(set(names)) == len(names)
    ):
        raise ModelFileError("the feature names are not distinct strings")
    return names


def decode_count(value: Any, what: str, end: int = 2**53) -> int:
    """A count; raises ModelFileError unless it is a whole number from 0 to below ``end``."""
    if type(value) is not int or not 0 <= value < end:
        raise ModelFileError(f"{what} is out of range")
    return value
