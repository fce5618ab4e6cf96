"""Server-sent events: the changes of a model once a second, computed once for all listeners."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from driftline.serve.engine import Engine
from driftline.serve.problems import Problem

EVERY, ALIVE = 1.0, 15.0  # seconds between two checks, and between two keep-alives
_BACKLOG = 8  # events that may wait for a slow listener


class Events:
    """The streams of events of a service.

    Args:
        engine: has the models.
        most: the largest number of streams.
        ending: tells whether the service is stopping; then the streams end.
    """

    def __init__(self, engine: Engine, most: int, ending: Callable[[], bool]) -> None:
        self._engine, self._most, self._ending = engine, most, ending
        self._listeners: dict[tuple[str, str | None], set[asyncio.Queue[bytes | None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def count(self) -> int:
        """The number of open streams."""
        return sum(map(len, self._listeners.values()))

    async def open(self, name: str, key: str | None) -> AsyncIterator[bytes]:
        """A stream of events; raises Problem 404 if there is no such model, 503 if there are too many streams."""
        if self.count >= self._most:
            raise Problem(503, f"{self._most} event streams are already open, the maximum")
        seen, status, alarms = await self._engine.call(self._news, name, key, 0)
        return self._stream((name, key), [_event("status", status), *(_event("alarm", alarm) for alarm in alarms)], seen)

    async def _stream(self, place: tuple[str, str | None], first: list[bytes], seen: int) -> AsyncIterator[bytes]:
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(_BACKLOG)
        if place not in self._listeners:
            self._listeners[place] = set()
            task = asyncio.get_running_loop().create_task(self._watch(place, seen))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._listeners[place].add(queue)
        try:
            for event in first:
                yield event
            while True:
                try:
                    event_or_end = await asyncio.wait_for(queue.get(), ALIVE)
                except TimeoutError:
                    event_or_end = b": alive\n\n"
                if event_or_end is None:
                    return
                yield event_or_end
        finally:
            self._listeners.get(place, set()).discard(queue)

    async def _watch(self, place: tuple[str, str | None], seen: int) -> None:
        """Sends changes to the listeners of a model until the last one leaves."""
        told: dict[str, Any] | None = None
        try:
            while self._listeners[place] and not self._ending():
                await asyncio.sleep(EVERY)
                seen, status, alarms = await self._engine.call(self._news, *place, seen)
                if status != told:
                    told = {**status, "latest": []}
                    for event in (_event("status", status), *(_event("alarm", alarm) for alarm in alarms)):
                        self._tell(place, event)
        except Problem:  # the model is gone, or the service stops
            pass
        finally:
            self._tell(place, None)
            self._listeners.pop(place, None)

    def _tell(self, place: tuple[str, str | None], event: bytes | None) -> None:
        for queue in self._listeners[place]:
            behind = queue.full()  # its stream ends; after reconnecting, it gets the latest alarms again
            while behind and not queue.empty():
                queue.get_nowait()
            queue.put_nowait(None if behind else event)

    def _news(self, name: str, key: str | None, seen: int) -> tuple[int, dict[str, Any], list[dict[str, Any]]]:
        model = self._engine.model(name)
        return model.news(seen, key)


def _event(kind: str, content: dict[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(content)}\n\n".encode()
