"""Checks requests by the JSON schemas of the OpenAPI document.

A schema is compiled once into a function. The subset: ``type``, ``properties`` with ``required``,
``additionalProperties`` as a schema or a boolean, ``items``, ``anyOf``, and the bounds of numbers, texts, arrays
and objects.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

from driftline.serve.problems import Problem

Schema = dict[str, Any]
Check = Callable[[Any, str], None]
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,), "null": (type(None),),
    "integer": (int,), "number": (int, float),
}  # fmt: skip
_KNOWN = {
    "type", "properties", "required", "additionalProperties", "items", "anyOf", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern", "minItems", "maxItems",
    "minProperties", "maxProperties", "propertyNames",
    "title", "description", "default",
}  # fmt: skip


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)[:100]!r} appears twice in an object")
    return found


_DECODER = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_unique)  # json.loads would create one a call
_OF_LOGS = json.JSONDecoder(parse_constant=_no_constant)  # earlier versions accepted names that appear twice


def parse(data: bytes, *, logged: bool = False) -> Any:
    """A body as plain values. NaN and Infinity are refused, because they are not valid JSON, and so are names twice."""
    try:
        return (_OF_LOGS if logged else _DECODER).decode(data.decode())
    except RecursionError:
        raise Problem(422, "the body is nested too deeply") from None
    except ValueError as error:
        raise Problem(422, f"the body is not JSON in UTF-8: {error}") from None


def compile_schema(schema: Schema) -> Check:
    """A function that takes a value and its place in the request, and raises Problem 422 unless the value fits."""
    if unknown := schema.keys() - _KNOWN:
        raise ValueError(f"schema: {', '.join(sorted(unknown))} cannot be checked")
    if "anyOf" in schema:
        return _any_of(schema["anyOf"])
    kind = schema["type"]
    if kind == "object":
        return _map_of(schema) if isinstance(schema.get("additionalProperties"), dict) else _object(schema)
    if kind == "array":
        return _array(schema)
    return _plain(schema)


def _refuse(where: str, words: str, value: Any) -> Problem:
    shown = json.dumps(value) if isinstance(value, (str, int, float, bool, type(None))) else type(value).__name__
    return Problem(422, f"{where or 'the body'} must be {words}, got {shown[:100]}", field=where or None)


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _any_of(options: list[Schema]) -> Check:
    """Checks a value against the option with its type; options differ in type."""
    checks = [(option["type"], compile_schema(option)) for option in options]
    words = " or ".join(option.get("title", _article(option["type"])) for option in options)

    def check(value: Any, where: str) -> None:
        for kind, inner in checks:
            if _is(value, kind):
                return inner(value, where)
        raise _refuse(where, words, value)

    return check


def _article(kind: str) -> str:
    return "null" if kind == "null" else f"{'an' if kind[0] in 'aeio' else 'a'} {kind}"


def is_finite(value: Any) -> bool:
    """Whether a value is a JSON number in the range of a double."""
    if type(value) is float:
        return math.isfinite(value)
    return type(value) is int and -(2**1023) < value < 2**1023


def _plain(schema: Schema) -> Check:
    kind = schema["type"]
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength", math.inf)
    least, most = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    low, above = schema.get("exclusiveMinimum", -math.inf), schema.get("exclusiveMaximum", math.inf)
    pattern = re.compile(schema["pattern"]) if "pattern" in schema else None
    words = _article(kind)
    if kind == "string":
        words += f" of {shortest} to {longest} characters" if longest < math.inf else ""
        words += f" that matches {schema['pattern']}" if pattern else ""
    elif kind == "integer":
        words += f" from {least} to {most}"
    elif kind == "number":
        words = "a finite number" if low == -math.inf else f"a number in ({low}, {above})"

    def check(value: Any, where: str) -> None:
        sound = _is(value, kind)
        if sound and kind == "string":
            sound = shortest <= len(value) <= longest and (pattern is None or pattern.fullmatch(value) is not None)
        elif sound and kind == "integer":
            sound = least <= value <= most
        elif sound and kind == "number":
            sound = is_finite(value) and low < value < above
        if not sound:
            raise _refuse(where, words, value)

    return check


def _object(schema: Schema) -> Check:
    inner = {name: compile_schema(part) for name, part in schema.get("properties", {}).items()}
    required = schema.get("required", ())
    closed = schema.get("additionalProperties") is False

    def check(value: Any, where: str) -> None:
        if type(value) is not dict:
            raise _refuse(where, "an object", value)
        prefix = f"{where}." if where else ""
        for name in required:
            if name not in value:
                raise Problem(422, f"{prefix}{name} is missing", field=f"{prefix}{name}")
        for name, part in value.items():
            known = inner.get(name)
            if known is not None:
                known(part, prefix + name)
            elif closed:
                allowed = ", ".join(inner)
                raise Problem(
                    422,
                    f"{prefix}{name[:100]} is not a known field; the known fields are {allowed}",
                    field=prefix + name[:100],
                )

    return check


def _map_of(schema: Schema) -> Check:
    item, least, most = compile_schema(schema["additionalProperties"]), schema["minProperties"], schema["maxProperties"]
    values = schema["additionalProperties"]
    numbers = _takes_numbers(values)
    longest, pattern = schema["propertyNames"]["maxLength"], re.compile(schema["propertyNames"]["pattern"])

    def check(value: Any, where: str) -> None:
        if type(value) is not dict or not least <= len(value) <= most:
            raise _refuse(where, f"an object of {least} to {most} entries", value)
        for name, part in value.items():
            if len(name) > longest or not (name.isprintable() or pattern.fullmatch(name)):
                words = f"{where}: a name must have at most {longest} characters and no control characters"
                raise Problem(422, f"{words}, got {name[:40]!r}", field=where)
            if not (numbers and type(part) is float and math.isfinite(part)):
                item(part, f"{where}.{name}")

    return check


def _takes_numbers(schema: Schema) -> bool:
    """Whether any finite number fits, so that it need not be checked further."""
    return any(option == {"type": "number"} for option in schema.get("anyOf", [schema]))


def _array(schema: Schema) -> Check:
    item, least, most = compile_schema(schema["items"]), schema.get("minItems", 0), schema.get("maxItems", math.inf)
    numbers = _takes_numbers(schema["items"])

    def check(value: Any, where: str) -> None:
        if type(value) is not list or not least <= len(value) <= most:
            raise _refuse(where, f"an array of {least} to {most} values", value)
        for index, part in enumerate(value):
            if not (numbers and type(part) is float and math.isfinite(part)):
                item(part, f"{where}[{index}]")

    return check
