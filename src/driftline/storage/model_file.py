"""Saved models: a safetensors file that is safe to open from anyone.

The arrays of a model's state are the tensors. Everything else is JSON in the file's header: the kind of model, the plain
values of its :class:`Record`, and a SHA-256 over all of it. Nothing in the file is ever executed. Each kind of model writes
and reads its own record.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from driftline import extensions
from driftline.errors import ModelFileError
from driftline.storage import atomic, tensors
from driftline.storage.codec import read_infinities, spell_infinities
from driftline.tables.inputs import Array

FORMAT, VERSION = "driftline", 9
_EXTRA = "extra."  # prefix of arrays that are not the model's
_readers: dict[str, Callable[[Record], Any]] = {}


@dataclass(frozen=True)
class Record:
    """A model as a file holds it.

    Attributes:
        kind: the kind of model, which selects the reader.
        head: plain values, for JSON.
        arrays: the arrays of its state; a mapping may make each on access.
    """

    kind: str
    head: dict[str, Any]
    arrays: Mapping[str, Array]


@dataclass(frozen=True)
class Extra:
    """Plain values and arrays that a program stores in a model's file along with the model."""

    plain: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)


def register(kind: str, reader: Callable[[Record], Any]) -> None:
    """Registers the function that turns records of this kind into models."""
    _readers[kind] = reader


def save(record: Record, path: str | os.PathLike[str], extra: Extra | None = None) -> None:
    """Writes a record so that a reader finds the old file or the new one, never a part."""
    atomic.write(path, _pieces(record, extra))


def to_bytes(record: Record) -> bytes:
    """The bytes that :func:`save` would write. Each array is made once: the bytes hold all of them anyway."""
    return b"".join(_pieces(replace(record, arrays=dict(record.arrays)), None))


class Saved:
    """Base class of models that a file holds as one record."""

    def _record(self) -> Record:
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to a file, atomically; :func:`driftline.load` reads it back."""
        save(self._record(), path)

    def to_bytes(self) -> bytes:
        """What :meth:`save` would write; :func:`driftline.from_bytes` reads it back."""
        return to_bytes(self._record())


def from_bytes(data: bytes) -> Any:
    """Reads what ``to_bytes`` wrote: a learner, a fleet, a ticket or waiting rows. Nothing in it is ever executed.

    Raises:
        ModelFileError: the bytes are truncated, altered, from another program, or of another version.
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"from_bytes: expected bytes, got {type(data).__name__}")
    with _explained("from_bytes"):
        return _rebuild(*_parse(bytes(data)))[0]


def _pieces(record: Record, extra: Extra | None) -> Iterator[Any]:
    head = {"kind": record.kind, "model": record.head}
    arrays = record.arrays
    if extra is not None:
        head["extra"] = spell_infinities(extra.plain)
        arrays = {**arrays, **{_EXTRA + name: np.ascontiguousarray(array) for name, array in extra.arrays.items()}}
    text = json.dumps(head, sort_keys=True)
    meta = {"format": FORMAT, "version": str(VERSION), "model": text, "sha256": _digest(arrays, text)}
    return tensors.pieces(arrays, meta)


def load(path: str | os.PathLike[str]) -> Any:
    """Reads a learner that :meth:`driftline.Learner.save` wrote, or a fleet that :meth:`driftline.Fleet.save` wrote.

    Raises:
        ModelFileError: the file is truncated, altered, from another program, or of another version.
    """
    return load_with_extra(path)[0]


def load_with_extra(path: str | os.PathLike[str]) -> tuple[Any, Extra | None]:
    """Reads a model and its :class:`Extra`, None if there is none."""
    with _explained(os.fspath(path)):
        return _rebuild(*_read(path))


@contextmanager
def _explained(source: str) -> Iterator[None]:
    """Turns reading errors into ModelFileError that names the source."""
    try:
        yield
    except OSError:
        raise
    except ModelFileError as error:
        raise ModelFileError(f"{source}: {error}") from None
    except Exception as error:
        raise ModelFileError(f"{source}: not a valid driftline model: {error}") from error


def head_of(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The header of a model file, without reading or checking its arrays; None if it is not a model file."""
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


def _parse(data: bytes) -> tuple[dict[str, Array], dict[str, str]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = load(data)
        size = int.from_bytes(data[:8], "little")
        return arrays, json.loads(data[8 : 8 + size]).get("__metadata__", {})
    except (SafetensorError, ValueError) as error:
        raise ModelFileError(f"truncated, or not a driftline model ({error})") from None


def _rebuild(arrays: dict[str, Array], meta: dict[str, str]) -> tuple[Any, Extra | None]:
    if meta.get("format") != FORMAT:
        raise ModelFileError("not a driftline model")
    version = meta.get("version", "")
    if version != str(VERSION):
        raise ModelFileError(f"written in format version {version!r}; this driftline reads version {VERSION}")
    if meta.get("sha256") != _digest(arrays, meta["model"]):
        raise ModelFileError("altered since it was saved: the checksum does not match")
    head = json.loads(meta["model"])
    extensions.load("models")
    if head["kind"] not in _readers:
        raise ModelFileError(f"holds a kind of model that this driftline does not know: {head['kind']!r}")
    extra = {name.removeprefix(_EXTRA): array for name, array in arrays.items() if name.startswith(_EXTRA)}
    own = {name: array for name, array in arrays.items() if not name.startswith(_EXTRA)}
    model = _readers[head["kind"]](Record(head["kind"], head["model"], own))
    return model, Extra(read_infinities(head["extra"]), extra) if "extra" in head else None


def _digest(arrays: Mapping[str, Array], text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}:{array.dtype.str}:{array.shape}:".encode())
        digest.update(array.data if array.size else b"")
        del array  # only one is in memory at a time
    return digest.hexdigest()
