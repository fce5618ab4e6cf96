"""Batches as Arrow streams: columns ``id``, ``key`` and ``y``, and a column for each feature."""

from __future__ import annotations

import json
from datetime import date, time
from typing import Any

from driftline.errors import missing_extra
from driftline.serve.problems import Problem
from driftline.tables import cells

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
                batch.validate(full=True)
                batches.append(batch)
    except (pa.ArrowException, OSError, EOFError, ValueError) as error:
        raise Problem(422, f"the body is not an Arrow stream: {error}") from None
    listed = [row for batch in batches for row in _rows(batch)]
    try:
        return json.dumps({"rows": listed}).encode()
    except (TypeError, ValueError) as error:
        raise Problem(422, f"id and key must hold text, and y numbers: {error}", field="rows") from None


def _rows(batch: Any) -> list[dict[str, Any]]:
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    own = batch.select([name for name in _OWN if name in columns]).to_pylist()
    features = {name: _as_json(values, name) for name, values in columns.items() if name not in _OWN}
    found = []
    for place, row in enumerate(own):
        x = {name: values[place] for name, values in features.items()}
        row = {name: value for name, value in row.items() if value is not None}
        found.append({**row, "x": x} if any(value is not None for value in x.values()) else row)
    return found


def _as_json(values: Any, name: str) -> list[float | str | None]:
    """The values of a feature, read as in files; times as text, in the local time of their zone."""
    from pyarrow import ArrowException

    from driftline.files.columns import as_given
    from driftline.files.types import type_name

    try:
        given = as_given(values, None if values.null_count == len(values) else type_name(values.type))
        rows = [cells.as_python(cells.row_of({name: given}, place, True))[name] for place in range(len(values))]
    except (ArrowException, OverflowError, TypeError, ValueError) as error:
        raise Problem(422, f"the column {name!r} cannot be read: it {error}", field="rows") from None
    if float("inf") in rows or -float("inf") in rows:
        raise Problem(422, f"the column {name!r} holds an infinite number", field="rows")
    return [value.isoformat() if isinstance(value, date | time) else value for value in rows]
