"""The HTTP interface of the service."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
import zlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Protocol

from starlette.datastructures import QueryParams
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from driftline.serve import arrow, metrics, openapi, page
from driftline.serve.calls import Calls, identity
from driftline.serve.deadlines import Bodies
from driftline.serve.engine import Engine, Said
from driftline.serve.events import Events
from driftline.serve.learners import of_file
from driftline.serve.problems import Problem
from driftline.serve.requests import NAME, Requests, Sent
from driftline.serve.tokens import Tokens

_log = logging.getLogger("driftline.serve")
_ENCODER = json.JSONEncoder(allow_nan=False)
_FILE = "application/octet-stream"
_LARGE = 2**17  # bytes of a body that takes a few milliseconds to read
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class HttpAnswer(Protocol):
    """The interface that our responses share with Starlette's."""

    status_code: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends it."""


Verbs = dict[str, tuple[str | None, Callable[["HttpCall"], Awaitable[HttpAnswer]]]]  # by method: its scope and handler


class Api:
    """The service's calls; ``app`` is the ASGI application.

    Args:
        engine: executes the calls.
        tokens: who may do what; None lets every caller do everything, but only under a loopback name.
        ending: tells whether the service is stopping.
        logged: whether each call has a line in the log.
    """

    def __init__(
        self, engine: Engine, tokens: Tokens | None = None, ending: Callable[[], bool] = lambda: False, logged: bool = False
    ) -> None:
        self.engine, self.tokens = engine, tokens
        self.requests = Requests(engine.limits)
        self.events = Events(engine, engine.limits.streams, ending)
        self.calls = Calls(logged)
        self._bodies = Bodies(engine.limits.seconds)
        self._name = re.compile(NAME)
        self._contract = json.dumps(openapi.document(self.requests)).encode()
        one = "/v1/models/{name}"
        verbs: dict[str, Verbs] = {
            f"{one}/predict": {"POST": ("read", self._predict)},
            f"{one}/learn": {"POST": ("write", self._learn)},
            f"{one}/forecast": {"POST": ("read", self._forecast)},
            f"{one}/events": {"GET": ("read", self._stream)},
            f"{one}/export": {"GET": ("read", self._export)},
            f"{one}/reset": {"POST": ("admin", self._reset)},
            f"{one}/copy": {"POST": ("admin", self._copy)},
            one: {"GET": ("read", self._get), "PUT": ("admin", self._put), "DELETE": ("admin", self._delete)},
            "/v1/models": {"GET": ("read", self._list)},
            "/v1/aliases": {"GET": ("read", self._aliases)},
            "/v1/aliases/{name}": {"PUT": ("admin", self._alias), "DELETE": ("admin", self._remove_alias)},
            "/metrics": {"GET": ("read", self._metrics)},
            "/healthz": {"GET": (None, self._healthy)},
            "/readyz": {"GET": (None, self._ready)},
            "/openapi.json": {"GET": (None, self._openapi)},
            "/": {"GET": (None, self._page)},
        }
        routes = [Route(path, Resource(self, of_path, path)) for path, of_path in verbs.items()]
        self.app = Router(routes, redirect_slashes=False, default=Resource(self, {}, None))

    # Models.

    async def _list(self, _: HttpCall) -> HttpAnswer:
        return _Json(await self.engine.call(self._statuses))

    def _statuses(self) -> dict[str, Any]:
        found = {"models": [model.summary() for model in self.engine.log.models.values()]}
        return found | ({"unreadable": self.engine.log.unreadable} if self.engine.log.unreadable else {})

    async def _get(self, call: HttpCall) -> HttpAnswer:
        name, key = call.name, call.key
        return _Json(await self.engine.call(lambda: self.engine.model(name).status(key)))

    async def _put(self, call: HttpCall) -> HttpAnswer:
        name = self._new_name(call.name, "name")
        if call.media_type == _FILE:
            config = self.requests.read_options(call.query)
            data = await self._hold(call, self.engine.limits.file)
            found = await asyncio.to_thread(of_file, data, config)  # other calls go on meanwhile
            made, status = await self.engine.call(self.engine.put_file, name, *found)
        else:
            config = self.requests.read_model(await self._body(call))
            made, status = await self.engine.call(self.engine.put, name, config)
        return _Json(status, 201 if made else 200)

    async def _aliases(self, _: HttpCall) -> HttpAnswer:
        return _Json({"aliases": await self.engine.call(lambda: dict(self.engine.log.aliases))})

    async def _alias(self, call: HttpCall) -> HttpAnswer:
        alias, given = self._new_name(call.name, "name"), self.requests.read_alias(await self._body(call))
        made = await self.engine.call(self.engine.alias, alias, given["model"])
        return _Json({"alias": alias, **given}, 201 if made else 200)

    async def _remove_alias(self, call: HttpCall) -> HttpAnswer:
        await self.engine.call(self.engine.remove_alias, call.name)
        return Response(status_code=204)

    async def _reset(self, call: HttpCall) -> HttpAnswer:
        self.requests.read_reset(await self._body(call))
        return _Json(await self.engine.call(self.engine.reset, call.name))

    async def _copy(self, call: HttpCall) -> HttpAnswer:
        given = self.requests.read_copy(await self._body(call))
        to = self._new_name(given["to"], "to")
        if self.tokens is not None:
            self.tokens.require(call.header(b"authorization"), "admin", to)
        return _Json(await self.engine.call(self.engine.copy, call.name, to, given["replace"]), 201)

    def _new_name(self, name: str, field: str) -> str:
        most = self.engine.limits.text
        if len(name) > most or not self._name.fullmatch(name):
            raise Problem(422, f"a model's name must match {NAME} and have at most {most} characters", field=field)
        return name

    async def _delete(self, call: HttpCall) -> HttpAnswer:
        await self.engine.call(self.engine.delete, call.name)
        return Response(status_code=204)

    async def _export(self, call: HttpCall) -> HttpAnswer:
        name, key = call.name, call.key
        data = await self.engine.call(lambda: self.engine.model(name).export(key))
        file = {"content-disposition": f'attachment; filename="{name}.drift"'}
        return Response(data, media_type="application/octet-stream", headers=file)

    # Rows.

    async def _predict(self, call: HttpCall) -> HttpAnswer:
        sent = await self._rows("predict", call)
        if self.tokens is not None and any(row.id is not None for row in sent.rows):
            self.tokens.require(call.header(b"authorization"), "write", call.name)  # rows that wait are changes
        report = sent.refused is not None
        return _answers(sent, await self.engine.call(self.engine.predict, call.name, sent.rows, sent.body, report))

    async def _learn(self, call: HttpCall) -> HttpAnswer:
        sent = await self._rows("learn", call)
        report = sent.refused is not None
        found = await self.engine.call(self.engine.learn, call.name, sent.rows, sent.body, report)
        if report:
            words = [word if isinstance(word, Problem) else {"result": word} for word in found["rows"]]
            found["rows"] = _by_row(sent, words)
        return _Json(found)

    async def _forecast(self, call: HttpCall) -> HttpAnswer:
        sent = await self._rows("forecast", call)
        return _answers(sent, await self.engine.call(self.engine.forecast, call.name, sent.rows))

    async def _rows(self, kind: str, call: HttpCall) -> Sent:
        body, tabular = await self._body(call), call.media_type == arrow.TYPE

        def read() -> Sent:
            given = arrow.as_json(body, self.engine.limits.rows) if tabular else body
            return self.requests.read_rows(kind, given)

        return await asyncio.to_thread(read) if len(body) > _LARGE else read()  # other calls go on meanwhile

    async def _body(self, call: HttpCall) -> bytes:
        if call.media_type not in ("application/json", arrow.TYPE):  # pages of other origins cannot send these
            raise Problem(415, f"the body must be application/json or {arrow.TYPE}")
        return await self._hold(call, self.engine.limits.body)

    async def _hold(self, call: HttpCall, most: int) -> bytes:
        length = call.header(b"content-length") or "0"
        if not length.isdecimal() or int(length) > most:
            raise Problem(413, f"the body has more than {most} bytes")
        body = await self._bodies.hold(call.body(most))
        encoding = (call.header(b"content-encoding") or "identity").strip().lower()
        if encoding == "identity":
            return body
        if encoding != "gzip":
            raise Problem(415, f"the content encoding must be gzip or identity, got {encoding[:40]}")
        return await asyncio.to_thread(_unzipped, body, most)

    # Watching.

    async def _stream(self, call: HttpCall) -> HttpAnswer:
        stream = await self.events.open(call.name, call.key)
        return StreamingResponse(stream, media_type="text/event-stream", headers={"cache-control": "no-store"})

    async def _metrics(self, call: HttpCall) -> HttpAnswer:
        engine = self.engine
        try:
            models = await engine.call(lambda: {name: model.counters() for name, model in engine.log.models.items()})
        except Problem:  # another service leads, and this one does not know its models yet
            models = {}
        gauges = {
            "event_streams": self.events.count, "log_entries": engine.log_length, "full": int(engine.full),
            "queue_calls": engine.waiting_calls, "leader": int(engine.leading), "resident_bytes": metrics.resident(),
            "unreadable_models": len(engine.log.unreadable),
        }  # fmt: skip
        openmetrics = "application/openmetrics-text" in (call.header(b"accept") or "")
        found = [*self.calls.families(), *metrics.families(engine.counters(), models, gauges)]
        text = metrics.text(found, openmetrics=openmetrics)
        return Response(text, headers={"content-type": metrics.OPEN if openmetrics else metrics.PLAIN})

    async def _healthy(self, _: HttpCall) -> HttpAnswer:
        return _Json({"status": "ok"})

    async def _ready(self, _: HttpCall) -> HttpAnswer:
        if not self.engine.alive:
            raise Problem(503, "the service is stopping, or has failed")
        if not self.engine.leading:
            raise Problem(503, "another instance is the leader, or the store cannot be reached")
        return _Json({"status": "ready"} | ({"disk": "full"} if self.engine.full else {}))  # questions are still answered

    async def _openapi(self, _: HttpCall) -> HttpAnswer:
        return Response(self._contract, media_type="application/json")

    async def _page(self, _: HttpCall) -> HttpAnswer:
        return Response(page.HTML, media_type="text/html", headers=page.HEADERS)


class HttpCall:
    """The parts of a request that the service uses."""

    __slots__ = ("_headers", "_receive", "_scope", "identity", "media_type")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._scope, self._receive = scope, receive
        self._headers = dict(scope["headers"])
        self.media_type = (self.header(b"content-type") or "").partition(";")[0].strip().lower()
        self.identity = identity(self.header(b"x-request-id"), self.header(b"traceparent"))

    def header(self, name: bytes) -> str | None:
        """A header of the request."""
        value: bytes | None = self._headers.get(name)
        return None if value is None else value.decode("latin-1")

    @property
    def name(self) -> str:
        """The model in the path."""
        return str(self._scope["path_params"]["name"])

    @property
    def query(self) -> QueryParams:
        """The query."""
        return QueryParams(self._scope["query_string"])

    @property
    def key(self) -> str | None:
        """The key in the query."""
        return self.query.get("key")

    async def body(self, most: int) -> bytes:
        """The body, if it has at most ``most`` bytes."""
        chunks, size, more = [], 0, True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Problem(400, "the client disconnected before the body was complete")
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > most:
                raise Problem(413, f"the body has more than {most} bytes")
            chunks.append(chunk)
            more = message.get("more_body", False)
        return b"".join(chunks)


class Resource:
    """An ASGI application for one path. It answers every error with a problem document.

    Args:
        api: the interface that it belongs to.
        verbs: the handlers by method; empty if nothing is at the path.
        route: the path, with names in braces; None if nothing is there.
    """

    def __init__(self, api: Api, verbs: Verbs, route: str | None) -> None:
        self._api, self.verbs, self._route = api, verbs, route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a request."""
        call, api, began = HttpCall(scope, receive), self._api, time.perf_counter()
        try:
            if api.tokens is None:
                _require_loopback(call.header(b"host") or "")
            needed, work = self._verb(scope["method"])
            if api.tokens is not None and needed is not None:
                about_one = (self._route or "").startswith("/v1/models/{name}")
                api.tokens.require(call.header(b"authorization"), needed, call.name if about_one else None)
            answer = await work(call)
        except Problem as problem:
            answer = _problem(problem)
            if problem.status == 405:
                answer.headers["allow"] = ", ".join(sorted({*self.verbs, *(["HEAD"] if "GET" in self.verbs else [])}))
        except Exception:
            _log.exception("a call failed", extra={"more": call.identity})
            answer = _problem(Problem(500, "internal error"))
        method, route = scope["method"], self._route if answer.status_code != 405 else None
        seconds = time.perf_counter() - began
        api.calls.add(method, route, scope["path"], answer.status_code, seconds, call.identity)
        id = (b"x-request-id", call.identity["request_id"].encode())

        async def send_with_id(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], id]
            await send(message)

        await answer(scope, receive, send_with_id)

    def _verb(self, method: str) -> tuple[str | None, Callable[[HttpCall], Awaitable[HttpAnswer]]]:
        found = self.verbs.get("GET" if method == "HEAD" else method)
        if found is not None:
            return found
        raise (
            Problem(405, f"{method} is not supported at this path")
            if self.verbs
            else Problem(404, "there is nothing at this path")
        )


