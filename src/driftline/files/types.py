"""Names for the types of Arrow columns, which a state can keep."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from driftline.tables.kinds import CLOCK, DATE, NUMBER, TEXT, TIMESTAMP, TRUTH

WRITTEN = "written"  # followed by the layout: times as text
_ARROW = {
    NUMBER: pa.float64(),
    TRUTH: pa.bool_(),
    TEXT: pa.string(),
    DATE: pa.timestamp("us"),
    CLOCK: pa.time64("us"),
    TIMESTAMP: pa.timestamp("us"),
}
KINDS = tuple(_ARROW)


def type_name(kind: Any) -> str:
    """The name of an Arrow type; raises TypeError if it cannot be turned into numbers."""
    types = pa.types
    if types.is_dictionary(kind):
        return type_name(kind.value_type)
    if types.is_boolean(kind):
        return TRUTH
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_duration(kind):
        return NUMBER
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return TEXT
    if types.is_date(kind):
        return DATE
    if types.is_time(kind):
        return CLOCK
    if types.is_timestamp(kind):
        return TIMESTAMP if kind.tz is None else f"{TIMESTAMP} {kind.tz}"
    raise TypeError(f"holds {kind}")


def arrow_type(name: str) -> Any:
    """The Arrow type for a name."""
    kind, _, zone = name.partition(" ")
    if kind == WRITTEN:
        return pa.string()
    return pa.timestamp("us", tz=zone) if zone else _ARROW[kind]
