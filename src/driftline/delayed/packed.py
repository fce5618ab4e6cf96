"""Many tickets as one array and a list of plain values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from driftline.base import ticket as tickets
from driftline.base.ticket import Ticket
from driftline.errors import ModelFileError
from driftline.tables.inputs import Array


def text_of(plain: Any) -> Array:
    """Plain values as JSON text in an array, to keep the header of a file short."""
    return np.frombuffer(json.dumps(plain).encode(), dtype=np.uint8)


def of_text(text: Array) -> Any:
    """The inverse of :func:`text_of`."""
    return json.loads(text.tobytes())


def pack(given: Sequence[Ticket]) -> tuple[list[Any], Array]:
    """The JSON part of each ticket, with the lengths of its arrays; and all their numbers, one after another."""
    heads: list[Any] = []
    pieces: list[Array] = []
    for ticket in given:
        arrays: dict[str, Array] = {}
        head = tickets.head_of(ticket, "", arrays)
        heads.append([head, [[name, array.dtype.str, len(array)] for name, array in arrays.items()]])
        pieces += [array.astype(np.float64) for array in arrays.values()]
    return heads, np.concatenate(pieces) if pieces else np.empty(0)


def unpack(heads: list[Any], numbers: Array) -> list[Ticket]:
    """The inverse of :func:`pack`. Raises ModelFileError if the data is invalid."""
    found, at = [], 0
    for head, layout in heads:
        arrays = {}
        for name, dtype, length in layout:
            if dtype not in ("<f8", "<f4", "<i8", "<i4") or type(length) is not int or not 0 <= length <= len(numbers) - at:
                raise ModelFileError("the tickets do not agree with their numbers")
            arrays[name] = numbers[at : at + length].astype(dtype)
            at += length
        found.append(tickets.ticket_of(head, "", arrays))
    if at != len(numbers):
        raise ModelFileError("the tickets do not agree with their numbers")
    return found