class _Json:
    """A JSON answer: a simpler, faster version of Starlette's."""

    def __init__(self, content: Any, status: int = 200) -> None:
        self.status_code = status
        self._body = _ENCODER.encode(content).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-length", str(len(self._body)).encode()), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": self._body})


def _unzipped(data: bytes, most: int) -> bytes:
    """A gzip body, if it has at most ``most`` bytes."""
    reader = zlib.decompressobj(wbits=31)
    try:
        body = reader.decompress(data, most + 1)
    except zlib.error as error:
        raise Problem(422, f"the body is not gzip: {error}") from None
    if len(body) > most:
        raise Problem(413, f"the body has more than {most} bytes")
    if not reader.eof or reader.unused_data:
        raise Problem(422, "the body is not one complete gzip stream")
    return body


def _require_loopback(host: str) -> None:
    """Refuses other names of this machine, which a page of another origin could use to reach it."""
    if (host if host.endswith("]") else host.rpartition(":")[0] or host) not in _LOOPBACK:
        raise Problem(403, f"without tokens the service only answers requests to {', '.join(_LOOPBACK)}")


def _problem(problem: Problem) -> Response:
    headers = {401: {"www-authenticate": "Bearer"}, 503: {"retry-after": "1"}}.get(problem.status)
    text = json.dumps(problem.document()).encode()
    return Response(text, problem.status, headers, "application/problem+json")


def _answers(sent: Sent, answers: list[Said]) -> _Json:
    found = _by_row(sent, [answer if isinstance(answer, Problem) else answer.document() for answer in answers])
    return _Json({"rows": found} if sent.batch else found[0])


def _by_row(sent: Sent, outcomes: list[dict[str, Any] | Problem]) -> list[dict[str, Any]]:
    """The outcomes of the rows, each with its id, and among them the problems of those that could not be read."""
    refused, found = sent.refused or {}, []
    rest = zip(sent.rows, outcomes, strict=True)
    for index in range(len(outcomes) + len(refused)):
        row, outcome = (None, refused[index]) if index in refused else next(rest)
        if isinstance(outcome, Problem):
            outcome = {"error": {**outcome.document(), "row": index}}
        found.append(outcome if row is None or row.id is None else {"id": row.id, **outcome})
    return found
