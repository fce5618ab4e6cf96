"""What may be sent: the definitions that check requests and that the OpenAPI document shows."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from driftline.serve.limits import Limits
from driftline.serve.problems import Problem
from driftline.serve.schema import Schema, compile_schema, parse

NAME = "^[A-Za-z0-9][A-Za-z0-9._-]*$"
_NO_CONTROLS = "^[^\\x00-\\x1f\\x7f\\ud800-\\udfff]+$"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a call: a question where it has no label."""

    id: str | None
    key: str
    x: dict[str, float] | list[float] | None
    y: float | None

    def digest(self) -> bytes:
        """Tells whether an id comes with the same features again; the order of names does not matter."""
        x = self.x or ()
        plain = [(name, float(x[name])) for name in sorted(x)] if isinstance(x, dict) else [float(value) for value in x]
        return blake2b(repr(plain).encode(), digest_size=16).digest()


class Requests:
    """The definitions, within the limits of a service."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        text = {"type": "string", "minLength": 1, "maxLength": limits.text, "pattern": _NO_CONTROLS}
        number = {"type": "number"}
        names = {"maxLength": limits.text, "pattern": _NO_CONTROLS}
        mapping: Schema = {"type": "object", "additionalProperties": number, "propertyNames": names}
        mapping |= {"minProperties": 1, "maxProperties": limits.features, "title": "an object of numbers"}
        array = {
            "type": "array",
            "items": number,
            "minItems": 1,
            "maxItems": limits.features,
            "title": "an array of numbers",
        }
        x = {"anyOf": [mapping, array], "description": "The features, by name or in their order."}
        id = {**text, "description": "Yours to choose; the label comes under the same id."}
        key = {**text, "description": "Of a keyed model: which of its learners."}
        y = {**number, "description": "The label."}
        self.question: Schema = {
            "type": "object", "properties": {"id": id, "key": key, "x": x}, "required": ["x"],
        }  # fmt: skip
        self.label: Schema = {
            "type": "object", "properties": {"id": id, "key": key, "x": x, "y": y}, "required": ["y"],
            "description": "With an id, with features, or with both.",
        }  # fmt: skip
        self.next_row: Schema = {"type": "object", "properties": {"key": key, "x": x}, "required": ["x"]}
        self.model: Schema = {
            "type": "object",
            "properties": {
                "learner": {"type": "string", "maxLength": limits.text, "default": "auto",
                            "description": "As `driftline models` lists them."},
                "params": {"type": "object", "additionalProperties": True, "default": {},
                           "description": "Of the learner. A learner within is an object of `learner` and `params`."},
                "level": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.9,
                          "description": "Of the intervals."},
                "steps": {"anyOf": [{"type": "integer", "minimum": 1, "maximum": limits.steps}, {"type": "null"}],
                          "default": None, "description": "How many rows ahead it forecasts."},
                "keyed": {"type": "boolean", "default": False, "description": "Whether each key has a learner of its own."},
            },
        }  # fmt: skip
        kinds = {"predict": self.question, "learn": self.label, "forecast": self.next_row}
        self._rows = {kind: compile_schema(schema) for kind, schema in kinds.items()}
        self._model = compile_schema(self.model)

    def batch(self, row: Schema) -> Schema:
        """The definition of a batch of rows."""
        return {
            "type": "object",
            "properties": {"rows": {"type": "array", "items": row, "minItems": 1, "maxItems": self.limits.rows}},
            "required": ["rows"],
        }

    def read_model(self, data: bytes) -> dict[str, Any]:
        """A model's configuration, with the defaults filled in."""
        given = parse(data) if data.strip() else {}
        self._model(given, "")
        return {name: given.get(name, part["default"]) for name, part in self.model["properties"].items()}

    def read_rows(self, kind: str, data: bytes) -> tuple[list[Row], bool]:
        """The rows of a call that predicts, learns or forecasts, and whether they came as a batch."""
        given = parse(data)
        check = self._rows[kind]
        if not isinstance(given, dict) or "rows" not in given:
            check(given, "")
            rows = [row_of(given)]
            if kind == "learn":
                _require_content(rows)
            return rows, False
        parts = given["rows"]
        if len(given) > 1:
            other = next(name for name in given if name != "rows")[:100]
            raise Problem(422, f"{other} does not go with rows: a batch has rows alone", field=other)
        if not isinstance(parts, list) or not parts:
            raise Problem(422, "rows must be an array of one row at least", field="rows")
        if len(parts) > self.limits.rows:
            raise Problem(413, f"a batch has at most {self.limits.rows} rows, got {len(parts)}", field="rows")
        for index, part in enumerate(parts):
            try:
                check(part, "")
            except Problem as problem:
                problem.row = index
                raise
        rows = [row_of(part) for part in parts]
        if kind == "learn":
            _require_content(rows)
        return rows, True


def row_of(part: dict[str, Any]) -> Row:
    """A row that was checked."""
    y = part.get("y")
    return Row(part.get("id"), part.get("key", ""), part.get("x"), None if y is None else float(y))


def rows_of(data: bytes) -> list[Row]:
    """The rows of a body that was checked when it was logged."""
    given = parse(data)
    return [row_of(part) for part in given.get("rows", [given])]


def _require_content(rows: list[Row]) -> None:
    for index, row in enumerate(rows):
        if row.id is None and row.x is None:
            raise Problem(422, "a label needs an id or the features x", row=index if len(rows) > 1 else None, field="x")
