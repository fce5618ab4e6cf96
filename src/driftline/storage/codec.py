"""Objects, and what they have learned, as JSON and arrays, and back. Files, bytes and checkpoints are made of these.

A class takes part by :func:`register` or :func:`storable`. Its parameters, or the fields of a value, are passed to its
constructor again, which checks them. What a :class:`Stateful` object has learned is the state that pickle uses too: plain
values, arrays and further objects, by name. ``_from_file`` takes the default of any name that an older file lacks.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from driftline.errors import ModelFileError
from driftline.tables.inputs import Array

T = TypeVar("T", bound=type)

_JSON = (type(None), bool, int, str)  # types whose values JSON holds as they are
_NESTED = (dict, list)
_MARKS = {"array", "arrays", "list", "mapping", "number", "object"}  # keys that mark what JSON cannot express
_SHORT = 100  # entries of a list in the header of a file; more become an array of text
_DTYPES = ("|b1", "|u1", "|i1", *(f"<{kind}{size}" for kind in "iuf" for size in (2, 4, 8)))
_classes: dict[str, Callable[..., Any]] = {}
_names: dict[type, str] = {}
_fields: dict[type, Callable[[Any], dict[str, Any]]] = {}
_values: set[type] = set()  # classes of parameters


class Stateful:
    """An object that files hold. Its state is that of a pickle, which files check as they are read."""

    def _to_file(self) -> dict[str, Any]:
        """The state for a file; raises ValueError if a file cannot hold it."""
        state: dict[str, Any] = self.__getstate__()  # type: ignore[assignment]
        return state

    def _from_file(self, state: dict[str, Any]) -> None:
        """Restores a state from a file, on a new object; raises an error if it is invalid."""
        self.__setstate__(state)  # type: ignore[attr-defined]


class Deferred(Mapping[str, Array]):
    """Arrays by name that are made on each access, so that not all are in memory at once."""


def register(cls: T, name: str, fields: Callable[[Any], dict[str, Any]] | None = None, make: Any = None) -> T:
    """Registers a class under a name.

    ``fields`` returns the keyword arguments from which ``make``, or the class, makes an equal object; without it, an object
    is made of its state alone.
    """
    _classes[name], _names[cls] = make or cls, name
    if fields is not None:
        _fields[cls] = fields
    return cls


def storable(cls: T) -> T:
    """Class decorator: lets files hold a dataclass."""
    names = [field.name for field in dataclasses.fields(cls) if field.init]
    _values.add(cls)
    return register(cls, cls.__name__, lambda value: {name: getattr(value, name) for name in names})


def is_model(kind: type) -> bool:
    """Whether a file can consist of an object of a class, which may not be a mere parameter."""
    return kind in _names and kind not in _values


def class_of(name: str) -> Any:
    """What makes the objects that are registered under a name."""
    return _classes[name]


# Parameters: JSON alone.


def encode(owner: str, name: str, value: Any) -> Any:
    """A parameter as a JSON value; raises ValueError, with owner and name, if it cannot be expressed."""
    return _encode(owner, name, value, None)


def encode_model(owner: str, model: Any) -> dict[str, Any]:
    """The class and the parameters of a registered model."""
    require_registered(model)
    return _encode_object(owner, "", model, None)


def decode(value: Any, arrays: Mapping[str, Array] | None = None) -> Any:
    """Inverts :func:`encode`, or :func:`encode_tree` with its arrays."""
    return _decode(value, _Whole(arrays or {}))


# Whole objects: JSON and arrays.


def encode_tree(owner: str, value: Any) -> tuple[Any, Mapping[str, Array]]:
    """A value, with the state of the objects in it, as JSON and arrays."""
    if isinstance(value, Stateful):
        require_registered(value)
    arrays = Arrays()
    return _encode(owner, "", value, arrays), arrays.plainly()


def pack(value: Any) -> dict[str, Array]:
    """A value, with the state of the objects in it, as a few arrays."""
    arrays = Arrays()
    arrays.add_list("value", "value", [value])
    return dict(arrays)


def unpack(arrays: Mapping[str, Array]) -> Any:
    """Inverts :func:`pack`; raises ModelFileError or ValueError if the arrays are invalid."""
    return _Whole(arrays).read_list({"list": "value"})[0]


class Arrays(Mapping[str, Array]):
    """Arrays by their place in what was encoded; some are made on each access."""

    def __init__(self) -> None:
        self._made: dict[str, Array] = {}
        self._deferred: dict[str, tuple[Deferred, str]] = {}

    def __getitem__(self, name: str) -> Array:
        if name in self._made:
            return self._made[name]
        source, own = self._deferred[name]
        return source[own]

    def __iter__(self) -> Iterator[str]:
        yield from self._made
        yield from self._deferred

    def __len__(self) -> int:
        return len(self._made) + len(self._deferred)

    def plainly(self) -> Mapping[str, Array]:
        """A plain mapping, if all arrays have been made."""
        return self if self._deferred else self._made

    def add(self, name: str, array: Array) -> dict[str, Any]:
        """Adds an array; returns the JSON that stands for it."""
        self._made[name] = array
        return {"array": name}

    def defer(self, name: str, source: Deferred) -> dict[str, Any]:
        """Adds arrays that are made later."""
        places = {own: f"{name}.{own}" for own in source}
        self._deferred |= {place: (source, own) for own, place in places.items()}
        return {"arrays": places}

    def add_list(self, owner: str, name: str, items: Sequence[Any]) -> Any:
        """Adds a list. One that is long, or that holds arrays, becomes text and one array for each type of number."""
        pool = _Pool()
        found = [_encode(owner, f"{name}[{place}]", item, pool) for place, item in enumerate(items)]
        if name != "value" and not pool.parts and len(found) <= _SHORT:
            return found
        self._made[name] = np.frombuffer(json.dumps(found).encode(), dtype=np.uint8)
        self._made |= {f"{name}{dtype}": np.concatenate(parts) for dtype, parts in pool.parts.items()}
        return {"list": name}


class _Pool:
    """The arrays of a list, joined to one for each type."""

    def __init__(self) -> None:
        self.parts: dict[str, list[Array]] = {}

    def add(self, name: str, array: Array) -> dict[str, Any]:
        kind = array.dtype.str
        if kind not in _DTYPES:
            raise ValueError(f"{name} holds {array.dtype}, which cannot be saved")
        self.parts.setdefault(kind, []).append(np.ravel(array))
        return {"array": [kind, *array.shape]}

    def defer(self, name: str, source: Deferred) -> dict[str, Any]:
        return {own: self.add(f"{name}.{own}", source[own]) for own in source}

    def add_list(self, owner: str, name: str, items: Sequence[Any]) -> Any:
        return [_encode(owner, f"{name}[{place}]", item, self) for place, item in enumerate(items)]


def _encode(owner: str, name: str, value: Any, into: Arrays | _Pool | None) -> Any:
    kind = type(value)
    if kind in (list, tuple) and any(map(callable, value)):
        raise ValueError(f"{owner}.save: {name} holds functions, which cannot be saved; pickle the learner")
    if kind in _JSON or (kind is float and math.isfinite(value)):
        return value
    if kind in _names:
        return _encode_object(owner, name, value, into)
    if into is not None and isinstance(value, np.ndarray):
        return into.add(name, value)
    if into is not None and isinstance(value, Deferred):
        return into.defer(name, value)
    if into is not None and isinstance(value, (list, tuple)):
        return into.add_list(owner, name, value)
    if isinstance(value, (list, tuple)) and any(type(item) in _names for item in value):
        return [_encode(owner, f"{name}__{place}", item, into) for place, item in enumerate(value)]
    if isinstance(value, (np.ndarray, Sequence)) and not isinstance(value, (str, bytes)):
        items = [item.item() if isinstance(item, np.generic) else item for item in value]
        return [item if type(item) in (bool, int, str) else _encode(owner, name, float(item), None) for item in items]
    if isinstance(value, Mapping):
        if into is not None and {*map(type, value)} <= {str} and _MARKS.isdisjoint(value):
            return _encode_items(owner, f"{name}." if name else "", value, into)
        encoded = [_encode(owner, name, list(part), into) for part in (value.keys(), value.values())]
        return {"mapping": encoded}
    plain = spell_infinities(value)
    if plain is None or isinstance(plain, (bool, int, float, str, dict)):
        return plain
    what = "a function" if callable(value) else f"a {kind.__name__}"
    raise ValueError(f"{owner}.save: {name} is {what}, which cannot be saved; give numbers, or pickle the learner")


def _encode_items(owner: str, prefix: str, items: Mapping[str, Any], into: Arrays | _Pool | None) -> dict[str, Any]:
    found = {}
    for key, item in items.items():
        kind = type(item)
        if kind in _JSON or (kind is float and math.isfinite(item)):
            found[key] = item
        elif kind is np.ndarray and into is not None:
            found[key] = into.add(prefix + key, item)
        else:
            found[key] = _encode(owner, prefix + key, item, into)
    return found


def _encode_object(owner: str, name: str, value: Any, into: Arrays | _Pool | None) -> dict[str, Any]:
    kind = type(value)
    found: dict[str, Any] = {"object": _names[kind]}
    stateful = isinstance(value, Stateful)
    if kind in _fields:
        fields, own = _fields[kind](value), None if stateful else into  # the parameters of models are plain
        prefix = "" if not name or (stateful and into is not None) else f"{name}__" if own is None else f"{name}."
        found["fields"] = _encode_items(owner, prefix, fields, own)
    if stateful and into is not None:
        state = value._to_file()
        prefix = f"{name}." if name else ""
        found["state"] = _encode_items(owner, prefix, state, into)
    return found


class _Whole:
    """The arrays of a file."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self._arrays = arrays
        self.take: Callable[[Any], Array] = arrays.__getitem__

    def read_list(self, value: dict[str, Any]) -> list[Any]:
        name = value["list"]
        pools = {kind: self._arrays[f"{name}{kind}"] for kind in _DTYPES if f"{name}{kind}" in self._arrays}
        pool = _Joined(pools)
        found: list[Any] = _decode(json.loads(self._arrays[name].tobytes()), pool)
        pool.require_end()
        return found


