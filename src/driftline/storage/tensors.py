"""Writes arrays as a safetensors file, piece by piece, without copying them all."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any

import numpy as np

from driftline.tables.inputs import Array

_KINDS = {"b1": "BOOL"} | {f"{kind}{size}": f"{kind.upper()}{8 * size}" for kind in "fiu" for size in (1, 2, 4, 8)}
_ALIGNMENT = 8


def pieces(arrays: Mapping[str, Array], metadata: dict[str, str]) -> Iterator[Any]:
    """The header of the file, then the data of the arrays, widest types first, so that each is aligned.

    Only one array is held at a time, so a mapping may make each on access.
    """
    each = map(attrgetter("dtype", "shape"), map(arrays.__getitem__, arrays))
    shapes = dict(zip(arrays, each, strict=True))
    order = [name for _, name in sorted([(-dtype.itemsize, name) for name, (dtype, _) in shapes.items()])]
    entries: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name in order:
        dtype, shape = shapes[name]
        start, end = end, end + dtype.itemsize * math.prod(shape)
        entries[name] = {"dtype": _KINDS[dtype.str[1:]], "shape": list(shape), "data_offsets": [start, end]}
    head = json.dumps(entries, separators=(",", ":")).encode()
    head += b" " * (-len(head) % _ALIGNMENT)
    yield len(head).to_bytes(8, "little") + head
    for name in order:
        if math.prod(shapes[name][1]):
            yield np.ascontiguousarray(arrays[name], dtype=shapes[name][0].newbyteorder("<")).data
