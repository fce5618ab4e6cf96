"""Batches as Arrow streams: columns ``id``, ``key`` and ``y``, and a column for each feature."""

from __future__ import annotations

import json
from datetime import date, time
from typing import Any

from driftline.errors import missing_extra
from driftline.serve.problems import Problem

TYPE = "application/vnd.apache.arrow.stream"
_OWN = ("id", "key", "y")


def as_json(data: bytes, most: int) -> bytes:
    """The batch in the form of a JSON request."""
    try:
        import pyarrow as pa
    except ImportError:
        raise Problem(415, str(missing_extra("Arrow streams need", "pyarrow", "files"))) from None
    try:
        with pa.ipc.open_stream(pa.BufferReader(data)) as stream:
            batches, rows = [], 0
            for batch in stream:
                rows += batch.num_rows
                if rows > most:
                    raise Problem(413, f"a batch has at most {most} rows", field="rows")
                batches.append(batch)
    except (pa.ArrowException, OSError, EOFError, ValueError) as error:
        raise Problem(422, f"the body is not an Arrow stream: {error}") from None
    listed = [_row(row) for batch in batches for row in batch.to_pylist()]
    try:
        return json.dumps({"rows": listed}, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise Problem(
            422, f"a column holds something else than finite numbers, text and times: {error}", field="rows"
        ) from None


def _row(row: dict[str, Any]) -> dict[str, Any]:
    own = {name: row[name] for name in _OWN if row.get(name) is not None}
    x = {name: _as_json(value) for name, value in row.items() if name not in _OWN}
    return {**own, "x": x} if any(value is not None for value in x.values()) else own


def _as_json(value: Any) -> Any:
    """A value of a column: times as text, NaN as a gap."""
    return value.isoformat() if isinstance(value, date | time) else None if value != value else value
