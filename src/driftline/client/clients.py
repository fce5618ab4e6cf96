"""The blocking and the asynchronous client."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from driftline.client import calls
from driftline.client.calls import Call, Row
from driftline.client.events import Event, Lines
from driftline.client.trial import Trial
from driftline.errors import missing_extra

if TYPE_CHECKING:
    import httpx

Json = dict[str, Any]
One = TypeVar("One")
Many = TypeVar("Many")
File = TypeVar("File")
Done = TypeVar("Done")
_SILENCE = 45.0  # seconds without a keep-alive after which an event stream is reopened
_KEPT = 30.0  # seconds for which an idle connection is kept; the service closes it after 75


class Verbs(ABC, Generic[One, Many, File, Done]):
    """The methods of both clients. The type parameters are their results: an object, several objects, a file, nothing."""

    _sender: str  # the httpx class that sends the calls

    def __init__(
        self, url: str | Sequence[str], token: str | None = None, *, timeout: float = 30.0, patience: float = 30.0
    ) -> None:
        try:
            import httpx
        except ImportError:
            raise missing_extra("the client needs", "httpx", "client") from None
        self._addresses = [each.rstrip("/") for each in ([url] if isinstance(url, str) else url)]
        self._patience = patience
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        options: Any = {"headers": headers, "timeout": timeout, "limits": httpx.Limits(keepalive_expiry=_KEPT)}
        self._http: Any = getattr(httpx, self._sender)(**options)
        self._broken = httpx.TransportError
        self._unsent = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)

    def put(
        self,
        name: str,
        learner: str = "auto",
        params: Json | None = None,
        *,
        level: float = 0.9,
        quantiles: Sequence[float] | None = None,
        steps: int | None = None,
        keyed: bool = False,
    ) -> One:
        """Creates a model, unless the same one exists already; returns its status."""
        config = {"learner": learner, "params": params or {}, "level": level, "steps": steps, "keyed": keyed}
        config |= {} if quantiles is None else {"quantiles": [float(level) for level in quantiles]}
        return self._one(calls.put(name, config))

    def push(self, name: str, model: Any, *, level: float = 0.9, quantiles: Sequence[float] | None = None) -> One:
        """Creates a model from a learner, a forecaster or a fleet, or from the bytes of a model file; returns its status."""
        file = model if isinstance(model, bytes) else model.to_bytes()
        return self._one(calls.push(name, file, level, quantiles))

    def alias(self, alias: str, name: str) -> One:
        """Lets an alias stand for a model wherever a name does, from the next call on; moves it if it exists."""
        return self._one(calls.alias(alias, name))

    def aliases(self) -> One:
        """The names of the models that aliases stand for."""
        found: One = self._send(calls.aliases(), lambda answer: answer.json()["aliases"])
        return found

    def delete_alias(self, alias: str) -> Done:
        """Removes an alias, not its model."""
        done: Done = self._send(calls.remove_alias(alias), lambda _: None)
        return done

    def models(self) -> Many:
        """All models: their rows, errors, coverage and more."""
        return self._many(calls.listed(), "models")

    def model(self, name: str, key: str | None = None) -> One:
        """One model, or one key of it."""
        return self._one(calls.get(name, key))

    def delete(self, name: str) -> Done:
        """Deletes a model and everything it learned."""
        done: Done = self._send(calls.delete(name), lambda _: None)
        return done

    def reset(self, name: str) -> One:
        """Makes a model forget everything that it learned, its waiting rows and its ids; returns its status."""
        return self._one(calls.reset(name))

    def copy(self, name: str, to: str, *, replace: bool = False) -> One:
        """Copies a model with everything it learned, its scores and its waiting rows; returns the status of the copy."""
        return self._one(calls.copy(name, to, replace))

    def predict(self, name: str, x: Any, *, id: str | None = None, key: str | None = None, at: Any = None) -> One:
        """Predicts a row, with an interval. With an id, it waits for its label. ``at`` is its time, if rows have times."""
        return self._one(calls.predict(name, [{"id": id, "key": key, "x": x, "at": at}], batch=False))

    def predict_rows(self, name: str, rows: Iterable[Row], *, on_error: str = "refuse") -> Many:
        """Predicts a batch: rows with ``x``, and optionally ``id`` and ``key``.

        A refused row refuses the batch; with ``on_error="report"``, it has an ``error`` in place of a prediction.
        """
        return self._many(calls.predict(name, rows, batch=True, on_error=on_error), "rows")

    def learn(
        self,
        name: str,
        *,
        y: float | str,
        x: Any = None,
        id: str | None = None,
        key: str | None = None,
        at: Any = None,
    ) -> One:
        """Learns the label of a row that waits under an id, or of the row given: ``{"learned": 1, "known": 0}``.

        The label of a classifier may be a text or a boolean.
        """
        return self._one(calls.learn(name, [{"id": id, "key": key, "x": x, "y": y, "at": at}], batch=False))

    def learn_rows(self, name: str, rows: Iterable[Row], *, on_error: str = "refuse") -> One:
        """Learns a batch completely or not at all: rows with ``y``, and optionally ``id``, ``x`` and ``key``.

        With ``on_error="report"``, it learns the rows that it can, and ``rows`` of the answer has a ``result`` ("learned",
        "known" or "early") or an ``error`` for each.
        """
        return self._one(calls.learn(name, rows, batch=True, on_error=on_error))

    def forecast(self, name: str, rows: Iterable[Row]) -> Many:
        """Forecasts the next rows, for a model with steps."""
        return self._many(calls.forecast(name, rows), "rows")

    def export(self, name: str, key: str | None = None) -> File:
        """The model's file, for ``dl.from_bytes``."""
        file: File = self._send(calls.get(name, key, "/export"), lambda answer: answer.content)
        return file

    def _one(self, call: Call) -> One:
        found: One = self._send(call, lambda answer: answer.json())
        return found

    def _many(self, call: Call, part: str) -> Many:
        found: Many = self._send(call, lambda answer: answer.json()[part])
        return found

    @abstractmethod
    def _send(self, call: Call, read: Callable[[httpx.Response], Any]) -> Any:
        """Makes a call, with retries, and reads its answer."""

    def _trial(self, call: Call) -> Trial:
        return Trial(call, self._addresses, self._patience)

    def _request(self, call: Call, trial: Trial) -> dict[str, Any]:
        headers = {} if call.body is None else {"content-type": call.kind}
        return {"method": call.method, "url": trial.address + call.path, "content": call.body, "headers": headers}

    def _prefer(self, address: str) -> None:
        """Sends further calls to the service that answered first."""
        at = self._addresses.index(address)
        self._addresses = self._addresses[at:] + self._addresses[:at]


