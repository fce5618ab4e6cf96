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
    """For each key a number below ``parts``: its hash's remainder. Raises TypeError for a key that has no such hash."""
    hashes = np.array([_core.murmur3(_text(key, where)) for key in keys], dtype=np.int64)
    return np.mod(hashes, parts)


def _text(key: Any, where: str) -> bytes:
    """Equal keys have equal texts, and different ones different texts; the first byte says the kind."""
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
        f"{where}: the key {key!r} has no hash that is the same on every machine; texts, bytes, numbers, dates, UUIDs and "
        "tuples of them have one"
    )