class _Joined:
    """The joined arrays of a list, which are taken in order."""

    def __init__(self, pools: dict[str, Array]) -> None:
        self._pools, self._at = pools, dict.fromkeys(pools, 0)

    def take(self, layout: Any) -> Array:
        kind, *shape = layout
        if kind not in self._pools or not all(type(length) is int and length >= 0 for length in shape):
            raise ModelFileError("a list does not agree with its numbers")
        start = self._at[kind]
        self._at[kind] = stop = start + math.prod(shape)
        if stop > len(self._pools[kind]):
            raise ModelFileError("a list does not agree with its numbers")
        return self._pools[kind][start:stop].reshape(shape).copy()

    def read_list(self, value: dict[str, Any]) -> list[Any]:
        raise ModelFileError("a list is inside another one")

    def require_end(self) -> None:
        if any(self._at[kind] != len(pool) for kind, pool in self._pools.items()):
            raise ModelFileError("a list does not agree with its numbers")


def _decode(value: Any, source: _Whole | _Joined) -> Any:
    if isinstance(value, list):
        return [_decode(item, source) if type(item) in _NESTED else item for item in value]
    if not isinstance(value, dict):
        return value
    if "object" in value:
        return _decode_object(value, source)
    if _MARKS.isdisjoint(value):
        return _decode_items(value, source)
    if "array" in value:
        return source.take(value["array"])
    if "arrays" in value:
        return {name: source.take(place) for name, place in value["arrays"].items()}
    if "list" in value:
        return source.read_list(value)
    if "mapping" in value:
        keys, items = (_decode(part, source) for part in value["mapping"])
        return dict(zip(keys, items, strict=True))
    return read_infinities(value)


