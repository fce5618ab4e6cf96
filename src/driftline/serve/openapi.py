"""The OpenAPI document, from the definitions that check requests."""

from __future__ import annotations

from typing import Any

import driftline
from driftline.serve.requests import NAME, Requests
from driftline.serve.schema import Schema

_NUMBER_OR_NULL = {"anyOf": [{"type": "number"}, {"type": "null"}]}
_PROBLEM: Schema = {
    "type": "object",
    "properties": {
        "type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer"},
        "detail": {"type": "string"}, "row": {"type": "integer"}, "field": {"type": "string"},
    },
    "required": ["type", "title", "status", "detail"],
}  # fmt: skip
_ANSWER: Schema = {
    "type": "object",
    "properties": {
        "id": {"type": "string"}, "error": _PROBLEM,
        "prediction": _NUMBER_OR_NULL, "lower": _NUMBER_OR_NULL, "upper": _NUMBER_OR_NULL,
        "quantiles": {"type": "array", "items": _NUMBER_OR_NULL},
    },
}  # fmt: skip
_COUNT: Schema = {"type": "integer", "minimum": 0}
_LEARNED: Schema = {
    "type": "object",
    "properties": {
        "learned": _COUNT, "known": _COUNT, "early": _COUNT,
        "rows": {"type": "array", "items": {
            "type": "object",
            "properties": {"id": {"type": "string"}, "result": {"type": "string"}, "error": _PROBLEM},
        }},
    },
    "required": ["learned", "known"],
}  # fmt: skip
_PROBLEMS = {
    "400": "The request is malformed.",
    "401": "A token is needed.",
    "403": "The token may not do this.",
    "404": "Unknown model or id.",
    "408": "The body arrived too slowly.",
    "409": "The id or the model already exists, with different content.",
    "413": "Too large.",
    "415": "Unsupported media type.",
    "422": "Bad input; the answer names row and field.",
    "503": "Too busy, stopping, or another instance is the leader; nothing was changed.",
    "504": "The connection to the store was lost; the call may or may not have been written. Repeat it with its id.",
    "507": "The disk is full.",
}


def document(requests: Requests) -> dict[str, Any]:
    """The contract of a service with these limits."""
    name = {"type": "string", "pattern": NAME, "maxLength": requests.limits.text}
    one = {"name": "name", "in": "path", "required": True, "schema": name}
    key = _query("key", "The key, for a keyed model.")
    status: Schema = {"type": "object", "additionalProperties": True}
    answers: Schema = {"oneOf": [_ANSWER, _rows(_ANSWER)]}
    return {
        "openapi": "3.1.0",
        "info": {"title": "driftline", "version": driftline.__version__},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Problem": _PROBLEM, "Question": requests.question, "Label": requests.label, "Model": requests.model,
                        "NextRow": requests.next_row},
        },
        "security": [{}, {"token": []}],
        "paths": {
            "/v1/models": {"get": _call("All models.", {"200": _json({"type": "object"})})},
            "/v1/models/{name}": {
                "parameters": [one],
                "get": {**_call("A model, or one of its keys.", {"200": _json(status)}), "parameters": [key]},
                "put": {**_call("Creates a model, from a configuration or a model file.",
                                {"200": _json(status), "201": _json(status)}, _ref("Model"), file=True),
                        "parameters": [_query("level", "Of a file: the level of the intervals."),
                                       _query("quantiles", "Of a file: the levels of the quantiles, with commas.")]},
                "delete": _call("Deletes a model.", {"204": {"description": "Gone."}}),
            },
            "/v1/aliases": {"get": _call("All aliases.", {"200": _json({"type": "object"})})},
            "/v1/aliases/{name}": {
                "parameters": [one],
                "put": _call("Lets an alias stand for a model, wherever a name does.",
                             {"200": _json(status), "201": _json(status)}, requests.alias),
                "delete": _call("Removes an alias.", {"204": {"description": "Gone."}}),
            },
            "/v1/models/{name}/predict": {
                "parameters": [one],
                "post": _call("Predicts; rows with an id wait for their labels.", {"200": _json(answers)},
                              _single_or_batch(requests, "Question")),
            },
            "/v1/models/{name}/learn": {
                "parameters": [one],
                "post": _call("Learns labels, all or none.", {"200": _json(_LEARNED)}, _single_or_batch(requests, "Label")),
            },
            "/v1/models/{name}/forecast": {
                "parameters": [one],
                "post": _call("Forecasts the next rows.", {"200": _json(_rows(_ANSWER))},
                              requests.batch(_ref("NextRow"))),
            },
            "/v1/models/{name}/reset": {
                "parameters": [one],
                "post": _call("Forgets everything that a model learned, its waiting rows and its ids.",
                              {"200": _json(status)}, requests.reset),
            },
            "/v1/models/{name}/copy": {
                "parameters": [one],
                "post": _call("Copies a model with everything it learned, its scores and its waiting rows.",
                              {"201": _json(status)}, requests.copy),
            },
            "/v1/models/{name}/events": {
                "parameters": [one, key],
                "get": _call("Server-sent events: status, alarm.", {"200": _content("text/event-stream")}),
            },
            "/v1/models/{name}/export": {
                "parameters": [one, key],
                "get": _call("The model file.", {"200": _content("application/octet-stream")}),
            },
        },
    }  # fmt: skip


def _query(name: str, about: str) -> Schema:
    return {"name": name, "in": "query", "schema": {"type": "string"}, "description": about}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _rows(row: Schema) -> Schema:
    return {"type": "object", "properties": {"rows": {"type": "array", "items": row}}, "required": ["rows"]}


def _single_or_batch(requests: Requests, name: str) -> Schema:
    return {"oneOf": [_ref(name), requests.batch(_ref(name), report=True)]}


def _json(schema: Schema) -> dict[str, Any]:
    return {"description": "Done, and on disk.", "content": {"application/json": {"schema": schema}}}


def _content(kind: str) -> dict[str, Any]:
    return {"description": "Done.", "content": {kind: {"schema": {"type": "string"}}}}


def _call(summary: str, answers: dict[str, Any], body: Schema | None = None, *, file: bool = False) -> dict[str, Any]:
    problem = {"application/problem+json": {"schema": _ref("Problem")}}
    problems = {status: {"description": about, "content": problem} for status, about in _PROBLEMS.items()}
    call: dict[str, Any] = {"summary": summary, "responses": {**answers, **problems}}
    if body is not None:
        content: Schema = {"application/json": {"schema": body}} | ({"application/octet-stream": {}} if file else {})
        call["requestBody"] = {"required": True, "content": content}
    return call
