"""Saved models: a safetensors file that is safe to open from anyone.

The arrays of a model's state are the tensors. Everything else is JSON in the file's header, with a SHA-256 over all of it:
see :mod:`driftline.storage.codec`. Nothing in the file is ever executed. A version of driftline reads the files of all
earlier versions from format 10 on.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import ChainMap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftline import extensions
from driftline.errors import ModelFileError
from driftline.storage import atomic, codec, tensors
from driftline.storage.codec import Stateful, read_infinities, spell_infinities
from driftline.tables.inputs import Array

FORMAT, VERSION, OLDEST = "driftline", 10, 10
_EXTRA = "extra."  # prefix of arrays that are not the model's
_EMPTY = {"empty": np.zeros(1)}  # a file needs an array


@dataclass(frozen=True)
class Extra:
    """Plain values and arrays that a program stores in a model's file along with the model."""

    plain: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)


class Saved(Stateful):
    """A model with a file of its own."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to a file, atomically; :func:`driftline.load` reads it back."""
        save(self, path)

    def to_bytes(self) -> bytes:
        """What :meth:`save` would write; :func:`driftline.from_bytes` reads it back."""
        return to_bytes(self)


def save(model: Any, path: str | os.PathLike[str], extra: Extra | None = None) -> None:
    """Writes a model so that a reader finds the old file or the new one, never a part."""
    atomic.write(path, _pieces(*codec.encode_tree(type(model).__name__, model), extra))


def to_bytes(model: Any, extra: Extra | None = None) -> bytes:
    """The bytes that :func:`save` would write. Each array is made once: the bytes hold all of them anyway."""
    tree, arrays = codec.encode_tree(type(model).__name__, model)
    return b"".join(_pieces(tree, dict(arrays), extra))


def from_bytes(data: bytes) -> Any:
    """Reads what ``to_bytes`` wrote: a learner, a fleet, a ticket or waiting rows. Nothing in it is ever executed.

    Raises:
        ModelFileError: the bytes are truncated, altered, from another program, or of another version.
    """
    return from_bytes_with_extra(data)[0]


def from_bytes_with_extra(data: bytes) -> tuple[Any, Extra | None]:
    """Reads a model and its :class:`Extra`, None if there is none."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"from_bytes: expected bytes, got {type(data).__name__}")
    with _explained("from_bytes"):
        return _rebuild(*_parse(bytes(data)))


def _pieces(model: Any, arrays: Mapping[str, Array], extra: Extra | None) -> Iterator[Any]:
    head = {"model": model}
    if extra is not None:
        head["extra"] = spell_infinities(extra.plain)
        more = {_EXTRA + name: np.ascontiguousarray(array) for name, array in extra.arrays.items()}
        arrays = ChainMap(more, arrays)  # type: ignore[arg-type]
    arrays = arrays or _EMPTY
    text = json.dumps(head)
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
    if version not in map(str, range(OLDEST, VERSION + 1)):
        reads = f"version {VERSION}" if OLDEST == VERSION else f"versions {OLDEST} to {VERSION}"
        age = "an older format" if version.isdecimal() and int(version) < OLDEST else "a newer format"
        raise ModelFileError(f"written in {age}, version {version!r}; this driftline reads {reads}")
    if meta.get("sha256") != _digest(arrays, meta["model"]):
        raise ModelFileError("altered since it was saved: the checksum does not match")
    head = json.loads(meta["model"])
    extensions.load("models")
    extra = None
    if "extra" in head:
        own = [name for name in arrays if name.startswith(_EXTRA)]
        extra = Extra(read_infinities(head["extra"]), {name.removeprefix(_EXTRA): arrays.pop(name) for name in own})
    model = codec.decode(head["model"], arrays)
    if not codec.is_model(type(model)):
        raise ModelFileError("holds no model")
    return model, extra


def _digest(arrays: Mapping[str, Array], text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}:{array.dtype.str}:{array.shape}:".encode())
        digest.update(array.data if array.size else b"")
        del array  # only one is in memory at a time
    return digest.hexdigest()
