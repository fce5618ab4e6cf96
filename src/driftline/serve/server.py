"""The server process: logging, sockets and graceful shutdown."""

from __future__ import annotations

import ipaddress
import json
import logging
import signal
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

from driftline.errors import DriftlineWarning, missing_extra
from driftline.serve.deadlines import Deadlines
from driftline.serve.engine import Engine
from driftline.serve.limits import Limits
from driftline.serve.models import at_work
from driftline.serve.problems import StoreError
from driftline.serve.sqlite import SqliteStore
from driftline.serve.store import Store
from driftline.serve.tokens import Tokens
from driftline.serve.webhook import Webhook

_log = logging.getLogger("driftline.serve")


class _Lines(logging.Formatter):
    """Formats each record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if record.name == "py.warnings":  # logged in the thread that learns
            line["model"] = getattr(at_work, "model", None)
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps({**line, **getattr(record, "more", {})})


def is_loopback(host: str) -> bool:
    """Whether an address is one that other machines cannot reach."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def open_store(folder: Path, address: str | None) -> Store:
    """The store at an address, or in a folder."""
    if address is None:
        return SqliteStore(folder)
    if not address.startswith(("postgresql://", "postgres://")):
        raise StoreError("--store takes postgresql://…")
    from driftline.serve.postgres import PostgresStore

    return PostgresStore(address)


def serve(
    folder: Path, host: str, port: int, tokens: Path | None, store: str | None, limits: Limits,
    webhook: Webhook | None = None, logged: bool = False,
) -> None:  # fmt: skip
    """Serves until it is told to stop; raises StoreError if it cannot start."""
    try:
        import uvicorn

        from driftline.serve.api import Api
        from driftline.serve.protocol import Protocol
    except ImportError as error:
        raise missing_extra("the service needs", str(error.name), "serve") from None
    if tokens is None and not is_loopback(host):
        raise StoreError(f"--host {host} can be reached from other machines: --tokens FILE is needed, or a loopback address")
    _set_up_logs()
    known = None if tokens is None else Tokens(tokens)
    engine = Engine(open_store(folder, store), limits, webhook)
    protocol: Any = partial(Protocol, body=max(limits.body, limits.file), heads=Deadlines(limits.seconds, Protocol.leave))
    ending: list[uvicorn.Server] = []
    api = Api(engine, known, lambda: bool(ending) and ending[0].should_exit, logged)
    config = uvicorn.Config(
        api.app, host=host, port=port, loop="auto", http=protocol, ws="none", lifespan="off", log_config=None,
        access_log=False, server_header=False, proxy_headers=False, limit_concurrency=limits.connections,
        timeout_keep_alive=75, timeout_graceful_shutdown=10, backlog=1024,
    )  # fmt: skip
    server = uvicorn.Server(config)
    ending.append(server)
    socket = config.bind_socket()
    bound = socket.getsockname()[1]
    socket.listen(config.backlog)  # calls are accepted from the next line on
    for number in (signal.SIGINT, signal.SIGTERM):  # before uvicorn handles them, and after it raises them again at its end
        signal.signal(number, lambda *_: setattr(server, "should_exit", True))
    engine.start()
    _log.info("serving on http://%s:%d", host, bound, extra={"more": {"port": bound, "leads": engine.leading}})
    try:
        server.run(sockets=[socket])
    finally:
        engine.stop()
        _log.info("stopped", extra={"more": {"entries": engine.log.last}})


def _set_up_logs() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)
    warnings.simplefilter("always", DriftlineWarning)  # of each model, and not of the first alone
    for name in ("uvicorn.error", "uvicorn.access", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)
