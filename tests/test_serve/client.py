"""A client that calls the application directly, without a socket."""

import asyncio
import json
from functools import partialmethod
from urllib.parse import urlencode


class Answer:
    def __init__(self, status, headers, content):
        self.status_code, self.content = status, content
        self.headers = {name.decode(): value.decode() for name, value in headers}

    @property
    def text(self):
        return self.content.decode()

    def json(self):
        return json.loads(self.content)


class Client:
    """Calls an ASGI application."""

    def __init__(self, app, engine, host="127.0.0.1"):
        self.app, self.engine, self.host = app, engine, host

    def request(self, method, path, json=None, content=None, headers=(), params=()):
        return asyncio.run(self._request(method, path, json, content, dict(headers), dict(params)))

    get = partialmethod(request, "GET")
    put = partialmethod(request, "PUT")
    post = partialmethod(request, "POST")
    patch = partialmethod(request, "PATCH")
    delete = partialmethod(request, "DELETE")

    async def _request(self, method, path, plain, content, headers, params):
        if plain is not None:
            content = json.dumps(plain).encode()
            headers.setdefault("content-type", "application/json")
        if isinstance(content, str):
            content = content.encode()
        chunks = [content or b""] if isinstance(content, bytes | None) else list(content)
        if isinstance(content, bytes | None):
            headers["content-length"] = str(len(chunks[0]))
        headers.setdefault("host", self.host)
        sent = [
            {"type": "http.request", "body": chunk, "more_body": at < len(chunks) - 1} for at, chunk in enumerate(chunks)
        ]
        got = []
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": path, "raw_path": path.encode(), "root_path": "", "query_string": urlencode(params).encode(),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8440),
        }  # fmt: skip

        async def receive():
            return sent.pop(0) if sent else {"type": "http.disconnect"}

        async def send(message):
            got.append(message)

        await self.app(scope, receive, send)
        return Answer(got[0]["status"], got[0]["headers"], b"".join(message.get("body", b"") for message in got[1:]))


def refused(response, status, **places):
    """Whether a response is a problem document with this status that names these places."""
    document = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert (response.status_code, document["status"]) == (status, status), document
    assert document["title"]
    assert document["detail"]
    return places.items() <= document.items()
