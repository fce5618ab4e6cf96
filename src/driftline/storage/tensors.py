"""Writes arrays as a safetensors file, piece by piece, without copying them all."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from driftline.tables.inputs import Array

_KINDS = {"f": "F", "i": "I", "u": "U"}
_ALIGNMENT = 8


def pieces(arrays: Mapping[str, Array], metadata: dict[str, str]) -> Iterator[Any]:
    """The header of the file, then the data of the arrays, widest types first, so that each is aligned.

    Only one array is held at a time, so a mapping may make each on access.
    """
    shapes = {name: _shape(arrays[name]) for name in arrays}
    order = sorted(shapes, key=lambda name: (-shapes[name][0].itemsize, name))
    entries: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name in order:
        dtype, shape = shapes[name]
        start, end = end, end + dtype.itemsize * math.prod(shape)
        entries[name] = {"dtype": _kind(dtype), "shape": list(shape), "data_offsets": [start, end]}
    head = json.dumps(entries, separators=(",", ":")).encode()
    head += b" " * (-len(head) % _ALIGNMENT)
    yield len(head).to_bytes(8, "little") + head
    for name in order:
        if math.prod(shapes[name][1]):
            yield np.ascontiguousarray(arrays[name], dtype=shapes[name][0].newbyteorder("<")).data


def _shape(array: Array) -> tuple[np.dtype[Any], tuple[int, ...]]:
    return array.dtype, array.shape


def _kind(dtype: np.dtype[Any]) -> str:
    return "BOOL" if dtype.kind == "b" else f"{_KINDS[dtype.kind]}{8 * dtype.itemsize}"
