"""uvicorn's HTTP protocol with limits on each client: memory for requests and answers, and time."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from driftline.serve.deadlines import Deadlines

UNSENT = 4096  # bytes of answers that may wait for a client before the next part is held back
HEAD = 2**16  # limit for the bytes of a request without its body


class Protocol(HttpToolsProtocol):
    """Closes connections whose request is too long or does not begin in time, and holds back answers that nobody reads.

    An event of a busy model has some 30 kB. With asyncio's default of 64 KiB, 1,000 idle listeners would take 84 MiB;
    here :data:`UNSENT` bytes and one part of an answer wait for each. uvicorn itself would wait for the rest of a head
    forever, and keep a head of any length.

    Args:
        body: bytes of a request's body.
        heads: limits the time from the connection, or the first byte of a request, to the end of the request's head.
    """

    def __init__(self, *arguments: Any, body: int, heads: Deadlines[Protocol], **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._heads, self._most = heads, body + HEAD
        self._received = 0  # bytes of a request, without the piece in which it began
        self._in_head = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Like uvicorn's method, and sets the limits."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=UNSENT)
        self._heads.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Like uvicorn's method."""
        self._heads.discard(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Like uvicorn's method, within the limits."""
        self._received += len(data)
        if self._received > (HEAD if self._in_head else self._most):
            self.leave()
        else:
            super().data_received(data)

    def on_message_begin(self) -> None:
        """Like uvicorn's method."""
        self._received, self._in_head = 0, True
        self._heads.add(self)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Like uvicorn's method, which answers the error with status 400 and closes the connection."""
        if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > HEAD:
            raise ValueError("the head is too long")
        self._in_head = False
        self._heads.discard(self)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Like uvicorn's method."""
        self._received = 0
        super().on_message_complete()

    def leave(self) -> None:
        """Closes the connection."""
        self.transport.close()