def _decode_items(items: dict[str, Any], source: _Whole | _Joined) -> dict[str, Any]:
    found = {}
    for key, item in items.items():
        if type(item) not in _NESTED:
            found[key] = item
        elif type(item) is dict and item.keys() == {"array"}:
            found[key] = source.take(item["array"])
        else:
            found[key] = _decode(item, source)
    return found


def _decode_object(value: dict[str, Any], source: _Whole | _Joined) -> Any:
    if value["object"] not in _classes:
        raise ModelFileError(f"holds a class that this driftline does not know: {value['object']!r}")
    make = _classes[value["object"]]
    fields = _decode_items(value["fields"], source) if "fields" in value else None
    found: Any = object.__new__(make) if fields is None else make(**fields)  # type: ignore[arg-type]
    if "state" in value:
        found._from_file(_decode_items(value["state"], source))
    elif "fields" not in value:
        raise ModelFileError(f"holds no state of {value['object']!r}")
    return found


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


def leaves(state: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The values in a state and in the states within it, each with its place."""
    for name, part in state.items():
        if isinstance(part, dict):
            yield from ((f"{name}.{place}", value) for place, value in leaves(part))
        else:
            yield name, part


# Checks of what files hold.


def require_registered(model: Any) -> None:
    """Raises ValueError unless files can hold objects of this class."""
    if type(model) not in _names:
        raise ValueError(f"{type(model).__name__} is not registered: decorate it with driftline.base.registry.learner")


def require_plain(owner: str, labels: Iterable[Any]) -> None:
    """Raises ValueError unless all class labels are text or numbers."""
    for label in labels:
        if type(label) not in (str, int, float, bool):
            raise ValueError(f"{owner}.save: the label {label!r} is neither text nor a number, which a model file needs")


def require_text(owner: str, names: Sequence[Any] | None) -> None:
    """Raises ValueError unless feature names are text."""
    for name in names or ():
        if not isinstance(name, str):
            raise ValueError(f"{owner}.save: the feature name {name!r} is not text, which a model file needs")


def require_names(names: Any) -> None:
    """Raises ModelFileError unless feature names are distinct strings, or None."""
    if names is not None and not (
        isinstance(names, list) and all(type(name) is str for name in names) and len(set(names)) == len(names)
    ):
        raise ModelFileError("the feature names are not distinct strings")


def require_count(value: Any, what: str, end: int = 2**53) -> int:
    """A count; raises ModelFileError unless it is a whole number from 0 to below ``end``."""
    if type(value) is not int or not 0 <= value < end:
        raise ModelFileError(f"{what} is out of range")
    return value
