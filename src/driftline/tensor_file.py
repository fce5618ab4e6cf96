"""Arrays as the content of a safetensors file, piece by piece, without a copy of them all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from driftline.inputs import Array

_KINDS = {"f": "F", "i": "I", "u": "U"}
_ALIGNMENT = 8


def pieces(arrays: dict[str, Array], metadata: dict[str, str]) -> Iterator[Any]:
    """The head of the file, then what the arrays hold, the widest numbers first: each is at a multiple of its size."""
    order = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    entries: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name in order:
        array = arrays[name]
        start, end = end, end + array.nbytes
        entries[name] = {"dtype": _kind(array.dtype), "shape": list(array.shape), "data_offsets": [start, end]}
    head = json.dumps(entries, separators=(",", ":")).encode()
    head += b" " * (-len(head) % _ALIGNMENT)
    yield len(head).to_bytes(8, "little") + head
    for name in order:
        if arrays[name].size:
            yield np.ascontiguousarray(arrays[name], dtype=arrays[name].dtype.newbyteorder("<")).data


def _kind(dtype: np.dtype[Any]) -> str:
    return "BOOL" if dtype.kind == "b" else f"{_KINDS[dtype.kind]}{8 * dtype.itemsize}"
