"""The request of each method of the service, and whether it is safe to repeat."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import quote, urlencode

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Call:
    """A request.

    Attributes:
        method: the HTTP method.
        path: the path with the query.
        body: the body, or None.
        repeatable: whether it may be sent again if it is not known whether the first attempt succeeded.
        kind: the media type of the body.
    """

    method: str
    path: str
    body: bytes | None = None
    repeatable: bool = True
    kind: str = "application/json"


def listed() -> Call:
    """All models."""
    return Call("GET", "/v1/models")


def put(name: str, config: dict[str, Any]) -> Call:
    """Creates a model, unless one with the same configuration exists."""
    return Call("PUT", _path(name), _json(config))


def push(name: str, file: bytes, level: float, quantiles: Iterable[float] | None) -> Call:
    """Creates a model from a model file, unless one was made from the same file."""
    query = {"level": repr(float(level))}
    if quantiles is not None:
        query["quantiles"] = ",".join(repr(float(each)) for each in quantiles)
    return Call("PUT", f"{_path(name)}?{urlencode(query)}", file, kind="application/octet-stream")


def aliases() -> Call:
    """All aliases."""
    return Call("GET", "/v1/aliases")


def alias(alias: str, name: str) -> Call:
    """Lets an alias stand for a model."""
    return Call("PUT", _path(alias, "aliases"), _json({"model": name}))


def remove_alias(alias: str) -> Call:
    """Removes an alias."""
    return Call("DELETE", _path(alias, "aliases"))


def get(name: str, key: str | None, part: str = "") -> Call:
    """A model, or a part of it such as its file."""
    return Call("GET", _path(name) + part + ("" if key is None else "?" + urlencode({"key": key})))


def delete(name: str) -> Call:
    """Removes a model."""
    return Call("DELETE", _path(name))


def reset(name: str) -> Call:
    """Makes a model forget everything."""
    return Call("POST", _path(name) + "/reset", b"{}")


def copy(name: str, to: str, replace: bool) -> Call:
    """Copies a model. A repeated copy would be refused, unless it replaces the first."""
    return Call("POST", _path(name) + "/copy", _json({"to": to, "replace": replace}), repeatable=replace)


def predict(name: str, rows: Iterable[Row], *, batch: bool, on_error: str = "refuse") -> Call:
    """Predicts rows. With ids, the service stores the rows until their labels arrive; without, nothing changes."""
    return Call("POST", _path(name) + "/predict", _body(rows, batch, on_error))


def forecast(name: str, rows: Iterable[Row]) -> Call:
    """Forecasts the next rows; changes nothing."""
    return Call("POST", _path(name) + "/forecast", _body(rows, True))


def learn(name: str, rows: Iterable[Row], *, batch: bool, on_error: str = "refuse") -> Call:
    """Learns labels. With ids, the service learns each label once, however often it is sent; without, every time."""
    rows = list(rows)
    safe = all(row.get("id") is not None for row in rows)
    return Call("POST", _path(name) + "/learn", _body(rows, batch, on_error), repeatable=safe)


def _path(name: str, among: str = "models") -> str:
    return f"/v1/{among}/{quote(name, safe='')}"


def _body(rows: Iterable[Row], batch: bool, on_error: str = "refuse") -> bytes:
    plain = [_plain(row) for row in rows]
    return _json({"rows": plain, **({"on_error": on_error} if on_error != "refuse" else {})} if batch else plain[0])


def _plain(row: Row) -> dict[str, Any]:
    """A row as JSON, without parts that are None."""
    given = {part: value for part, value in row.items() if value is not None}
    if "y" in given:
        given["y"] = given["y"] if isinstance(given["y"], (str, bool)) else float(given["y"])
    if "at" in given:
        given["at"] = _time(given["at"])
    if isinstance(x := given.get("x"), Mapping):
        given["x"] = {str(name): _value(value) for name, value in x.items()}
    elif x is not None:
        given["x"] = [_value(value) for value in x]
    return given


def _time(at: Any) -> str | float:
    """The time of a row as JSON: a number, or ISO 8601 with its zone."""
    if isinstance(at, str):
        return at
    if getattr(getattr(at, "dtype", None), "kind", "") == "M":
        return str(at.astype("datetime64[us]"))
    return str(at.isoformat()) if hasattr(at, "isoformat") else float(at)


def _value(value: Any) -> str | float | None:
    """A feature as JSON, as ``learn_one`` reads it: local times in ISO 8601, durations in seconds, null for a gap."""
    if isinstance(value, str):
        return value
    from driftline.tables.inputs import as_number  # here, because NumPy would slow down the start of the command line
    from driftline.tables.kinds import DATE, is_missing, of_value

    if is_missing(value):
        return None
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind == "m" or isinstance(value, timedelta):
        return as_number(value, "Client", "x")
    if kind == "M":
        return str(value.astype("datetime64[D]" if of_value(value) == DATE else "datetime64[us]"))
    if hasattr(value, "isoformat"):
        local = value.replace(tzinfo=None) if getattr(value, "tzinfo", None) is not None else value
        return str(local.isoformat())
    return float(value)


def _json(content: Any) -> bytes:
    return json.dumps(content, allow_nan=False).encode()
