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
    return json.dumps({"rows": [row for batch in batches for row in _rows(batch)]}).encode()


def _rows(batch: Any) -> list[dict[str, Any]]:
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    own = {name: _own(columns[name], name) for name in _OWN if name in columns}
    features = {name: _as_json(values, name) for name, values in columns.items() if name not in _OWN}
    found = []
    for place in range(batch.num_rows):
        x = {name: values[place] for name, values in features.items()}
        row = {name: values[place] for name, values in own.items() if values[place] is not None}
        found.append({**row, "x": x} if any(value is not None for value in x.values()) else row)
    return found


def _own(values: Any, name: str) -> list[float | str | None]:
    """The values of ``id``, ``key`` or ``y``; labels are read as in files. Whether they are valid, the request checks."""
    from pyarrow import types

    kind = values.type.value_type if types.is_dictionary(values.type) else values.type
    if name == "y" and (types.is_decimal(kind) or types.is_duration(kind)):
        return _as_json(values, name)
    plain = (
        types.is_string,
        types.is_large_string,
        types.is_string_view,
        types.is_integer,
        types.is_floating,
        types.is_boolean,
    )
    if not any(is_kind(kind) for is_kind in (*plain, types.is_null)):
        must = "numbers" if name == "y" else "text"
        raise Problem(422, f"the column {name!r} must hold {must}, but holds {kind}", field=name)
    found: list[float | str | None] = values.to_pylist()
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
