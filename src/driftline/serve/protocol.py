"""HTTP as uvicorn speaks it, with little memory for each client that does not read its answers."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

UNSENT = 4096  # bytes of answers that may wait for a client before the next part is held back


class Protocol(HttpToolsProtocol):
    """Holds at most :data:`UNSENT` bytes and one part of an answer for a client that does not read.

    An event of a busy model has some 30 kB. With asyncio's default of 64 KiB, 1,000 listeners that sleep would take 84 MiB.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """As uvicorn does, and sets the limit."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=UNSENT)
