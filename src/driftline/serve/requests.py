"""The requests that the service accepts: definitions that check them and appear in the OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from driftline._core import read_json_table
from driftline.serve.limits import Limits
from driftline.serve.problems import Problem
from driftline.serve.raw import Json
from driftline.serve.schema import Check, Schema, compile_schema, parse
from driftline.tables.inputs import Array

NAME = "^[A-Za-z0-9][A-Za-z0-9._-]*$"
_ON_ERROR: Schema = {
    "type": "string", "pattern": "^(refuse|report)$", "default": "refuse",
    "description": "Whether one refused row refuses the batch, or the answer reports on each row.",
}  # fmt: skip
_TABLE = 8  # the fewest rows of a batch that are read as a table
Label = float | str | bool  # a number, except for a classifier
_NO_CONTROLS = "^[^\\x00-\\x1f\\x7f\\ud800-\\udfff]+$"


@dataclass(slots=True)
class Row:
    """One row of a call: a question if it has no label."""

    id: str | None
    key: str
    x: Json | None
    y: Label | None
    at: float | str | None = None

    def digest(self) -> bytes:
        """A digest of the features, to recognise a repeated row; the order of names does not matter."""
        x: Any = self.x or ()
        if isinstance(x, dict):
            texts = (str, type(None))  # other values are numbers, and equal ones are the same here, whatever their type
            plain: list[Any] = [(name, value if type(value := x[name]) in texts else float(value)) for name in sorted(x)]
        else:
            plain = [None if value is None else float(value) for value in x]
        return _digest_of(repr(plain) if self.at is None else repr((plain, self.at)))


class BatchTable(Sequence[Row]):
    """Labels with the same features, all with an id or none: a batch as a table.

    Attributes:
        names: the names of the features; None if rows are arrays.
        X: the features, one row each.
        y: the labels.
        ids: the ids, if there are any.
    """

    def __init__(self, names: list[str] | None, X: Array, y: Array, ids: list[str] | None) -> None:
        self.names, self.X, self.y, self.ids = names, X, y, ids

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: Any) -> Any:
        row, id = self.X[index].tolist(), None if self.ids is None else self.ids[index]
        return Row(id, "", row if self.names is None else dict(zip(self.names, row, strict=True)), float(self.y[index]))

    def digests(self) -> list[bytes]:
        """The digests of the rows, as :meth:`Row.digest`."""
        if self.names is None:
            texts = map(repr, self.X.tolist())
        else:
            order = sorted(range(len(self.names)), key=self.names.__getitem__)
            parts = (f"({self.names[place]!r}, ".replace("%", "%%") + "%r)" for place in order)
            texts = map(f"[{', '.join(parts)}]".__mod__, map(tuple, self.X[:, order].tolist()))
        return [_digest_of(text) for text in texts]


def _digest_of(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()


def table_of(data: bytes) -> BatchTable | None:
    """A body as a table, if it is a valid one up to the names of its features and its ids; None otherwise."""
    found = read_json_table(data)
    if found is None or len(found[2]) < _TABLE:
        return None
    first, X, y, ids = found
    try:
        x = parse(first)["x"]
    except Problem:
        return None  # a second pass finds the place of the error
    names = list(x) if isinstance(x, dict) else None
    return BatchTable(names, X, y, ids) if len(x) == X.shape[1] else None  # a name may appear twice


class Sent(NamedTuple):
    """The rows of a call.

    Attributes:
        rows: those that could be read.
        batch: whether they came as a batch.
        body: holds these rows, for the log.
        refused: the other rows, by their places in the batch; None if one refused row refuses the call.
    """

    rows: Sequence[Row]
    batch: bool
    body: bytes
    refused: dict[int, Problem] | None = None


class Requests:
    """The definitions, within the limits of a service."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        text = {"type": "string", "minLength": 1, "maxLength": limits.text, "pattern": _NO_CONTROLS}
        number = {"type": "number"}
        names = {"maxLength": limits.text, "pattern": _NO_CONTROLS}
        words = {**text, "description": "A category, which becomes a separate feature; or a time, in ISO 8601."}
        gap = {"type": "null", "description": "A missing value."}
        value = {"anyOf": [number, words, {"type": "boolean"}, gap]}
        mapping: Schema = {"type": "object", "additionalProperties": value, "propertyNames": names}
        mapping |= {"minProperties": 1, "maxProperties": limits.features, "title": "an object of numbers and texts"}
        array = {
            "type": "array",
            "items": {"anyOf": [number, gap]},
            "minItems": 1,
            "maxItems": limits.features,
            "title": "an array of numbers",
        }
        x = {"anyOf": [mapping, array], "description": "The features, by name or in order."}
        id = {**text, "description": "Any text; send the label with the same id."}
        key = {**text, "description": "The key of the learner, for a keyed model."}
        y = {"anyOf": [number, text, {"type": "boolean"}],
             "description": "The label: a number. For a classifier, a number, a text or a boolean."}  # fmt: skip
        moment = "The time of the row, for a learner with `half_life` or `per`: a number, or ISO 8601."
        at = {"anyOf": [number, text], "description": moment}
        self.question = _closed({"id": id, "key": key, "x": x, "at": at}, "x")
        self.label = _closed({"id": id, "key": key, "x": x, "y": y, "at": at}, "y")
        self.label["description"] = "A label with an id, with features, or with both."
        self.next_row = _closed({"key": key, "x": x}, "x")
        self.model = _closed({
            "learner": {"type": "string", "maxLength": limits.text, "default": "auto",
                        "description": "A name that `driftline models` lists."},
            "params": {"type": "object", "additionalProperties": True, "default": {},
                       "description": "Its parameters. A nested learner is an object with `learner` and `params`."},
            "level": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.9,
                      "description": "The level of the intervals."},
            "quantiles": {"anyOf": [{"type": "array", "minItems": 1, "maxItems": 100, "items":
                                     {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}}, {"type": "null"}],
                          "default": None, "description": "The levels of the quantiles that answers have, ascending."},
            "steps": {"anyOf": [{"type": "integer", "minimum": 1, "maximum": limits.steps}, {"type": "null"}],
                      "default": None, "description": "The number of rows ahead that the model forecasts."},
            "keyed": {"type": "boolean", "default": False, "description": "Whether each key has its own learner."},
            "pooled": {"type": "boolean", "default": False,
                       "description": "Whether the keys of a keyed model learn from each other."},
        })  # fmt: skip
        name = {**text, "description": "The name of the new model."}
        replace = {"type": "boolean", "default": False, "description": "Whether a model of this name is replaced."}
        self.copy = _closed({"to": name, "replace": replace}, "to")
        self.reset = _closed({})
        self.alias = _closed({"model": {**text, "description": "The name of its model."}}, "model")
        options = {name: self.model["properties"][name] for name in ("level", "quantiles")}
        self._copy, self._reset, self._alias, self._options = map(
            compile_schema, (self.copy, self.reset, self.alias, _closed(options))
        )
        self._on_error = compile_schema(_ON_ERROR)
        kinds = {"predict": self.question, "learn": self.label, "forecast": self.next_row}
        self._rows = {kind: compile_schema(schema) for kind, schema in kinds.items()}
        self._model = compile_schema(self.model)

    def batch(self, row: Schema, *, report: bool = False) -> Schema:
        """The definition of a batch of rows, which may be refused one by one if it is to report."""
        rows = {"rows": {"type": "array", "items": row, "minItems": 1, "maxItems": self.limits.rows}}
        return _closed(rows | ({"on_error": _ON_ERROR} if report else {}), "rows")

    def read_model(self, data: bytes) -> dict[str, Any]:
        """A model's configuration, with the defaults filled in."""
        given = parse(data) if data.strip() else {}
        self._model(given, "")
        found = {name: given.get(name, part["default"]) for name, part in self.model["properties"].items()}
        for name in ("quantiles", "pooled"):  # as in the configurations of stores from before there were any
            if not found[name]:
                del found[name]
        return found

    def read_copy(self, data: bytes) -> dict[str, Any]:
        """The target of a copy, and whether it may replace a model."""
        given = parse(data)
        self._copy(given, "")
        return {"replace": False, **given}

    def read_alias(self, data: bytes) -> dict[str, Any]:
        """The model of an alias."""
        given: dict[str, Any] = parse(data)
        self._alias(given, "")
        return given

    def read_options(self, query: Mapping[str, str]) -> dict[str, Any]:
        """The options of a model file: those of a model that the file does not say, as text."""
        given: dict[str, Any] = {name: [_number(part) for part in text.split(",")] for name, text in query.items()}
        if len(given.get("level", ())) == 1:
            given["level"] = given["level"][0]
        self._options(given, "")
        return {"level": 0.9, **given}

    def read_reset(self, data: bytes) -> None:
        """Checks that the body is an empty object."""
        self._reset(parse(data), "")

    def _fits(self, block: BatchTable) -> bool:
        """Whether the number of rows and the ids are within the limits; otherwise a second pass finds the place."""
        sizes = range(1, self.limits.text + 1)
        return len(block) <= self.limits.rows and (block.ids is None or all(len(id) in sizes for id in block.ids))

    def read_rows(self, kind: str, data: bytes) -> Sent:
        """The rows of a call that predicts, learns or forecasts."""
        check = self._rows[kind]
        if kind == "learn" and (block := table_of(data)) is not None and self._fits(block):
            _check_row(check, {"x": block[0].x, "y": block[0].y}, 0)  # the others have the same names
            return Sent(block, True, data)
        given = parse(data)
        if not isinstance(given, dict) or "rows" not in given:
            check(given, "")
            row = row_of(given)
            if kind == "learn":
                _require_content(row)
            return Sent([row], False, data)
        parts, on_error = given["rows"], given.get("on_error", "refuse")
        if len(given) > 1 + ("on_error" in given and kind != "forecast"):
            other = next(name for name in given if name not in ("rows", "on_error"[: 9 * (kind != "forecast")]))[:100]
            raise Problem(422, f"{other} cannot be combined with rows: a batch has no other field", field=other)
        self._on_error(on_error, "on_error")
        if not isinstance(parts, list) or not parts:
            raise Problem(422, "rows must be an array of at least one row", field="rows")
        if len(parts) > self.limits.rows:
            raise Problem(413, f"a batch has at most {self.limits.rows} rows, got {len(parts)}", field="rows")
        refused: dict[int, Problem] | None = {} if on_error == "report" else None
        rows, good = [], []
        for index, part in enumerate(parts):
            try:
                _check_row(check, part, index)
                row = row_of(part)
                if kind == "learn":
                    _require_content(row, index)
            except Problem as problem:
                if refused is None:
                    raise
                refused[index] = problem
            else:
                rows.append(row)
                good.append(part)
        return Sent(rows, True, json.dumps({"rows": good}).encode() if refused else data, refused)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _closed(properties: Schema, *required: str) -> Schema:
    """The schema of an object with only these properties."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _check_row(check: Check, part: Any, index: int) -> None:
    try:
        check(part, "")
    except Problem as problem:
        problem.row = index
        raise


def row_of(part: dict[str, Any]) -> Row:
    """A row from a checked object."""
    y = part.get("y")
    return Row(part.get("id"), part.get("key", ""), part.get("x"), float(y) if type(y) is int else y, part.get("at"))


def rows_of(data: bytes) -> Sequence[Row]:
    """The rows of a logged body, which was checked before."""
    block = table_of(data)
    if block is not None:
        return block
    given = parse(data, logged=True)
    return [row_of(part) for part in given.get("rows", [given])]


def _require_content(row: Row, index: int | None = None) -> None:
    if row.id is None and row.x is None:
        raise Problem(422, "a label needs an id or the features x", row=index, field="x")
