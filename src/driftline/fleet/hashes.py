"""A hash of keys that is the same on every machine, in every process and for every kind of number."""

from __future__ import annotations

import datetime
import decimal
import fractions
import math
import numbers
import uuid
from collections.abc import Iterable
from typing import Any

import numpy as np

from driftline import _core
from driftline.fleet.names import Key
from driftline.tables.inputs import Array


def part_of(keys: Iterable[Key], parts: int, where: str) -> Array:
    """The part of each key: its hash modulo ``parts``. Raises TypeError for keys that cannot be hashed this way."""
    hashes = np.array([_core.murmur3(_text(key, where)) for key in keys], dtype=np.int64)
    return np.mod(hashes, parts)


def _text(key: Any, where: str) -> bytes:
    """Bytes that identify the key: the same for equal keys only. The first byte is the kind."""
    if isinstance(key, str):
        return b"s" + key.encode("utf-8", "surrogatepass")
    if isinstance(key, bytes):
        return b"b" + key
    if isinstance(key, (numbers.Rational, float, decimal.Decimal)):
        return b"n" + (str(fractions.Fraction(key)) if math.isfinite(key) else str(float(key))).encode()
    if isinstance(key, datetime.datetime):
        utc = key if key.tzinfo is None else key.astimezone(datetime.UTC)
        return b"t" + utc.replace(fold=0).isoformat().encode()
    if isinstance(key, datetime.date):
        return b"d" + key.isoformat().encode()
    if isinstance(key, (datetime.timedelta, np.datetime64, np.timedelta64)):
        return type(key).__name__.encode() + str(key).encode()
    if isinstance(key, uuid.UUID):
        return b"u" + key.bytes
    if isinstance(key, tuple):
        parts = [_text(item, where) for item in key]
        return b"(" + b"".join(b"%d:" % len(part) + part for part in parts)
    raise TypeError(
        f"{where}: the key {key!r} cannot be hashed the same way on every machine; use text, bytes, numbers, dates, "
        "UUIDs or tuples of these"
    )