class Client(Verbs[Json, list[Json], bytes, None]):
    """A blocking client. Needs httpx, which the extra ``client`` installs.

    Calls without an answer are retried for ``patience`` seconds, because the service may be restarting, or another one
    taking over. That is safe for all calls except :meth:`learn` and :meth:`learn_rows` without ids, and :meth:`copy` to a
    new name. These are retried only
    if the service was not reached or said that nothing was changed; otherwise they raise :class:`UnsureError`. Threads may
    share a client.

    Args:
        url: the address of the service, or of several that share a database, among which the client finds the leader.
        token: the token that ``driftline token`` printed.
        timeout: seconds to wait for one answer.
        patience: seconds after which a call is no longer retried.
    """

    _sender = "Client"

    def events(self, name: str, key: str | None = None) -> Iterator[Event]:
        """Iterates over the changes of a model: ``("status", {...})`` and ``("alarm", {...})``.

        If the stream breaks off, it is reopened and repeats the latest alarms, which ``key`` and ``row`` identify.
        """
        call, lines = calls.get(name, key, "/events"), Lines()
        trial = self._trial(call)
        while True:
            try:
                with self._http.stream(**self._request(call, trial), timeout=_SILENCE) as answer:
                    if trial.settled(answer.status_code, b"" if answer.is_success else answer.read()):
                        for line in answer.iter_lines():
                            if event := lines.take(line):
                                trial = self._trial(call)
                                yield event
                        trial.failed(EOFError("the stream ended"), sent=True)
            except self._broken as error:
                trial.failed(error, sent=not isinstance(error, self._unsent))
            lines = Lines()
            time.sleep(trial.pause())

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, call: Call, read: Callable[[httpx.Response], Any]) -> Any:
        trial = self._trial(call)
        while True:
            try:
                answer: httpx.Response = self._http.request(**self._request(call, trial))
            except self._broken as error:
                trial.failed(error, sent=not isinstance(error, self._unsent))
            else:
                if trial.settled(answer.status_code, answer.content):
                    self._prefer(trial.address)
                    return read(answer)
            time.sleep(trial.pause())


class AsyncClient(Verbs[Awaitable[Json], Awaitable[list[Json]], Awaitable[bytes], Awaitable[None]]):
    """Like :class:`Client`, for event loops: await every method, and use ``async for`` for events. Tasks may share it.

    Args:
        url: the address of the service, or of several that share a database.
        token: the token that ``driftline token`` printed.
        timeout: seconds to wait for one answer.
        patience: seconds after which a call is no longer retried.
    """

    _sender = "AsyncClient"

    async def events(self, name: str, key: str | None = None) -> AsyncIterator[Event]:
        """Like :meth:`Client.events`."""
        call, lines = calls.get(name, key, "/events"), Lines()
        trial = self._trial(call)
        while True:
            try:
                async with self._http.stream(**self._request(call, trial), timeout=_SILENCE) as answer:
                    if trial.settled(answer.status_code, b"" if answer.is_success else await answer.aread()):
                        async for line in answer.aiter_lines():
                            if event := lines.take(line):
                                trial = self._trial(call)
                                yield event
                        trial.failed(EOFError("the stream ended"), sent=True)
            except self._broken as error:
                trial.failed(error, sent=not isinstance(error, self._unsent))
            lines = Lines()
            await asyncio.sleep(trial.pause())

    async def close(self) -> None:
        """Like :meth:`Client.close`."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _send(self, call: Call, read: Callable[[httpx.Response], Any]) -> Any:
        trial = self._trial(call)
        while True:
            try:
                answer: httpx.Response = await self._http.request(**self._request(call, trial))
            except self._broken as error:
                trial.failed(error, sent=not isinstance(error, self._unsent))
            else:
                if trial.settled(answer.status_code, answer.content):
                    self._prefer(trial.address)
                    return read(answer)
            await asyncio.sleep(trial.pause())
